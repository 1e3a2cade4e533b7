//! Queues and limits.

use crate::reply::paged;
use serde::Serialize;
use tenure::Time;
use utoipa::ToSchema;

/// The limits of the whole engine.
#[derive(Debug, Serialize, ToSchema)]
pub struct Limits {
    /// Time most so many jobs running, in all queues.
    pub max_running: Option<u32>,
}

/// Time most so many claims in each period.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QueueRate)]
pub struct Rate {
    /// Claims in one period.
    pub max: u32,
    /// The period's length.
    pub period_ms: u64,
}

impl From<tenure::Rate> for Rate {
    fn from(rate: tenure::Rate) -> Rate {
        Rate { max: rate.max, period_ms: rate.period_ms }
    }
}

/// A queue: how it behaves, and what it holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// No claims while it is paused.
    pub paused: bool,
    /// Time most so many jobs running.
    pub max_running: Option<u32>,
    /// Time most so many jobs running for each `limit_key`.
    pub max_running_per_key: Option<u32>,
    /// What the jobs of an `ordering_key` do after one failed for good: `continue` or `block`.
    pub lane_on_failure: &'static str,
    /// How long finished jobs are kept.
    pub retention_ms: u64,
    /// Claims of the queue in each period.
    pub rate_limit: Option<Rate>,
    /// Claims of each `limit_key` in each period.
    pub rate_limit_per_key: Option<Rate>,
    /// Jobs by state, each exact up to 10,000.
    pub counts: Counts,
    /// The states whose count was cut there.
    pub counts_capped: Vec<&'static str>,
    /// When the oldest waiting job was enqueued.
    pub oldest_queued_at: Option<Time>,
    /// When it was first used.
    pub created_at: Time,
}

/// Jobs of a queue by state.
#[derive(Debug, Serialize, ToSchema)]
pub struct Counts {
    /// Waiting, due or not.
    pub queued: u64,
    /// Claimed.
    pub running: u64,
    /// Finished well.
    pub completed: u64,
    /// Finished badly.
    pub failed: u64,
}

impl From<tenure::QueueInfo> for Queue {
    fn from(queue: tenure::QueueInfo) -> Queue {
        let shown = queue.counts.shown();
        let settings = queue.settings;
        Queue {
            name: queue.name,
            paused: settings.paused,
            max_running: settings.max_running,
            max_running_per_key: settings.max_running_per_key,
            lane_on_failure: settings.lane_on_failure.as_str(),
            retention_ms: settings.retention_ms,
            rate_limit: settings.rate_limit.map(Rate::from),
            rate_limit_per_key: settings.rate_limit_per_key.map(Rate::from),
            counts: Counts {
                queued: shown.queued,
                running: shown.running,
                completed: shown.completed,
                failed: shown.failed,
            },
            counts_capped: queue.counts.capped().into_iter().map(tenure::Status::as_str).collect(),
            oldest_queued_at: queue.oldest_queued_at,
            created_at: queue.created_at,
        }
    }
}

/// A page of queues, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queues {
    /// The queues.
    pub queues: Vec<Queue>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<tenure::Page<tenure::QueueInfo>> for Queues {
    fn from(page: tenure::Page<tenure::QueueInfo>) -> Queues {
        let (queues, next_cursor) = paged(page, |queue| queue.name.clone(), Queue::from);
        Queues { queues, next_cursor }
    }
}
