//! Queues and limits.

use crate::reply::paged;
use serde::Serialize;
use tenure::{Counts, Page, QueueInfo, Settings, Status, Time};
use utoipa::ToSchema;

/// The limits of the whole engine.
#[derive(Debug, Serialize, ToSchema)]
pub struct Limits {
    /// At most so many jobs running, in all queues.
    pub max_running: Option<u32>,
}

/// A queue: how it behaves, and what it holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// How it behaves.
    #[serde(flatten)]
    #[schema(inline)]
    pub settings: Settings,
    /// Jobs by state, each exact up to 10,000.
    pub counts: Counts,
    /// The states whose count was cut there.
    pub counts_capped: Vec<Status>,
    /// When the oldest waiting job was enqueued.
    pub oldest_queued_at: Option<Time>,
    /// When it was first used.
    pub created_at: Time,
}

impl From<QueueInfo> for Queue {
    fn from(queue: QueueInfo) -> Queue {
        Queue {
            name: queue.name,
            settings: queue.settings,
            counts: queue.counts.shown(),
            counts_capped: queue.counts.capped(),
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

impl From<Page<QueueInfo>> for Queues {
    fn from(page: Page<QueueInfo>) -> Queues {
        let (queues, next_cursor) = paged(page, |queue| queue.name.clone(), Queue::from);
        Queues { queues, next_cursor }
    }
}
