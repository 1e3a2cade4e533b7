//! Answers to "why does this not run now?".

/// One reason, with a stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// `finished`, `held`, `lease_expired`, `not_due`, `paused`, `no_worker_lately`, `lane_blocked`, `at_capacity`,
    /// `tenant_at_limit`, `behind_in_lane`, `rate_limited` or `waiting_for_a_worker`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
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
