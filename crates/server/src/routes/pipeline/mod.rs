//! Pipelines: their definitions, and where their stages are claimed.

pub(super) mod apply;
pub(super) mod claim;
pub(super) mod list;
pub(super) mod show;
pub(super) mod start;
pub(super) mod timeline;
