//! Schedules: jobs that are enqueued by the clock.
//!
//! A schedule names *slots*, instants computed from a cron expression and a zone, and the job to enqueue for each.
//! Its cursor, `next_at`, is the next slot that nobody has dealt with.
//!
//! Always true:
//! - T1 a slot is fired at most once: its job, its row and the move of the cursor are one step, accepted only under the
//!   revision that the scheduler looked at;
//! - T2 the store's clock decides what is due, and the cursor never moves back over a slot that was fired, whatever
//!   that clock does;
//! - T3 what nobody looked at in time is caught up by the schedule's own policy, and what is dropped is counted;
//! - T4 a change of definition is accepted only over the revision it was made from.
//!
//! Which instants are slots is not known here: a calendar is an argument, as `now` is. [`rules`] decides about one
//! schedule; [`Schedules`] is all of them as one value.

mod model;
mod request;
pub mod rules;

pub use model::Schedules;
pub use request::{
    CatchUp, Definition, Due, DueSchedule, Fire, Fired, Firing, NewSchedule, Put, Refused, Schedule, Slots,
};
