//! Answers to "why does this not run now?".

/// One reason why it is not running, with a stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Why {
    /// `finished`, `held`, `lease_expired`, `not_due`, `paused`, `no_worker_lately`, `lane_blocked`, `at_capacity`,
    /// `tenant_at_limit`, `behind_in_lane`, `rate_limited` or `waiting_for_a_worker`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

/// Why something is not running now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// One sentence: the first reason.
    pub summary: String,
    /// All of them, the most telling first.
    pub reasons: Vec<Why>,
}

impl Explanation {
    /// These reasons, of which there is at least one.
    pub(crate) fn of(reasons: Vec<Why>) -> Explanation {
        Explanation { summary: reasons[0].message.clone(), reasons }
    }
}
