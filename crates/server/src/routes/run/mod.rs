//! One run: what the holders of its stages write, what an operator does with it, and what anyone may read.

pub(super) mod cancel;
pub(super) mod explain;
pub(super) mod list;
pub(super) mod pause;
pub(super) mod resume;
pub(super) mod retry;
pub(super) mod segment;
pub(super) mod segments;
pub(super) mod show;
pub(super) mod stage;
pub(super) mod timeline;
