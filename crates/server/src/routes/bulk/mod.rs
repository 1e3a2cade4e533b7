//! Many at once: several queues, many writes that are each answered on their own, or an action on all that match.

pub(super) mod cancel;
pub(super) mod claim;
pub(super) mod finish;
pub(super) mod heartbeats;
pub(super) mod retry;
