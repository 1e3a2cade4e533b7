//! What a look at the store's health found.

use serde::Serialize;
use utoipa::ToSchema;

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
