//! The server itself.

pub(super) mod health;
pub(super) mod home;
pub(super) mod openapi;
pub(super) mod ready;
