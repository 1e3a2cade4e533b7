//! The work queue: jobs that are queued, claimed under a lease, kept by heartbeats, and finished by their holder.
//!
//! Always true:
//! - Q1 a job is `queued`, `running`, `completed` or `failed`, and nothing else;
//! - Q2 a claim takes what is due, by priority, then age, then id;
//! - Q8 no limit on running jobs is ever exceeded, and only a committed transition frees a slot;
//! - Q9 jobs of one ordering key run one at a time, in id order;
//! - L3 only the holder of the current lease moves a running job, and a refused write changes nothing;
//! - L6 a claim counts an attempt, and an expiry counts only against work that was started;
//! - L12 an ending that was accepted once is answered the same again.
//!
//! [`rules`] decides about one job; [`Queues`] is all of them as one value.

mod event;
mod explain;
mod job;
mod model;
mod operate;
mod request;
pub mod rules;
mod settings;
pub mod worker;

pub use event::{Event, REFUSALS_KEPT, What, timeline};
pub use explain::{Situation, explain};
pub use job::{Attempt, Job, JobId, Outcome, Reason, Status};
pub use model::Queues;
pub use operate::{Action, Operation, Refusal};
pub use request::{
    Act, Beat, Beaten, Claim, ClaimedJob, Claims, Conflict, Counts, Ended, Ending, Enqueued, Filter, Grants, Idle,
    NewJob, Pruned, QueueInfo, Recovered, Start, Verb,
};
pub use settings::{Change, LaneOnFailure, RETENTION_MS_DEFAULT, Rate, Settings, check_running};
pub use worker::{Sight, Sighting, Watch, Worker};
