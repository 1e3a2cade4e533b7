//! The queue's verbs, one file each. Each is one step inside a transaction that was begun before: facts are read,
//! [`tenure_core`] decides, and the decision is written under its guard.
//!
//! What a verb does to the jobs that *wait* is gathered in [`moves`] and brought in line once, at its end.

pub(crate) mod change;
pub(crate) mod claim;
mod ending;
pub(crate) mod enqueue;
pub(crate) mod finish;
pub(crate) mod heartbeat;
pub(crate) mod judge;
mod lease;
mod moves;
pub(crate) mod operate;
mod pick;
pub(crate) mod prune;
pub(crate) mod read;
pub(crate) mod recover;
pub(crate) mod row;
mod shelf;
pub(crate) mod start;
pub(crate) mod worker;

use tenure_core::Time;
use tenure_core::queue::JobId;

/// Where a job of the hot table stands: the column `place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Due, in the order of claims.
    Ready = 0,
    /// Due later.
    Scheduled = 1,
    /// Under a lease.
    Running = 2,
    /// Due, but another of its tenant and kind comes first, or the tenant is at its limit (Q8).
    Parked = 3,
    /// Its turn in its lane has not come (Q9).
    Behind = 4,
}

impl Place {
    /// Where a job that is due at `run_at` begins to wait. Behind others at first, where it has a lane or a tenant:
    /// [`moves`] then lets those stand that may.
    fn waiting(keys: &Keys, run_at: Time, now: Time) -> Place {
        if keys.ordering.is_some() { Place::Behind } else { Place::in_turn(keys.limit.is_some(), run_at, now) }
    }

    /// The same for a job that no lane holds back.
    fn in_turn(has_tenant: bool, run_at: Time, now: Time) -> Place {
        match (run_at <= now, has_tenant) {
            (false, _) => Place::Scheduled,
            (true, false) => Place::Ready,
            (true, true) => Place::Parked,
        }
    }
}

/// The lane and the tenant of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) ordering: Option<String>,
    pub(crate) limit: Option<String>,
}

/// Ids as a JSON array, the way a list of them is handed to a statement.
fn ids(ids: impl IntoIterator<Item = JobId>) -> String {
    let mut list = String::from("[");
    for id in ids {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&id.0.to_string());
    }
    list.push(']');
    list
}

/// Names as a JSON array. They need no escaping: core lets only letters, digits and `._:-` into a name.
fn names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    format!("[{}]", quoted.join(","))
}
