//! Domains on the wire.
//!
//! Tokens are decimal strings (D5). Here, unlike elsewhere, a reply names only what its result has: an `ACQUIRED` its
//! token, a `NEXT_HINT` its offset.

pub mod reply;
pub mod request;
mod shape;
