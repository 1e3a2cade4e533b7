//! One domain: offsets in order, one at a time, under a token.

pub(super) mod acquire;
pub(super) mod change;
pub(super) mod fail;
pub(super) mod heartbeat;
pub(super) mod list;
pub(super) mod show;
pub(super) mod skip;
pub(super) mod succeed;
pub(super) mod timeline;
