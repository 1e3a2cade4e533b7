//! Schedules: jobs that are enqueued by the clock.

pub(super) mod firings;
pub(super) mod list;
pub(super) mod next;
pub(super) mod pause;
pub(super) mod put;
pub(super) mod remove;
pub(super) mod resume;
pub(super) mod show;
pub(super) mod timeline;

use tenure_wire::Problem;

/// There is no such schedule.
fn absent() -> Problem {
    Problem::absent("this schedule")
}
