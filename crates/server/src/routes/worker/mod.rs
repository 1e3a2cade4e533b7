//! Those who claim.

pub(super) mod list;
