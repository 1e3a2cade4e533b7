//! What is answered about jobs, queues and workers.

mod job;
mod queue;
mod worker;

pub use job::{Answer, Beaten, Bulk, Cancelled, Enqueued, Job, Jobs, One, Results, Retried};
pub use queue::{Limits, Queue, Queues};
pub use worker::{Demo, Workers};
