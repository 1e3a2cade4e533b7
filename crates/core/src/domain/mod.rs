//! Domains: exclusive, first-in first-out processing of numbered offsets, one at a time for each key.
//!
//! A domain has at most one offset in flight, under a lease with a fencing token; the others wait behind it in the
//! order in which they came. Who calls decides when: nothing here sleeps, hands over or computes a backoff.
//!
//! Always true of one domain (D1, the six invariants of its document):
//! 1. single in-flight unit: at most one lease, for exactly one offset;
//! 2. disjointness: the offset in flight, the terminal ones and those that wait share nothing;
//! 3. FIFO: an offset leaves the backlog only as its head, by the acquire that names it (or by an operator's skip, D7);
//! 4. idempotence: a terminal offset is never enqueued nor acquired again;
//! 5. token fencing: `succeed`, `fail` and `heartbeat` count only under the token of the lease;
//! 6. stable monitor: a domain, once made, is never replaced.
//!
//! [`rules`] decides, on a [`Record`] and the [`Books`] beside it, wherever these are kept. [`Domain`] keeps both in
//! memory; [`Domains`] is all of them as one value, and every backend is compared with it step by step.

mod answer;
mod backlog;
mod book;
mod event;
mod model;
mod ranges;
mod record;
mod request;
pub mod rules;
#[cfg(test)]
mod tests;

pub use answer::{Acquired, Advanced, Answer, Beaten, Failed, Refused, Skipped, Succeeded};
pub use backlog::Backlog;
pub use book::{Book, Books, Terminal};
pub use event::{EVENTS_KEPT, Event, REFUSALS_KEPT, Told, Verb, What, in_order};
pub use model::{Domain, Domains};
pub use ranges::Ranges;
pub use record::{InFlight, Record};
pub use request::{
    Acquire, Advance, Change, DomainInfo, Held, LeaseInfo, MAX_RETRIES_DEFAULT, OFFSET_MAX, RETRIES_MAX, Recovered,
    Settings, Skip, State, check_acquires, check_advances, check_held, token_of,
};
