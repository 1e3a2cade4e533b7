//! What is answered about the store itself.

use serde::Serialize;
use tenure::Finding;

/// The epoch of a store.
#[derive(Debug, Serialize)]
pub struct Epoch {
    /// How often the counter of tokens was moved ahead.
    pub epoch: u32,
}

/// A store that is there now.
#[derive(Debug, Serialize)]
pub struct Initialised {
    /// Whether it was made now; else it was there before.
    pub created: bool,
    /// What it is and how durable, for people.
    pub store: String,
}

/// The schema of a store.
#[derive(Debug, Serialize)]
pub struct Migrated {
    /// The number of its last migration; `null` for a store that looks after itself.
    pub version: Option<i64>,
}

/// The statements that set up a store's roles.
#[derive(Debug, Serialize)]
pub struct Roles {
    /// SQL for an administrator to run; `null` for a store that has no roles.
    pub script: Option<String>,
}

/// Everything that was looked at.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Each thing, as it was looked at.
    pub findings: Vec<Finding>,
}
