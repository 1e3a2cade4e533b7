//! What is answered about domains.

use super::request::cursor;
use crate::reply::paged;
use serde::Serialize;
use tenure::domain::{self, DomainInfo};
use tenure::{Page, Time};
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

/// How a heartbeat was answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainBeaten)]
pub struct Beaten {
    /// When the lease runs out now; null if it never does.
    pub lease_expires_at: Option<Time>,
}

impl From<domain::Beaten> for Beaten {
    fn from(beaten: domain::Beaten) -> Beaten {
        Beaten { lease_expires_at: beaten.lease_expires_at }
    }
}

/// How a skip was answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainSkipped)]
pub struct Skipped {
    /// `SKIPPED`, `ALREADY_PROCESSED` or `ALREADY_FAILED`.
    pub result: &'static str,
}

impl From<domain::Skipped> for Skipped {
    fn from(skipped: domain::Skipped) -> Skipped {
        Skipped { result: skipped.as_str() }
    }
}

/// A domain: how it behaves, and where it stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct Domain {
    /// Its name.
    pub domain: String,
    /// The offset in flight.
    pub lease: Option<Lease>,
    /// How many offsets wait.
    pub backlog_len: u64,
    /// The first of them.
    pub backlog_head: Option<u64>,
    /// Since when that one waits.
    pub backlog_oldest_at: Option<Time>,
    /// Tries after the first.
    pub max_retries: u32,
    /// Takeovers of one offset; null is without limit.
    pub takeovers_max: Option<u32>,
    /// When it was first used.
    pub created_at: Time,
}

/// The lease of the offset in flight, without its token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainLease)]
pub struct Lease {
    /// The offset.
    pub offset: u64,
    /// The name its holder gave itself.
    pub holder: Option<String>,
    /// When the offset was first acquired; takeovers leave it.
    pub acquired_at: Time,
    /// Tries that failed.
    pub retry_count: u32,
    /// How often it was acquired again after its lease ran out.
    pub takeovers: u32,
    /// How long it is granted and renewed for.
    pub lease_ms: Option<u64>,
    /// When it runs out.
    pub lease_expires_at: Option<Time>,
    /// Whether it has.
    pub expired: bool,
}

impl From<DomainInfo> for Domain {
    fn from(info: DomainInfo) -> Domain {
        Domain {
            domain: info.name.to_string(),
            lease: info.lease.map(|lease| Lease {
                offset: lease.offset,
                holder: lease.holder.as_deref().map(str::to_owned),
                acquired_at: lease.acquired_at,
                retry_count: lease.retry_count,
                takeovers: lease.takeovers,
                lease_ms: lease.lease_ms,
                lease_expires_at: lease.lease_expires_at,
                expired: lease.expired,
            }),
            backlog_len: info.backlog_len,
            backlog_head: info.backlog_head,
            backlog_oldest_at: info.backlog_oldest_at,
            max_retries: info.settings.max_retries,
            takeovers_max: info.settings.takeovers_max,
            created_at: info.created_at,
        }
    }
}

/// A page of domains, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Domains {
    /// The domains.
    pub domains: Vec<Domain>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<Page<DomainInfo>> for Domains {
    fn from(page: Page<DomainInfo>) -> Domains {
        let (domains, next_cursor) = paged(page, |info| cursor(&info.name), Domain::from);
        Domains { domains, next_cursor }
    }
}

/// What happened to a domain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainTimeline)]
pub struct Timeline {
    /// Oldest first.
    pub events: Vec<Event>,
}

/// One thing that happened to a domain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DomainEvent)]
pub struct Event {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `expired`, `taken_over`, `retried`, `gave_up`, `takeovers_spent`, `skipped`, `changed` or `refused`.
    pub what: &'static str,
    /// To which offset.
    pub offset: Option<u64>,
    /// Under which token, a decimal string.
    pub token: Option<String>,
    /// By or from whom, where it had a name.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// How often, where repetitions are counted into one.
    pub count: u64,
    /// The whole of it as a sentence.
    pub message: String,
}

impl From<Vec<domain::Event>> for Timeline {
    fn from(events: Vec<domain::Event>) -> Timeline {
        let one = |event: domain::Event| Event {
            at: event.at,
            first_at: event.first_at,
            what: event.what.as_str(),
            offset: event.offset,
            token: event.token.map(|token| token.to_string()),
            message: event.message(),
            count: event.count,
            owner: event.holder.as_deref().map(str::to_owned),
            by: event.by.as_deref().map(str::to_owned),
        };
        Timeline { events: events.into_iter().map(one).collect() }
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
