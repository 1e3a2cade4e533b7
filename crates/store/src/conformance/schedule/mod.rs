//! Schedules: what every backend must do about slots, cursors and definitions.
//!
//! Backends know no calendar, so neither does this: slots are any instants. That the instants are the right ones is
//! for the library's own tests.

mod scenarios;
mod walk;

pub use scenarios::*;
pub use walk::{ScheduleFailure, ScheduleMet, ScheduleReport, schedule_walk, schedule_walks};
