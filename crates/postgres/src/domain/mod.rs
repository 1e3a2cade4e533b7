//! Domains: each verb is one statement, one round trip and one transaction, for as many domains as are asked for.

mod look;
mod verbs;

use crate::PostgresStore;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Recovered, Skip,
    Skipped, State, Succeeded,
};
use tenure_store::{DomainStore, Result};

#[async_trait]
impl DomainStore for PostgresStore {
    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        verbs::acquire(self, acquires).await
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        verbs::succeed(self, writes).await
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        verbs::fail(self, writes).await
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        verbs::heartbeat(self, beats).await
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        verbs::advance(self, advances).await
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        verbs::skip(self, skips).await
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        verbs::change(self, name, change).await
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        verbs::recover(self, max).await
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        look::domain(self, name).await
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        look::domains(self, after, state, limit).await
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        look::events(self, name).await
    }
}
