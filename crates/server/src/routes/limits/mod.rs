//! The limits of the whole engine.

pub(super) mod change;
pub(super) mod show;
pub(super) mod timeline;
