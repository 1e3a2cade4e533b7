//! The one place where the embedded backends read the time.
//!
//! PostgreSQL has its own clock; memory and SQLite live in a process and ask this one. Tests move it by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tenure_core::Time;

/// The machine's clock, or one that a test moves.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Clock {
        Clock(None)
    }

    /// A clock that stands still at `start` until it is moved.
    #[must_use]
    pub fn manual(start: Time) -> Clock {
        Clock(Some(Arc::new(AtomicI64::new(start.0))))
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        match &self.0 {
            Some(hand) => Time(hand.load(Ordering::SeqCst)),
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Time(i64::try_from(since.as_micros()).unwrap_or(Time::MAX.0))
            }
        }
    }

    /// Sets a manual clock. The machine's clock cannot be set from here.
    pub fn set(&self, now: Time) {
        let hand = self.0.as_ref().expect("only a manual clock can be set");
        hand.store(now.0, Ordering::SeqCst);
    }
}
