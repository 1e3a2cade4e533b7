//! What every backend must do with domains: scenarios, a walk against [`Domains`](tenure_core::domain::Domains), and
//! crowds judged for linearizability.

mod crowd;
pub mod document;
pub mod expiry;
pub mod fence;
mod linear;
pub mod lists;
pub mod operator;
pub mod size;
mod tools;
mod walk;

use super::Harness;

pub use crowd::{Crowd, crowd, crowds};
pub use linear::{Call, Did, Done, explain};
pub use walk::{DomainWalk, Met};
