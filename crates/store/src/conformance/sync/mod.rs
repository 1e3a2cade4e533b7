//! What every backend must do with syncs: scenarios named after the rules they show, and a walk against
//! [`Syncs`](tenure_core::sync::Syncs).

pub mod claims;
pub mod fence;
pub mod passes;
pub mod plans;
pub mod reads;
pub mod recovery;
mod tools;
mod walk;

use super::Harness;

pub use walk::{Met, SyncWalk};
