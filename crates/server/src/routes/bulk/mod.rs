//! Many at once: several queues, or many writes that are each answered on their own.

pub(super) mod claim;
pub(super) mod finish;
pub(super) mod heartbeats;
