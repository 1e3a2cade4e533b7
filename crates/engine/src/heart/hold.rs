//! What a worker knows of its right to one piece of work, shared by the handler, the loop that runs it and the heart that keeps
//! its lease.
//!
//! Always true: once told to stop, a job stays told; the first reason is the one that is kept, except that a lease
//! that is gone outranks them all.

use super::TICK;
use crate::clock::Moment;
use crate::surroundings::Surroundings;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tenure_core::LostReason;
use tokio::sync::watch;

/// Why a handler is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// An operator asked for it (L11).
    Operator,
    /// It took longer than the job's `timeout_ms`.
    TimedOut,
    /// The worker is shutting down.
    Shutdown,
    /// Heartbeats go unanswered, and the store will soon give the work to someone else (L5).
    LeaseEnding,
    /// The lease is not held any more: whatever the handler still does, its ending will be refused.
    LeaseLost(LostReason),
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cancelled::Operator => f.write_str("an operator cancelled it"),
            Cancelled::TimedOut => f.write_str("it took too long"),
            Cancelled::Shutdown => f.write_str("the worker is shutting down"),
            Cancelled::LeaseEnding => f.write_str("the lease is about to run out and could not be renewed"),
            Cancelled::LeaseLost(reason) => write!(f, "the lease is lost: {}", reason.sentence()),
        }
    }
}

/// The right to one job.
#[derive(Debug)]
pub struct Hold {
    told: watch::Sender<Option<Cancelled>>,
    /// Nanoseconds of [`Moment`]: the handler must be gone by then.
    safe_until: AtomicU64,
    around: Surroundings,
}

impl Hold {
    pub(crate) fn new(safe_until: Moment, around: Surroundings) -> Hold {
        let hold = Hold { told: watch::channel(None).0, safe_until: AtomicU64::new(0), around };
        hold.renew(safe_until);
        hold
    }

    /// The lease was renewed.
    pub(crate) fn renew(&self, safe_until: Moment) {
        let nanos = u64::try_from(safe_until.0.as_nanos()).unwrap_or(u64::MAX);
        self.safe_until.fetch_max(nanos, Ordering::SeqCst);
    }

    /// Until when the handler may go on, unless the lease is renewed before.
    pub(crate) fn safe_until(&self) -> Moment {
        Moment(Duration::from_nanos(self.safe_until.load(Ordering::SeqCst)))
    }

    /// Tells the handler to stop.
    pub(crate) fn tell(&self, why: Cancelled) {
        self.told.send_if_modified(|told| {
            let news = told.is_none() || (lost(why) && !told.is_some_and(lost));
            if news {
                *told = Some(why);
            }
            news
        });
    }

    /// Why the handler must stop, if it must. Reads the clock, so that a machine that slept knows it at once.
    pub(crate) fn told(&self) -> Option<Cancelled> {
        let told = *self.told.borrow();
        told.or_else(|| (self.around.now() >= self.safe_until()).then_some(Cancelled::LeaseEnding))
    }

    /// Whether a write under this lease is still worth trying.
    pub(crate) fn gone(&self) -> bool {
        self.told.borrow().is_some_and(lost)
    }

    /// Returns when the handler must stop.
    pub(crate) async fn stopped(&self) -> Cancelled {
        let mut told = self.told.subscribe();
        let why = told.wait_for(Option::is_some).await.map(|why| *why);
        match why {
            Ok(why) => why.unwrap_or(Cancelled::Shutdown),
            // The sender is in this very value.
            Err(_) => std::future::pending().await,
        }
    }

    /// Returns when the work must be gone: the lease is lost, or could not be renewed in time.
    pub(crate) async fn over(&self) -> Cancelled {
        loop {
            // A heartbeat may move it meanwhile; and a sleep does not notice that the machine slept.
            let left = self.around.now().until(self.safe_until());
            if left.is_zero() && !self.gone() {
                return Cancelled::LeaseEnding;
            }
            tokio::select! {
                why = self.lost() => return why,
                () = tokio::time::sleep(left.min(TICK)) => {}
            }
        }
    }

    /// Returns when the lease is gone.
    pub(crate) async fn lost(&self) -> Cancelled {
        let mut told = self.told.subscribe();
        let why = told.wait_for(|told| told.is_some_and(lost)).await.map(|why| *why);
        match why {
            Ok(why) => why.unwrap_or(Cancelled::LeaseLost(LostReason::Unknown)),
            Err(_) => std::future::pending().await,
        }
    }
}

fn lost(why: Cancelled) -> bool {
    matches!(why, Cancelled::LeaseLost(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_is_kept_and_a_lost_lease_outranks_it() {
        let hold = Hold::new(Moment::now().after(Duration::from_secs(60)), Surroundings::default());
        assert_eq!(hold.told(), None);
        hold.tell(Cancelled::Operator);
        hold.tell(Cancelled::Shutdown);
        assert_eq!((hold.told(), hold.gone()), (Some(Cancelled::Operator), false));
        hold.tell(Cancelled::LeaseLost(LostReason::Superseded));
        hold.tell(Cancelled::LeaseLost(LostReason::Expired));
        assert_eq!((hold.told(), hold.gone()), (Some(Cancelled::LeaseLost(LostReason::Superseded)), true));
    }

    #[test]
    fn l5_a_deadline_that_passed_unseen_is_noticed_by_asking() {
        let hold = Hold::new(Moment::now(), Surroundings::default());
        assert_eq!(hold.told(), Some(Cancelled::LeaseEnding));
        hold.renew(Moment::now().after(Duration::from_secs(60)));
        assert_eq!(hold.told(), None);
    }
}
