//! What a worker did.

use serde::Serialize;

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
