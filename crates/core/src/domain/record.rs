//! What a domain is apart from its books: the lease, the last token, the settings. One row in a database.

use super::request::{LeaseInfo, Settings};
use crate::lease::{Token, live};
use crate::time::Time;
use std::sync::Arc;

/// The small part of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The offset in flight.
    pub lease: Option<Lease>,
    /// The last token drawn here; zero before the first.
    pub last_token: Token,
    /// How it behaves.
    pub settings: Settings,
    /// When it was first used.
    pub created_at: Time,
}

/// The lease of the offset in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which offset.
    pub offset: u64,
    /// Its token.
    pub token: Token,
    /// When this offset was first acquired. Never changes (D2).
    pub acquired_at: Time,
    /// `fail` calls for this offset.
    pub retry_count: u32,
    /// How often it was acquired again after its lease ran out (D4).
    pub takeovers: u32,
    /// The name the holder gave itself (D3).
    pub holder: Option<Arc<str>>,
    /// When it runs out, if it does (D4).
    pub expiry: Option<Expiry>,
}

/// That a lease runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// For how long it was granted, and is renewed.
    pub lease_ms: u64,
    /// The first instant at which it is lost.
    pub at: Time,
    /// Whether the event that says so was written (L7: once per token).
    pub told: bool,
}

impl Record {
    /// A domain that was never used.
    #[must_use]
    pub fn new(now: Time) -> Record {
        Record { lease: None, last_token: Token(0), settings: Settings::default(), created_at: now }
    }

    /// Draws the next token (L2): larger than every token of this domain, also if the last ones were lost in a restore,
    /// for then the epoch was raised. `base` is that of the epoch.
    pub(super) fn draw(&mut self, base: Token) -> Token {
        let next = Token(self.last_token.0 + 1).max(base);
        assert!(next <= Token::MAX, "the tokens of this domain are spent");
        self.last_token = next;
        next
    }
}

impl Lease {
    /// Whether it has run out at `now`.
    #[must_use]
    pub fn expired(&self, now: Time) -> bool {
        self.expiry.is_some_and(|expiry| !live(expiry.at, now))
    }

    /// What anyone may know of it. The token is not among it (D3).
    #[must_use]
    pub fn info(&self, now: Time) -> LeaseInfo {
        LeaseInfo {
            offset: self.offset,
            holder: self.holder.clone(),
            acquired_at: self.acquired_at,
            retry_count: self.retry_count,
            takeovers: self.takeovers,
            lease_ms: self.expiry.map(|expiry| expiry.lease_ms),
            lease_expires_at: self.expiry.map(|expiry| expiry.at),
            expired: self.expired(now),
        }
    }
}
