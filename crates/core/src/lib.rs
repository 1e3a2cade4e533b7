//! What is true of work held under lease.
//!
//! The rules of Tenure as plain data and pure functions: nothing here reads a clock, draws a random number, waits,
//! allocates a connection or knows a format on disk. `now` and chance are arguments.
//!
//! The rule ids in the comments (L3, Q5 …) are those of `docs/contracts.md`.
//!
//! - [`lease`]: the right to work on one unit until a deadline, and the reasons it can be lost.
//! - [`queue`]: the work queue. [`queue::Queues`] is the whole queue as one value: the in-memory backend keeps it
//!   behind a lock, and every other backend is compared with it step by step.
//! - [`domain`]: exclusive, ordered work per key; [`domain::Domains`] is all of them as one value.
//! - [`sync`]: syncs cut into chunks; [`sync::Syncs`] is all of them as one value.
//! - [`schedule`]: jobs that are enqueued by the clock, each slot once.
//! - [`pipeline`]: runs made of stages with prerequisites; [`pipeline::Pipelines`] is their reference, as above.
//! - [`actor`] and [`changes`]: who acts, and what was changed about settings.
//! - [`retry`]: when a failed attempt may run again.
//! - [`bounds`] and [`json`]: what callers may send, and the one error that says why not.
//!
//! With the feature `serde`, what is answered serialises itself in the JSON form that HTTP and the command line show; the
//! feature `schema` describes that form. Without them this crate is built on nothing.

pub mod actor;
pub mod bounds;
pub mod changes;
pub mod domain;
mod event;
mod explain;
mod finding;
mod id;
pub mod json;
pub mod lease;
mod page;
pub mod pipeline;
pub mod queue;
pub mod retry;
pub mod schedule;
pub mod serial;
pub mod sync;
pub mod time;
mod words;

pub use actor::Actor;
pub use bounds::Invalid;
pub use explain::{Explanation, Why};
pub use finding::{Finding, Level};
pub use id::InvalidId;
pub use lease::{Epoch, LostReason, Token, Tokens};
pub use page::Page;
pub use time::{InvalidTime, Time};
