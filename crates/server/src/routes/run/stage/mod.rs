//! One stage of a run, in the hands of its holder.

pub(in crate::routes) mod complete;
pub(in crate::routes) mod fail;
pub(in crate::routes) mod heartbeat;
pub(in crate::routes) mod release;
pub(in crate::routes) mod split;
