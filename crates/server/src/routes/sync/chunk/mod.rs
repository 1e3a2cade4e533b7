//! One chunk of a sync: claimed by its sync's name, written to by its own.

pub(in crate::routes) mod claim;
pub(in crate::routes) mod complete;
pub(in crate::routes) mod fail;
pub(in crate::routes) mod heartbeat;
pub(in crate::routes) mod release;
