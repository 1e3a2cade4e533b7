//! The store's verbs, as errands of the thread that writes or of one that reads.

use super::look;
use crate::SqliteStore;
use crate::inbox::Lane;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::domain::rules;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Recovered, Skip,
    Skipped, State, Succeeded,
};
use tenure_store::{DomainStore, Result};

#[async_trait]
impl DomainStore for SqliteStore {
    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        self.write(acquires.len(), move |step| super::acquire(step, &acquires)).await
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        self.write(writes.len(), move |step| super::held(step, &writes, rules::succeed)).await
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        self.write(writes.len(), move |step| super::held(step, &writes, rules::fail)).await
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        self.writes.ask(Lane::Urgent, beats.len(), move |step| super::held(step, &beats, rules::heartbeat)).await
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        self.write(advances.len(), move |step| super::advance(step, &advances)).await
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        let by = self.actor.clone();
        self.write(skips.len(), move |step| super::skip(step, &skips, &by)).await
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        let (name, by) = (name.to_owned(), self.actor.clone());
        self.write(1, move |step| super::change(step, &name, &change, &by)).await
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        self.write(max as usize, move |step| super::recover(step, max)).await
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        let name = name.to_owned();
        self.read(move |step| look::domain(step, &name)).await
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        let after = after.map(str::to_owned);
        self.read(move |step| look::domains(step, after.as_deref(), state, limit)).await
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        let name = name.to_owned();
        self.read(move |step| look::events(step, &name)).await
    }
}
