//! Domains: each verb is one statement, one round trip and one transaction, for as many domains as are asked for.

mod claim;
mod finish;
mod operate;
mod read;
mod row;

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
        claim::acquire(self, acquires).await
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        finish::succeed(self, writes).await
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        finish::fail(self, writes).await
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        finish::heartbeat(self, beats).await
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        finish::advance(self, advances).await
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        operate::skip(self, skips).await
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        operate::change(self, name, change).await
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        operate::recover(self, max).await
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        read::domain(self, name).await
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        read::domains(self, after, state, limit).await
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        read::events(self, name).await
    }
}
