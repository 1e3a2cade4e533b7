//! The store's verbs, item by item: each domain has a lock of its own, so there is nothing to gain from a batch but
//! fewer calls.

use crate::MemoryStore;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::changes::{Face, Subject};
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Recovered, Skip,
    Skipped, State, Succeeded,
};
use tenure_store::{DomainStore, Result};

#[async_trait]
impl DomainStore for MemoryStore {
    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        Ok(acquires.iter().map(|acquire| self.domains.acquire(acquire)).collect())
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        Ok(writes.iter().map(|held| self.domains.succeed(held)).collect())
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        Ok(writes.iter().map(|held| self.domains.fail(held)).collect())
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        Ok(beats.iter().map(|held| self.domains.heartbeat(held)).collect())
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        Ok(advances.iter().map(|advance| self.domains.advance(advance)).collect())
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        Ok(skips.iter().map(|skip| self.domains.skip(skip, &self.actor)).collect())
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        let subject = Subject::new(Face::Domain, name);
        let note = |differences, now| self.noted().changed(subject, &self.actor, differences, now);
        Ok(self.domains.change_and(name, &change, note))
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        Ok(self.domains.recover(max))
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        Ok(self.domains.domain(name))
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        Ok(self.domains.domains(after, state, limit))
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        Ok(self.domains.events(name))
    }
}
