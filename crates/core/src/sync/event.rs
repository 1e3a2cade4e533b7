//! What happened to a sync or a chunk otherwise than well, one readable sentence each (L8).

use super::request::Verb;
use super::unit::{Reason, Sync, SyncId, Unit};
use crate::actor::Actor;
use crate::event::{beginning, times};
use crate::lease::{Lease, LostReason, Token};
use crate::time::Time;
use crate::words::words;

words! {
    /// The kinds of events.
    What {
        /// It was planned.
        Planned = "planned",
        /// A worker claimed it.
        Claimed = "claimed",
        /// Its lease ran out.
        Expired = "expired",
        /// A write under a lost lease was refused.
        Refused = "refused",
        /// An attempt failed, and it waits for the next.
        Retried = "retried",
        /// It was completed.
        Completed = "completed",
        /// It failed for good.
        Failed = "failed",
        /// It ended because its sync was cancelled or failed.
        Cancelled = "cancelled",
    }
}

/// One thing that happened to one sync or chunk.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SyncEvent {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `planned`, `claimed`, `expired`, `refused`, `retried`, `completed`, `failed` or `cancelled`.
    pub what: What,
    /// To which sync.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub sync: SyncId,
    /// To which chunk of it; null is the sync itself.
    pub chunk_hash: Option<String>,
    /// Under which token.
    pub token: Option<Token>,
    /// By or from whom.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// Attempts of the chunk, or crashes of the sync, counted when it happened.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub attempt: Option<u32>,
    /// The write that was refused; `None` for a heartbeat.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub verb: Option<Verb>,
    /// Why it was refused.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub lost: Option<LostReason>,
    /// Why it failed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub reason: Option<Reason>,
    /// The beginning of what went wrong.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub error: Option<String>,
    /// How often, where repetitions are counted into one event.
    pub count: u32,
}

impl SyncEvent {
    /// An event with nothing but its time, unit and kind.
    #[must_use]
    pub fn new(at: Time, unit: &Unit, what: What) -> SyncEvent {
        SyncEvent {
            at,
            first_at: None,
            sync: unit.sync,
            chunk_hash: unit.chunk_hash.clone(),
            what,
            token: None,
            owner: None,
            by: None,
            attempt: None,
            verb: None,
            lost: None,
            reason: None,
            error: None,
            count: 1,
        }
    }

    /// Under this claim.
    #[must_use]
    pub fn by(mut self, owner: &str, token: Option<Token>) -> SyncEvent {
        self.owner = Some(owner.to_owned());
        self.token = token;
        self
    }

    /// Under this lease.
    #[must_use]
    pub fn under(self, lease: &Lease) -> SyncEvent {
        self.by(&lease.owner, Some(lease.token))
    }

    /// By this operator.
    #[must_use]
    pub fn acted(mut self, actor: &Actor) -> SyncEvent {
        self.by = Some(actor.as_str().to_owned());
        self
    }

    /// With the beginning of an error.
    #[must_use]
    pub fn error(mut self, error: Option<&str>) -> SyncEvent {
        self.error = error.map(beginning);
        self
    }

    /// The event as a sentence for an operator.
    #[must_use]
    pub fn message(&self) -> String {
        let unit = self.chunk_hash.as_ref().map_or("the sync".to_owned(), |hash| format!("chunk {hash}"));
        let owner = self.owner.as_deref().unwrap_or("someone");
        let token = self.token.map_or("-".to_owned(), |token| token.to_string());
        let attempt = self.attempt.unwrap_or(0);
        let error = self.error.as_deref().map_or(String::new(), |error| format!(": {error}"));
        match self.what {
            What::Planned => format!("{unit} was planned"),
            What::Claimed => format!("{owner} claimed {unit} under token {token}"),
            What::Completed => format!("{unit} was completed"),
            What::Retried => format!("attempt {attempt} of {owner} at {unit} failed, it is tried again at once{error}"),
            What::Failed => match self.reason {
                Some(Reason::AttemptsSpent) => {
                    format!("attempt {attempt} of {owner} at {unit} failed, and it was the last{error}")
                }
                Some(Reason::CrashLimit) => format!("{unit} failed for good: its leases ran out too often"),
                Some(Reason::Failed | Reason::Cancelled) | None => format!("{owner} failed {unit} for good{error}"),
            },
            What::Cancelled if self.chunk_hash.is_some() => {
                format!("the lease of {owner} on {unit} (token {token}) was ended with its sync")
            }
            What::Cancelled => {
                let operator = self.by.as_deref().unwrap_or("an operator");
                format!("{operator} cancelled {unit}{error}")
            }
            What::Expired => format!("the lease of {owner} on {unit} (token {token}) ran out"),
            What::Refused => {
                let verb = self.verb.map_or("heartbeat", Verb::as_str);
                let lost = self.lost.unwrap_or(LostReason::Unknown);
                let times = times(self.count.into(), self.first_at, self.at);
                format!("refused a {verb} of {unit} from {owner} under token {token}: {}{times}", lost.sentence())
            }
        }
    }
}

/// What is known to have happened to a sync, oldest first: `stored` events and what the sync itself tells.
#[must_use]
pub fn timeline(sync: &Sync, stored: Vec<SyncEvent>) -> Vec<SyncEvent> {
    let unit = Unit::sync(sync.id);
    let mut events = vec![SyncEvent::new(sync.created_at, &unit, What::Planned)];
    if let Some(lease) = &sync.standing.lease {
        events.push(SyncEvent::new(lease.granted_at, &unit, What::Claimed).under(lease));
    }
    events.extend(stored);
    events.extend(sync.standing.completed_at.map(|at| SyncEvent::new(at, &unit, What::Completed)));
    events.sort_by_key(|event| event.at);
    events
}
