//! One queue: what enters it, what leaves it, how it behaves and how it stands.

pub(super) mod change;
pub(super) mod claim;
pub(super) mod enqueue;
pub(super) mod list;
pub(super) mod show;
pub(super) mod timeline;
