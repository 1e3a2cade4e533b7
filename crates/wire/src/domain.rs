//! Domains on the wire: shapes, requests and replies in one place.
//!
//! Tokens are decimal strings (D5). Here, unlike elsewhere, a reply names only what its result has: an `ACQUIRED` its
//! token, a `NEXT_HINT` its offset.

use crate::problem::Problem;
use crate::read::{Body, Object};
use crate::reply::At;
use crate::shape::{Field, Holds, Shape};
use serde::Serialize;
use tenure::domain::{self, DomainInfo, token_of};
use tenure::{Page, Token, bounds};
use utoipa::ToSchema;

const fn field(name: &'static str, holds: Holds, required: bool, about: &'static str) -> Field {
    Field { name, holds, required, unsets: false, about }
}

const OFFSET: Field = field("offset", Holds::Int(0, i64::MAX), true, "Which offset of the domain.");
const TOKEN: Field = field("token", Holds::Text, true, "The token told at acquire, a decimal string.");

/// Asks for an offset.
pub static ACQUIRE: Shape = Shape {
    name: "DomainAcquire",
    fields: &[
        OFFSET,
        field("holder", Holds::Text, false, "Who asks; then no other is told the token."),
        field(
            "lease_ms",
            Holds::Int(bounds::LEASE_MS.0 as i64, bounds::LEASE_MS.1 as i64),
            false,
            "How long the lease lasts without a heartbeat; for ever if left out.",
        ),
    ],
};

/// A write under a token.
pub static HELD: Shape = Shape { name: "DomainHeld", fields: &[TOKEN] };

/// Skips an offset.
pub static SKIP: Shape = Shape { name: "DomainSkip", fields: &[OFFSET] };

/// Changes settings.
pub static CHANGE: Shape = Shape {
    name: "DomainChange",
    fields: &[
        Field {
            name: "max_retries",
            holds: Holds::Int(0, domain::RETRIES_MAX as i64),
            required: false,
            unsets: true,
            about: "Tries after the first; default 3.",
        },
        Field {
            name: "takeovers_max",
            holds: Holds::Int(1, domain::RETRIES_MAX as i64),
            required: false,
            unsets: true,
            about: "How often one offset may be acquired again after its lease ran out; default without limit.",
        },
    ],
};

/// What an acquire asks for: offset, holder, span of the lease.
pub fn acquire(body: Body<'_>, name: &str) -> Result<domain::Acquire, Problem> {
    let mut object = body.object(&ACQUIRE)?;
    Ok(domain::Acquire {
        domain: name.into(),
        offset: object.int("offset").and_then(|offset| u64::try_from(offset).ok()).unwrap_or(u64::MAX),
        holder: object.text("holder").map(Into::into),
        lease_ms: object.int("lease_ms").map(|ms| u64::try_from(ms).unwrap_or(0)),
    })
}

/// The token of a write. One that is no decimal string was never drawn, and is a mismatch.
pub fn token(body: Body<'_>) -> Result<Token, Problem> {
    Ok(token_of(&body.object(&HELD)?.text("token").unwrap_or_default()))
}

/// The offset to skip.
pub fn skip(body: Body<'_>) -> Result<u64, Problem> {
    let offset = body.object(&SKIP)?.int("offset");
    Ok(offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or(u64::MAX))
}

/// A change of settings.
pub fn change(body: Body<'_>) -> Result<domain::Change, Problem> {
    fn count(object: &mut Object<'_>, name: &str) -> Option<u32> {
        object.int(name).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }
    let mut object = body.object(&CHANGE)?;
    Ok(domain::Change {
        max_retries: object.set("max_retries", count),
        takeovers_max: object.set("takeovers_max", count),
    })
}

/// Where a page begins: names may hold any character, so a cursor is their bytes in hexadecimal.
#[must_use]
pub fn cursor(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The name in a cursor, if it is one of ours.
#[must_use]
pub fn from_cursor(cursor: &str) -> Option<String> {
    if !cursor.len().is_multiple_of(2) || !cursor.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..cursor.len()).step_by(2).map(|at| u8::from_str_radix(cursor.get(at..at + 2)?, 16).ok()).collect();
    String::from_utf8(bytes?).ok().filter(|name| bounds::key("cursor", name).is_ok())
}

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
    #[schema(value_type = Option<String>, format = DateTime)]
    pub lease_expires_at: Option<At>,
}

impl From<domain::Beaten> for Beaten {
    fn from(beaten: domain::Beaten) -> Beaten {
        Beaten { lease_expires_at: beaten.lease_expires_at.map(At) }
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
    #[schema(value_type = Option<String>, format = DateTime)]
    pub backlog_oldest_at: Option<At>,
    /// Tries after the first.
    pub max_retries: u32,
    /// Takeovers of one offset; null is without limit.
    pub takeovers_max: Option<u32>,
    /// When it was first used.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: At,
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
    #[schema(value_type = String, format = DateTime)]
    pub acquired_at: At,
    /// Tries that failed.
    pub retry_count: u32,
    /// How often it was acquired again after its lease ran out.
    pub takeovers: u32,
    /// How long it is granted and renewed for.
    pub lease_ms: Option<u64>,
    /// When it runs out.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub lease_expires_at: Option<At>,
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
                acquired_at: At(lease.acquired_at),
                retry_count: lease.retry_count,
                takeovers: lease.takeovers,
                lease_ms: lease.lease_ms,
                lease_expires_at: lease.lease_expires_at.map(At),
                expired: lease.expired,
            }),
            backlog_len: info.backlog_len,
            backlog_head: info.backlog_head,
            backlog_oldest_at: info.backlog_oldest_at.map(At),
            max_retries: info.settings.max_retries,
            takeovers_max: info.settings.takeovers_max,
            created_at: At(info.created_at),
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
        let last = page.items.last().filter(|_| page.more);
        let next_cursor = last.map(|info| cursor(&info.name));
        Domains { domains: page.items.into_iter().map(Domain::from).collect(), next_cursor }
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
    #[schema(value_type = String, format = DateTime)]
    pub at: At,
    /// When it happened first, if it happened again.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<At>,
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
            at: At(event.at),
            first_at: event.first_at.map(At),
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

impl From<domain::Refused> for Problem {
    fn from(refused: domain::Refused) -> Problem {
        let problem = Problem::new(crate::Kind::Conflict, refused.code(), refused.to_string());
        match refused {
            domain::Refused::BacklogOrdering { expected, got } => problem.fact("expected", expected).fact("got", got),
            domain::Refused::LeaseLost(reason) => problem.fact("reason", reason.as_str()),
            domain::Refused::TokenMismatch | domain::Refused::LeaseNotFound => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_carries_any_name() {
        for name in ["a", "acct/42", "ключ", "a%2Fb c"] {
            assert_eq!(from_cursor(&cursor(name)).as_deref(), Some(name));
        }
        for bad in ["", "zz", "6", "ff", "6é", "0a"] {
            assert_eq!(from_cursor(bad), None, "{bad:?}");
        }
    }

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
