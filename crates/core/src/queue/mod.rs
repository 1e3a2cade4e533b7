//! The work queue: jobs that are queued, claimed under a lease, kept by heartbeats, and finished by their holder.
//!
//! Always true:
//! - Q1 a job is `queued`, `running`, `completed` or `failed`, and nothing else;
//! - Q2 a claim takes what is due, by priority, then age, then id;
//! - L3 only the holder of the current lease moves a running job, and a refused write changes nothing;
//! - L6 a claim counts an attempt, and an expiry counts only against work that was started;
//! - L12 an ending that was accepted once is answered the same again.
//!
//! [`rules`] decides about one job; [`Queues`] is all of them as one value.

mod event;
mod job;
mod model;
mod request;
pub mod rules;

pub use event::{Event, What, timeline};
pub use job::{Attempt, Job, JobId, Lease, Outcome, Reason, Status};
pub use model::Queues;
pub use request::{
    Act, Beat, Beaten, Claim, ClaimedJob, Claims, Counts, Ended, Ending, Enqueued, Filter, Grants, Idle, NewJob, Page,
    QueueInfo, Recovered, Retry, Start, Verb,
};
