//! Domains, passed on unchanged: their mistakes are planted in `tests/domain_planted`.

use super::wrong::Wrong;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Recovered, Skip,
    Skipped, State, Succeeded,
};
use tenure_store::{DomainStore, Result};

#[async_trait]
impl DomainStore for Wrong {
    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        self.right.domain_acquire(acquires).await
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        self.right.domain_succeed(writes).await
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        self.right.domain_fail(writes).await
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        self.right.domain_heartbeat(beats).await
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        self.right.domain_advance(advances).await
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        self.right.domain_skip(skips).await
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        self.right.domain_change(name, change).await
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        self.right.domain_recover(max).await
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        self.right.domain(name).await
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        self.right.domains(after, state, limit).await
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        self.right.domain_events(name).await
    }
}
