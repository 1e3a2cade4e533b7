//! Waiting for a lock that another process holds: in short, uneven steps, and not for ever.
//!
//! SQLite's lock is not a queue: whoever looks at the right moment gets it. Uneven steps keep two waiters from looking
//! in step with each other, and short ones find the small gaps that a busy writer leaves.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

/// No other transaction on the file should last this long; one that does is reported instead of waited for. Less than a
/// caller commonly waits for an answer (30 s over HTTP): who gives up first can only be told that the outcome is unknown.
pub(crate) const LOCK_WAIT_MAX: Duration = Duration::from_secs(20);
/// The first step: about the time of one small commit.
const STEP_MIN: Duration = Duration::from_micros(50);
/// The longest step: what a waiter may lose when the lock becomes free just after it looked.
const STEP_MAX: Duration = Duration::from_millis(2);

/// One wait.
pub(crate) struct Patience {
    began: Instant,
    max: Duration,
    step: Duration,
    random: u64,
}

impl Patience {
    /// A wait of at most `max` from now on.
    pub(crate) fn new(max: Duration) -> Patience {
        let random = RandomState::new().build_hasher().finish() | 1;
        Patience { began: Instant::now(), max, step: STEP_MIN, random }
    }

    /// How long it has been.
    pub(crate) fn waited(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits one step; false if there is no time left.
    pub(crate) fn pause(&mut self) -> bool {
        if self.waited() >= self.max {
            return false;
        }
        // Xorshift: between half a step and a step and a half.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        std::thread::sleep(self.step / 2 + self.step.mul_f64((self.random >> 11) as f64 / (1u64 << 53) as f64));
        self.step = (self.step * 2).min(STEP_MAX);
        true
    }
}
