//! What every backend must do with jobs and queues: scenarios, and a walk against
//! [`Queues`](tenure_core::queue::Queues).

pub mod actors;
pub mod attempts;
pub mod bytes;
pub mod claim;
pub mod dedup;
pub mod explain;
pub mod fence;
pub mod lanes;
pub mod limits;
pub mod lists;
pub mod operator;
pub mod rates;
pub mod recovery;
pub mod retention;
pub mod timeout;
pub(super) mod tools;
mod walk;
pub mod workers;

use super::Harness;

pub use walk::{Met, QueueWalk};
