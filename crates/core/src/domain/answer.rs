//! What the verbs of a domain answer, in the words of its document (D1).

use crate::lease::{LostReason, Token};
use crate::time::Time;
use crate::words::words;
use std::fmt;

/// An answer, or the hard error of the document.
pub type Answer<T> = Result<T, Refused>;

/// What `try_acquire` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acquired {
    /// The offset is in flight under this token, for whoever asked.
    Acquired {
        /// The token of the lease.
        token: Token,
    },
    /// Another offset is in flight; this one waits behind it.
    Enqueued {
        /// The offset in flight, if its lease ran out: nothing moves until it is acquired again (D4).
        expired_offset: Option<u64>,
    },
    /// The offset is in flight already, under this token.
    AlreadyAcquired {
        /// The token of the lease.
        token: Token,
    },
    /// The offset is in flight for a holder with another name (D3). The token is not told.
    HeldByOther,
    /// The offset ended well before.
    AlreadyProcessed,
    /// The offset failed for good before.
    AlreadyFailed,
}

impl Acquired {
    /// The word of the document.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Acquired::Acquired { .. } => "ACQUIRED",
            Acquired::Enqueued { .. } => "ENQUEUED",
            Acquired::AlreadyAcquired { .. } => "ALREADY_ACQUIRED",
            Acquired::HeldByOther => "HELD_BY_OTHER",
            Acquired::AlreadyProcessed => "ALREADY_PROCESSED",
            Acquired::AlreadyFailed => "ALREADY_FAILED",
        }
    }

    /// The token, where there is one to tell.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        match self {
            Acquired::Acquired { token } | Acquired::AlreadyAcquired { token } => Some(*token),
            Acquired::Enqueued { .. }
            | Acquired::HeldByOther
            | Acquired::AlreadyProcessed
            | Acquired::AlreadyFailed => None,
        }
    }
}

/// What `succeed` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Succeeded {
    /// Nothing waits.
    NoBacklog,
    /// This offset waits first. It is a hint: nothing was handed over.
    NextHint {
        /// The head of the backlog.
        offset: u64,
    },
}

impl Succeeded {
    /// The answer for a backlog with this head.
    #[must_use]
    pub fn of(head: Option<u64>) -> Succeeded {
        head.map_or(Succeeded::NoBacklog, |offset| Succeeded::NextHint { offset })
    }

    /// The word of the document.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Succeeded::NoBacklog => "NO_BACKLOG",
            Succeeded::NextHint { .. } => "NEXT_HINT",
        }
    }

    /// The hint, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<u64> {
        match self {
            Succeeded::NoBacklog => None,
            Succeeded::NextHint { offset } => Some(*offset),
        }
    }
}

/// What `fail` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failed {
    /// The lease stays, and the offset may be tried again when the caller thinks fit.
    RetryScheduled {
        /// `fail` calls for this offset so far.
        retry_count: u32,
    },
    /// It was the last try; nothing waits.
    GiveUpNoBacklog,
    /// It was the last try; this offset waits first.
    GiveUpNextHint {
        /// The head of the backlog.
        offset: u64,
    },
}

impl Failed {
    /// The answer of giving up before a backlog with this head.
    #[must_use]
    pub fn give_up(head: Option<u64>) -> Failed {
        head.map_or(Failed::GiveUpNoBacklog, |offset| Failed::GiveUpNextHint { offset })
    }

    /// The word of the document.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Failed::RetryScheduled { .. } => "RETRY_SCHEDULED",
            Failed::GiveUpNoBacklog => "GIVE_UP_NO_BACKLOG",
            Failed::GiveUpNextHint { .. } => "GIVE_UP_NEXT_HINT",
        }
    }

    /// The hint, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<u64> {
        match self {
            Failed::RetryScheduled { .. } | Failed::GiveUpNoBacklog => None,
            Failed::GiveUpNextHint { offset } => Some(*offset),
        }
    }
}

/// What an accepted heartbeat answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = DomainBeaten))]
pub struct Beaten {
    /// When the lease runs out now; null if it never does.
    pub lease_expires_at: Option<Time>,
}

words! {
    /// What `skip` answers (D7).
    Skipped {
        /// The offset failed for good, by an operator's word.
        Skipped = "SKIPPED",
        /// It had ended well before.
        AlreadyProcessed = "ALREADY_PROCESSED",
        /// It had failed for good before.
        AlreadyFailed = "ALREADY_FAILED",
    }
}

/// What `advance` answers: both halves, as if they had been asked one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Advanced {
    /// How the succeed was answered.
    pub succeeded: Succeeded,
    /// Which offset was asked for next, and how that was answered; `None` if there was none to ask for.
    pub next: Option<(u64, Answer<Acquired>)>,
}

/// The hard errors of the document: the caller has a bug, or lost what it held. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// Another offset is first in the backlog, and nothing is in flight.
    BacklogOrdering {
        /// The head of the backlog.
        expected: u64,
        /// The offset that was asked for.
        got: u64,
    },
    /// The token is not that of the lease.
    TokenMismatch,
    /// Nothing is in flight in this domain.
    LeaseNotFound,
    /// The lease ran out, and nobody has acquired the offset since (D4).
    LeaseLost(LostReason),
}

impl Refused {
    /// The document's words for a lease that is not held (D1).
    #[must_use]
    pub fn lost_by(reason: LostReason, in_flight: bool) -> Refused {
        match reason {
            LostReason::Expired => Refused::LeaseLost(reason),
            _ if in_flight => Refused::TokenMismatch,
            _ => Refused::LeaseNotFound,
        }
    }

    /// The stable code on every surface.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Refused::BacklogOrdering { .. } => "backlog_ordering",
            Refused::TokenMismatch => "token_mismatch",
            Refused::LeaseNotFound => "lease_not_found",
            Refused::LeaseLost(_) => "lease_lost",
        }
    }

    /// The code spelled `word`.
    #[must_use]
    pub fn code_of(word: &str) -> Option<&'static str> {
        let all = ["backlog_ordering", "token_mismatch", "lease_not_found", "lease_lost"];
        all.into_iter().find(|code| *code == word)
    }

    /// Whether what the caller held is gone, so that it must stop working.
    #[must_use]
    pub fn lost(&self) -> bool {
        match self {
            Refused::BacklogOrdering { .. } => false,
            Refused::TokenMismatch | Refused::LeaseNotFound | Refused::LeaseLost(_) => true,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::BacklogOrdering { expected, got } => {
                write!(f, "offset {expected} is first in the backlog and must be acquired before offset {got}")
            }
            Refused::TokenMismatch => f.write_str(
                "the token is not that of the lease: the offset was acquired again since; stop working on it",
            ),
            Refused::LeaseNotFound => f.write_str("nothing is in flight in this domain: acquire an offset first"),
            Refused::LeaseLost(reason) => write!(f, "lease lost: {}", reason.sentence()),
        }
    }
}

impl std::error::Error for Refused {}
