//! What every backend must do with pipelines: scenarios, and a walk against
//! [`Pipelines`](tenure_core::pipeline::Pipelines).

pub mod graph;
pub mod hold;
pub mod operator;
pub mod segments;
mod tools;
mod walk;

pub use walk::{Met, PipelineWalk};
