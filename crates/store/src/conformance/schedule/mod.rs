//! Schedules: what every backend must do about slots, cursors and definitions.
//!
//! Backends know no calendar, so neither does this: slots are any instants. That the instants are the right ones is
//! for the library's own tests.

pub mod scenarios;
mod walk;

pub use walk::{Met, ScheduleWalk};
