//! The one place where the engine reads a clock.
//!
//! A worker must stop before the store gives its work away (L5), also when the machine slept meanwhile. So it keeps its
//! deadlines on a clock that runs through suspend, and never on the wall clock, which is set.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use tenure_core::Time;

/// An instant of this machine, comparable only with others of the same boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub Duration);

/// Where the kernel has a clock that runs through suspend under another name, its monotonic one does.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

impl Moment {
    /// Now.
    #[must_use]
    pub fn now() -> Moment {
        let time = clock_gettime(CLOCK);
        Moment(Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32))
    }

    /// This instant moved by `span`.
    #[must_use]
    pub fn after(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(span))
    }

    /// How long from this instant until `later`; zero if it has passed.
    #[must_use]
    pub fn until(self, later: Moment) -> Duration {
        later.0.saturating_sub(self.0)
    }
}

/// The wall clock of this machine, to be compared with the store's and used for nothing else.
pub(crate) fn wall() -> Time {
    let time = clock_gettime(ClockId::Realtime);
    Time(time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000))
}
