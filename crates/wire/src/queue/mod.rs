//! Jobs, queues and workers on the wire.

pub mod reply;
pub mod request;
pub(crate) mod shape;
