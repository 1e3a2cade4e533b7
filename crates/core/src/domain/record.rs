//! What a domain is apart from its books: the lease, the last token, the settings. One row in a database.

use super::request::{LeaseInfo, Settings};
use crate::lease::{Lease, Token};
use crate::time::Time;

/// The small part of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The offset in flight.
    pub in_flight: Option<InFlight>,
    /// The last token drawn here; zero before the first.
    pub last_token: Token,
    /// How it behaves.
    pub settings: Settings,
    /// When it was first used.
    pub created_at: Time,
}

/// The offset in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Which offset.
    pub offset: u64,
    /// What it is held under. Its owner is empty where the holder gave itself no name (D3), and it is
    /// [endless](Lease::ENDLESS) where none asked for an end (D4).
    pub lease: Lease,
    /// When this offset was first acquired. Never changes (D2).
    pub acquired_at: Time,
    /// `fail` calls for this offset.
    pub retry_count: u32,
    /// How often it was acquired again after its lease ran out (D4).
    pub takeovers: u32,
    /// Whether the event that says that the lease ran out was written (L7: once per token).
    pub expiry_told: bool,
}

impl Record {
    /// A domain that was never used.
    #[must_use]
    pub fn new(now: Time) -> Record {
        Record { in_flight: None, last_token: Token(0), settings: Settings::default(), created_at: now }
    }
}

impl InFlight {
    /// The name the holder gave itself.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        Some(self.lease.owner.as_str()).filter(|holder| !holder.is_empty())
    }

    /// What anyone may know of it. The token is not among it (D3).
    #[must_use]
    pub fn info(&self, now: Time) -> LeaseInfo {
        LeaseInfo {
            offset: self.offset,
            holder: self.holder().map(Into::into),
            acquired_at: self.acquired_at,
            retry_count: self.retry_count,
            takeovers: self.takeovers,
            lease_ms: self.lease.span_ms(),
            lease_expires_at: self.lease.deadline(),
            expired: !self.lease.live(now),
        }
    }
}
