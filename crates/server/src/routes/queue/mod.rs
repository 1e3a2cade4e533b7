//! One queue: what enters it, what leaves it, and how it stands.

pub(super) mod claim;
pub(super) mod enqueue;
pub(super) mod list;
pub(super) mod show;
