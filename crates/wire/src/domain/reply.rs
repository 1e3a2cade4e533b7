//! What is answered about domains.

use super::request::cursor;
use crate::reply::paged;
use serde::Serialize;
use tenure::Page;
use tenure::domain::{self, DomainInfo};
use utoipa::ToSchema;

/// How an acquire was answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainAcquired)]
pub struct Acquired {
    /// `ACQUIRED`, `ENQUEUED`, `ALREADY_ACQUIRED`, `HELD_BY_OTHER`, `ALREADY_PROCESSED` or `ALREADY_FAILED`.
    pub result: &'static str,
    /// The fencing token, a decimal string: of `ACQUIRED` and `ALREADY_ACQUIRED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Of `ENQUEUED`: the offset in flight, if its lease ran out. It must be acquired again before anything moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expired_offset: Option<u64>,
}

impl From<domain::Acquired> for Acquired {
    fn from(acquired: domain::Acquired) -> Acquired {
        let expired_offset = match acquired {
            domain::Acquired::Enqueued { expired_offset } => expired_offset,
            _ => None,
        };
        let token = acquired.token().map(|token| token.to_string());
        Acquired { result: acquired.as_str(), token, expired_offset }
    }
}

/// How a succeed or a fail was answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainFinished)]
pub struct Finished {
    /// `NO_BACKLOG`, `NEXT_HINT`; `RETRY_SCHEDULED`, `GIVE_UP_NO_BACKLOG` or `GIVE_UP_NEXT_HINT`.
    pub result: &'static str,
    /// Of a hint: the offset that waits first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Of `RETRY_SCHEDULED`: tries that failed so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
}

impl From<domain::Succeeded> for Finished {
    fn from(succeeded: domain::Succeeded) -> Finished {
        Finished { result: succeeded.as_str(), offset: succeeded.hint(), retry_count: None }
    }
}

impl From<domain::Failed> for Finished {
    fn from(failed: domain::Failed) -> Finished {
        let retry_count = match failed {
            domain::Failed::RetryScheduled { retry_count } => Some(retry_count),
            domain::Failed::GiveUpNoBacklog | domain::Failed::GiveUpNextHint { .. } => None,
        };
        Finished { result: failed.as_str(), offset: failed.hint(), retry_count }
    }
}

/// How a skip was answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainSkipped)]
pub struct Skipped {
    /// `SKIPPED`, `ALREADY_PROCESSED` or `ALREADY_FAILED`.
    pub result: domain::Skipped,
}

/// A page of domains, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Domains {
    /// The domains.
    pub domains: Vec<DomainInfo>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<Page<DomainInfo>> for Domains {
    fn from(page: Page<DomainInfo>) -> Domains {
        let (domains, next_cursor) = paged(page, |info| cursor(&info.name), |info| info);
        Domains { domains, next_cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::Token;

    #[test]
    fn d5_results_name_only_what_they_have() {
        let told = |acquired: domain::Acquired| serde_json::to_string(&Acquired::from(acquired)).unwrap();
        let token = Token(1 << 53);
        assert_eq!(told(domain::Acquired::Acquired { token }), r#"{"result":"ACQUIRED","token":"9007199254740992"}"#);
        assert_eq!(told(domain::Acquired::HeldByOther), r#"{"result":"HELD_BY_OTHER"}"#);
        let finished = Finished::from(domain::Succeeded::NextHint { offset: 2 });
        assert_eq!(serde_json::to_string(&finished).unwrap(), r#"{"result":"NEXT_HINT","offset":2}"#);
    }
}
