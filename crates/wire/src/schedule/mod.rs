//! Schedules on the wire.

pub mod reply;
pub mod request;
mod shape;
