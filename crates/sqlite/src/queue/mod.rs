//! The queue's verbs, one file each. Each is one step inside a transaction that the writer has begun: facts are read,
//! [`tenure_core`] decides, and the decision is written under its guard.

pub(crate) mod claim;
mod ending;
pub(crate) mod enqueue;
pub(crate) mod finish;
pub(crate) mod heartbeat;
mod judge;
mod lease;
pub(crate) mod list;
pub(crate) mod recover;
mod row;
pub(crate) mod show;
pub(crate) mod start;

/// Where a job of the hot table stands: the column `place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Due, in the order of claims.
    Ready = 0,
    /// Due later.
    Scheduled = 1,
    /// Under a lease.
    Running = 2,
}

impl Place {
    /// Where a job that is due at `run_at` waits.
    fn waiting(run_at: tenure_core::Time, now: tenure_core::Time) -> Place {
        if run_at <= now { Place::Ready } else { Place::Scheduled }
    }
}

/// Ids as a JSON array, the way a list of them is handed to a statement.
fn ids(ids: impl IntoIterator<Item = tenure_core::queue::JobId>) -> String {
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
