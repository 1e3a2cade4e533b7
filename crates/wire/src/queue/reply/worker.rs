//! Workers, and what they did.

use crate::reply::paged;
use serde::Serialize;
use tenure::Time;
use utoipa::ToSchema;

/// A worker: what was seen of one name in the last day.
#[derive(Debug, Serialize, ToSchema)]
pub struct Worker {
    /// The name it claims under.
    pub name: String,
    /// Jobs it holds now.
    pub running: u64,
    /// Whether the store holds so many leases that `running` is only a lower bound.
    pub running_capped: bool,
    /// When it was first seen, as far as is remembered.
    pub first_seen_at: Time,
    /// When it last claimed, true to a minute.
    pub last_seen_at: Time,
    /// Where it looked for work, by queue and kinds, at most 100 places.
    pub queues: Vec<Sighting>,
    /// Whether it looked in more places.
    pub queues_capped: bool,
}

/// Where a worker looked for work.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sighting {
    /// The queue.
    pub queue: String,
    /// Only for these kinds, by name, at most 20 of them; `null` is all.
    pub kinds: Option<Vec<String>>,
    /// Whether it looked for more kinds.
    pub kinds_capped: bool,
    /// When it last looked, true to a minute.
    pub last_seen_at: Time,
}

impl From<tenure::WorkerInfo> for Worker {
    fn from(worker: tenure::WorkerInfo) -> Worker {
        let one = |sighting: tenure::Sighting| Sighting {
            queue: sighting.queue,
            kinds: sighting.kinds,
            kinds_capped: sighting.kinds_capped,
            last_seen_at: sighting.seen_at,
        };
        Worker {
            name: worker.name,
            running: worker.running,
            running_capped: worker.running_capped,
            first_seen_at: worker.first_seen_at,
            last_seen_at: worker.last_seen_at,
            queues: worker.sightings.into_iter().map(one).collect(),
            queues_capped: worker.sightings_capped,
        }
    }
}

/// A page of workers, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Workers {
    /// The workers.
    pub workers: Vec<Worker>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<tenure::Page<tenure::WorkerInfo>> for Workers {
    fn from(page: tenure::Page<tenure::WorkerInfo>) -> Workers {
        let (workers, next_cursor) = paged(page, |worker| worker.name.clone(), Worker::from);
        Workers { workers, next_cursor }
    }
}

/// The endings that a worker wrote, counted.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Jobs completed.
    pub completed: u64,
    /// Jobs that failed for good.
    pub failed: u64,
    /// Attempts that failed and will be tried again.
    pub retried: u64,
    /// Attempts put off.
    pub snoozed: u64,
    /// Jobs given back.
    pub released: u64,
    /// Endings refused because the lease was no longer held.
    pub refused: u64,
}

impl From<tenure::Report> for Report {
    fn from(report: tenure::Report) -> Report {
        let tenure::Report { completed, failed, retried, snoozed, released, refused } = report;
        Report { completed, failed, retried, snoozed, released, refused }
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
