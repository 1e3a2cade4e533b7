//! What is answered about jobs, queues and workers.

mod job;
mod queue;
mod worker;

pub use job::{
    Answer, Attempt, Beaten, Bulk, Cancelled, ClaimedJob, Claims, Ended, Enqueued, EnqueuedJob, Job, Jobs, One,
    Results, Retried, Seen,
};
pub use queue::{Counts, Limits, Queue, Queues, Rate};
pub use worker::{Demo, Report, Sighting, Worker, Workers};
