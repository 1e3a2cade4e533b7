//! What a backend must do for domains.

use crate::Result;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Recovered, Skip,
    Skipped, State, Succeeded,
};

/// Exclusive, ordered work per key (D1 to D8).
///
/// The verbs take many domains at once, for a database does many in one transaction. Each item is answered on its own,
/// in the order of the call; items of one domain happen in that order too.
#[async_trait]
pub trait DomainStore: Send + Sync + 'static {
    /// `tryAcquire`.
    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>>;

    /// `succeed`.
    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>>;

    /// `fail`.
    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>>;

    /// Renews leases (D4).
    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>>;

    /// `succeed`, and where that is accepted `tryAcquire` of the head of the backlog, or else of the offset named.
    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>>;

    /// An operator's skip (D7).
    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>>;

    /// Changes settings; a domain that is not there yet is made.
    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo>;

    /// Tells leases that ran out, the longest ago first, at most `max` (L7, D4). The leases stay.
    async fn domain_recover(&self, max: u32) -> Result<Recovered>;

    /// One domain, if it was ever used.
    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>>;

    /// Domains by name, from after `after`, only those in `state` if one is named.
    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>>;

    /// The events of a domain, oldest first (L8).
    async fn domain_events(&self, name: &str) -> Result<Vec<Event>>;
}
