//! What is answered about the store itself.

use serde::Serialize;
use utoipa::ToSchema;

/// The epoch of a store.
#[derive(Debug, Serialize)]
pub struct Epoch {
    /// How often the counter of tokens was moved ahead.
    pub epoch: u32,
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
#[derive(Debug, Serialize, ToSchema)]
pub struct Findings {
    /// Each thing, as it was looked at.
    pub findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, ToSchema)]
pub struct Finding {
    /// What.
    pub topic: &'static str,
    /// `fine`, `note`, `warning` or `wrong`.
    pub level: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl From<Vec<tenure::Finding>> for Findings {
    fn from(findings: Vec<tenure::Finding>) -> Findings {
        let findings = findings.into_iter().map(|finding| Finding {
            topic: finding.topic,
            level: finding.level.as_str(),
            found: finding.found,
            advice: finding.advice,
        });
        Findings { findings: findings.collect() }
    }
}
