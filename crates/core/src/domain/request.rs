//! What callers ask of domains, checked against the bounds of the contracts (X).

use super::book::Book;
use super::record::Record;
use crate::bounds::{self, Code, Invalid};
use crate::changes::Difference;
use crate::lease::Token;
use crate::time::Time;
use crate::words::words;
use std::sync::Arc;

/// The largest offset.
pub const OFFSET_MAX: u64 = i64::MAX as u64;
/// The most tries after the first, and the most takeovers.
pub const RETRIES_MAX: u64 = 1_000;
/// Tries after the first in a domain that was not told otherwise.
pub const MAX_RETRIES_DEFAULT: u32 = 3;

/// Asks for an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// In which domain.
    pub domain: Arc<str>,
    /// Which offset.
    pub offset: u64,
    /// Who asks, if it wants to be the only one to be told the token (D3).
    pub holder: Option<Arc<str>>,
    /// How long the lease lasts without a heartbeat; `None` is for ever (D4).
    pub lease_ms: Option<u64>,
}

impl Acquire {
    /// Asks for `offset`, unnamed, under a lease that does not run out: as in the document.
    pub fn new(domain: impl Into<Arc<str>>, offset: u64) -> Acquire {
        Acquire { domain: domain.into(), offset, holder: None, lease_ms: None }
    }

    /// As this holder (D3).
    #[must_use]
    pub fn holder(mut self, holder: impl Into<Arc<str>>) -> Acquire {
        self.holder = Some(holder.into());
        self
    }

    /// Under a lease that runs out (D4).
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Acquire {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::key("domain", &self.domain)?;
        bounds::within("offset", self.offset, 0, OFFSET_MAX)?;
        check_holder(self.holder.as_deref(), self.lease_ms)
    }
}

/// A write that names the token of the lease: succeed, fail, heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// In which domain.
    pub domain: Arc<str>,
    /// The token that was told at acquire.
    pub token: Token,
}

impl Held {
    /// Under this token.
    pub fn new(domain: impl Into<Arc<str>>, token: Token) -> Held {
        Held { domain: domain.into(), token }
    }

    /// Refuses what is out of bounds. No token is: one that was never drawn is a mismatch (D5).
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::key("domain", &self.domain)
    }
}

/// Succeeds with the offset in flight and acquires what comes next, in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// In which domain.
    pub domain: Arc<str>,
    /// The token of the lease.
    pub token: Token,
    /// The offset to acquire if none waits. What waits comes first, and this one is then not asked for.
    pub next: Option<u64>,
    /// As in [`Acquire`].
    pub holder: Option<Arc<str>>,
    /// As in [`Acquire`].
    pub lease_ms: Option<u64>,
}

impl Advance {
    /// Succeeds under `token`, and acquires the head of the backlog.
    pub fn new(domain: impl Into<Arc<str>>, token: Token) -> Advance {
        Advance { domain: domain.into(), token, next: None, holder: None, lease_ms: None }
    }

    /// The offset to acquire if none waits.
    #[must_use]
    pub fn next(mut self, offset: u64) -> Advance {
        self.next = Some(offset);
        self
    }

    /// As this holder (D3).
    #[must_use]
    pub fn holder(mut self, holder: impl Into<Arc<str>>) -> Advance {
        self.holder = Some(holder.into());
        self
    }

    /// Under a lease that runs out (D4).
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Advance {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::key("domain", &self.domain)?;
        self.next.map_or(Ok(()), |next| bounds::within("next", next, 0, OFFSET_MAX))?;
        check_holder(self.holder.as_deref(), self.lease_ms)
    }
}

fn check_holder(holder: Option<&str>, lease_ms: Option<u64>) -> Result<(), Invalid> {
    holder.map_or(Ok(()), |holder| bounds::name("holder", holder))?;
    lease_ms.map_or(Ok(()), |ms| bounds::within("lease_ms", ms, bounds::LEASE_MS.0, bounds::LEASE_MS.1))
}

/// An operator's skip of one offset (D7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// In which domain.
    pub domain: Arc<str>,
    /// Which offset.
    pub offset: u64,
}

impl Skip {
    /// Skips `offset`.
    pub fn new(domain: impl Into<Arc<str>>, offset: u64) -> Skip {
        Skip { domain: domain.into(), offset }
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::key("domain", &self.domain)?;
        bounds::within("offset", self.offset, 0, OFFSET_MAX)
    }
}

/// Refuses a call with too many acquires, or one out of bounds.
pub fn check_acquires(acquires: &[Acquire]) -> Result<(), Invalid> {
    check_all("acquires", acquires, Acquire::check)
}

/// Refuses a call with too many writes, or one out of bounds.
pub fn check_held(writes: &[Held]) -> Result<(), Invalid> {
    check_all("writes", writes, Held::check)
}

/// Refuses a call with too many advances, or one out of bounds.
pub fn check_advances(advances: &[Advance]) -> Result<(), Invalid> {
    check_all("advances", advances, Advance::check)
}

fn check_all<T>(field: &str, items: &[T], check: fn(&T) -> Result<(), Invalid>) -> Result<(), Invalid> {
    bounds::within(field, items.len() as u64, 1, bounds::BULK_MAX)?;
    for (i, item) in items.iter().enumerate() {
        check(item).map_err(|refusal| refusal.within(&format!("{field}[{i}]")))?;
    }
    Ok(())
}

/// The token spelled `text`. What is no decimal number is a token that was never drawn, and so a mismatch (D5).
#[must_use]
pub fn token_of(text: &str) -> Token {
    let token = text.parse::<i64>().ok().filter(|token| *token > 0 && token.to_string() == text);
    token.map_or(Token(0), Token)
}

/// How a domain behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Settings {
    /// Tries after the first (D2).
    pub max_retries: u32,
    /// How often an offset may be acquired again after its lease ran out; null is without limit (D4).
    pub takeovers_max: Option<u32>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_retries: MAX_RETRIES_DEFAULT, takeovers_max: None }
    }
}

/// A change of settings: the outer `None` leaves a setting as it is, the inner one sets it back to its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Tries after the first.
    pub max_retries: Option<Option<u32>>,
    /// Takeovers of one offset.
    pub takeovers_max: Option<Option<u32>>,
}

impl Change {
    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        if let Some(Some(max)) = self.max_retries {
            bounds::within("max_retries", max.into(), 0, RETRIES_MAX)?;
        }
        if let Some(Some(max)) = self.takeovers_max {
            bounds::within("takeovers_max", max.into(), 1, RETRIES_MAX)?;
        }
        Ok(())
    }
}

impl Settings {
    /// What `to` has otherwise.
    #[must_use]
    pub fn differences(&self, to: &Settings) -> Vec<Difference> {
        let limit = |max: &Option<u32>| max.map(|max| max.to_string());
        [
            Difference::between("max_retries", &self.max_retries, &to.max_retries, |max| Some(max.to_string())),
            Difference::between("takeovers_max", &self.takeovers_max, &to.takeovers_max, limit),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// These settings with a change.
    #[must_use]
    pub fn changed(self, change: &Change) -> Settings {
        Settings {
            max_retries: change.max_retries.map_or(self.max_retries, |set| set.unwrap_or(MAX_RETRIES_DEFAULT)),
            takeovers_max: change.takeovers_max.unwrap_or(self.takeovers_max),
        }
    }
}

words! {
    /// Domains that want a look.
    State {
        /// Offsets wait, and no live lease works on the one before them.
        Blocked = "blocked",
        /// The lease of the offset in flight ran out.
        Expired = "expired",
    }
}

impl State {
    /// Refuses what is neither.
    pub fn check(word: &str) -> Result<State, Invalid> {
        State::parse(word).ok_or_else(|| Invalid::new(Code::OutOfBounds, "state", "`blocked` or `expired`", word))
    }
}

/// A domain: how it behaves, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Domain))]
pub struct DomainInfo {
    /// Its name.
    #[cfg_attr(feature = "serde", serde(rename = "domain", serialize_with = "crate::serial::shared"))]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub name: Arc<str>,
    /// The offset in flight.
    pub lease: Option<LeaseInfo>,
    /// How many offsets wait.
    pub backlog_len: u64,
    /// The first of them.
    pub backlog_head: Option<u64>,
    /// Since when that one waits.
    pub backlog_oldest_at: Option<Time>,
    /// How it behaves.
    #[cfg_attr(feature = "serde", serde(flatten))]
    #[cfg_attr(feature = "schema", schema(inline))]
    pub settings: Settings,
    /// When it was first used.
    pub created_at: Time,
}

/// A lease as anyone may see it: without its token (D3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = DomainLease))]
pub struct LeaseInfo {
    /// Which offset is in flight.
    pub offset: u64,
    /// The name its holder gave itself.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::shared_or_null"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub holder: Option<Arc<str>>,
    /// When the offset was first acquired; takeovers leave it.
    pub acquired_at: Time,
    /// Tries that failed.
    pub retry_count: u32,
    /// How often it was acquired again after its lease ran out.
    pub takeovers: u32,
    /// For how long it is granted and renewed.
    pub lease_ms: Option<u64>,
    /// When it runs out.
    pub lease_expires_at: Option<Time>,
    /// Whether it has, by the store's clock.
    pub expired: bool,
}

impl DomainInfo {
    /// The domain `name` at `now`.
    #[must_use]
    pub fn of(name: Arc<str>, record: &Record, book: &Book, now: Time) -> DomainInfo {
        let head = book.backlog.as_ref().and_then(|backlog| backlog.head());
        DomainInfo {
            name,
            created_at: record.created_at,
            settings: record.settings,
            lease: record.in_flight.as_ref().map(|flight| flight.info(now)),
            backlog_len: book.backlog.as_ref().map_or(0, |backlog| backlog.len() as u64),
            backlog_head: head.map(|(offset, _)| offset),
            backlog_oldest_at: head.map(|(_, since)| since),
        }
    }

    /// Whether it is in this state.
    #[must_use]
    pub fn is(&self, state: State) -> bool {
        let expired = self.lease.as_ref().is_some_and(|lease| lease.expired);
        match state {
            State::Expired => expired,
            State::Blocked => self.backlog_len > 0 && (expired || self.lease.is_none()),
        }
    }
}

/// What one bounded step of recovery did (L7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Leases whose expiry was told.
    pub expired: u32,
    /// Of these, offsets that failed for good because their takeovers were spent.
    pub failed: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_what_is_no_decimal_string_is_a_token_that_was_never_drawn() {
        assert_eq!(token_of("1099511627777"), Token(1_099_511_627_777));
        for text in ["", "abc", "-1", "0", "+7", "007", " 7", "7.0", "99999999999999999999"] {
            assert_eq!(token_of(text), Token(0), "{text:?}");
        }
    }

    #[test]
    fn x_bounds_are_refused_by_name() {
        let refused = |acquire: Acquire| acquire.check().unwrap_err().field;
        assert_eq!(refused(Acquire::new("", 1)), "domain");
        assert_eq!(refused(Acquire::new("a\u{202e}b", 1)), "domain");
        assert_eq!(refused(Acquire::new("d", OFFSET_MAX + 1)), "offset");
        assert_eq!(refused(Acquire::new("d", 1).holder("not a name")), "holder");
        assert_eq!(refused(Acquire::new("d", 1).lease_ms(99)), "lease_ms");
        assert!(Acquire::new("ключ/42", OFFSET_MAX).holder("bob").lease_ms(100).check().is_ok());
        assert!(Change { takeovers_max: Some(Some(0)), ..Change::default() }.check().is_err());
        assert!(Change { max_retries: Some(Some(0)), ..Change::default() }.check().is_ok());
        assert!(Change { max_retries: Some(Some(1_001)), ..Change::default() }.check().is_err());
    }
}
