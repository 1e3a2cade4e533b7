//! Lists of workers, and what came of a demo.

use crate::reply::paged;
use serde::Serialize;
use tenure::{Page, WorkerInfo};
use utoipa::ToSchema;

/// A page of workers, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Workers {
    /// The workers.
    pub workers: Vec<WorkerInfo>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<Page<WorkerInfo>> for Workers {
    fn from(page: Page<WorkerInfo>) -> Workers {
        let (workers, next_cursor) = paged(page, |worker| worker.name.clone(), |worker| worker);
        Workers { workers, next_cursor }
    }
}

/// What came of a demo, counted from its store.
#[derive(Debug, Default, Serialize)]
pub struct Demo {
    /// Jobs enqueued.
    pub jobs: u64,
    /// Jobs completed, each by the claim that is on record.
    pub completed: u64,
    /// Jobs that are not on record any more.
    pub lost: u64,
    /// Jobs of which two completions were accepted.
    pub finished_twice: u64,
    /// Jobs completed after the lease of an earlier holder had run out.
    pub rescued: u64,
    /// Writes that were refused because the lease was lost.
    pub refused: u64,
    /// How long it took.
    pub duration_ms: u64,
}
