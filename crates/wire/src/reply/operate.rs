//! What an operator is answered.

use serde::Serialize;
use utoipa::ToSchema;

/// Why a job is not running now.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// One sentence: the first reason.
    pub summary: String,
    /// All of them, the most telling first.
    pub reasons: Vec<Why>,
}

/// One reason why a job is not running.
#[derive(Debug, Serialize, ToSchema)]
pub struct Why {
    /// `finished`, `held`, `lease_expired`, `not_due`, `paused`, `no_worker_lately`, `lane_blocked`, `at_capacity`,
    /// `tenant_at_limit`, `behind_in_lane`, `rate_limited` or `waiting_for_a_worker`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

impl From<tenure::Explanation> for Explanation {
    fn from(explanation: tenure::Explanation) -> Explanation {
        let one = |why: tenure::Why| Why { code: why.code, message: why.message };
        Explanation { summary: explanation.summary, reasons: explanation.reasons.into_iter().map(one).collect() }
    }
}

/// The answer to a cancel.
#[derive(Debug, Serialize, ToSchema)]
pub struct Cancelled {
    /// Where the job stands: `failed`, or `running` until its holder stops.
    pub status: &'static str,
    /// Whether its holder will be told with the next heartbeat.
    pub cancel_requested: bool,
}

impl From<tenure::Status> for Cancelled {
    fn from(status: tenure::Status) -> Cancelled {
        // What a cancel leaves running has been asked to stop.
        Cancelled { status: status.as_str(), cancel_requested: status == tenure::Status::Running }
    }
}

/// The answer to a retry.
#[derive(Debug, Serialize, ToSchema)]
pub struct Retried {
    /// Where the job stands: `queued`.
    pub status: &'static str,
}

impl From<tenure::Status> for Retried {
    fn from(status: tenure::Status) -> Retried {
        Retried { status: status.as_str() }
    }
}

/// What a bulk action did.
#[derive(Debug, Serialize, ToSchema)]
pub struct Bulk {
    /// Jobs it was carried out on.
    pub done: u64,
    /// Jobs that matched but had moved on by the time their turn came.
    pub passed_over: u64,
    /// Where to go on, if time ran out before the end: send the same request with it as `cursor`.
    pub next_cursor: Option<String>,
}

impl Bulk {
    /// What was done, and where to go on.
    #[must_use]
    pub fn new(bulk: tenure::Bulk, next: Option<tenure::JobId>) -> Bulk {
        Bulk { done: bulk.done, passed_over: bulk.passed_over, next_cursor: next.map(|id| id.to_string()) }
    }
}
