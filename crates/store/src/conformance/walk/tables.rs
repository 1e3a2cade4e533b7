//! Which of the store's ids and tokens are which of core's.
//!
//! Always true: both tables keep order. Ids and tokens only grow on either side (L2, X), so an answer that breaks the
//! order is wrong even if it is consistent.

use super::ledger::Wrong;
use std::collections::BTreeMap;
use tenure_core::Token;
use tenure_core::queue::{Event, Job, JobId, Situation};

#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The store's id and core's, in the order of enqueueing.
    pub(super) jobs: Vec<(JobId, JobId)>,
    by_store: BTreeMap<JobId, usize>,
    by_core: BTreeMap<JobId, usize>,
    tokens: BTreeMap<Token, Token>,
}

impl Tables {
    pub(super) fn enqueued(&mut self, store: JobId, core: JobId) -> Result<(), Wrong> {
        if self.jobs.last().is_some_and(|last| last.0 >= store) {
            return Err(format!("X: id {store} after {:?}", self.jobs.last().map(|last| last.0)));
        }
        self.by_store.insert(store, self.jobs.len());
        self.by_core.insert(core, self.jobs.len());
        self.jobs.push((store, core));
        Ok(())
    }

    /// Notes a token of a claim, the same for both or new for both.
    pub(super) fn granted(&mut self, store: Token, core: Token) -> Result<(), Wrong> {
        let known = self.tokens.get(&store).copied();
        let last = self.tokens.last_key_value().map(|(store, core)| (*store, *core));
        match known {
            Some(known) if known == core => Ok(()),
            None if last.is_none_or(|last| store > last.0 && core > last.1) => {
                self.tokens.insert(store, core);
                Ok(())
            }
            _ => Err(format!("L2: token {store} stands for {known:?} and for {core}, after {last:?}")),
        }
    }

    pub(super) fn index(&self, store: JobId) -> Option<usize> {
        self.by_store.get(&store).copied()
    }

    pub(super) fn core_index(&self, core: JobId) -> Option<usize> {
        self.by_core.get(&core).copied()
    }

    /// What was never drawn stands for itself.
    pub(super) fn to_core(&self, store: JobId) -> JobId {
        self.index(store).map_or(store, |index| self.jobs[index].1)
    }

    pub(super) fn token_to_core(&self, store: Token) -> Token {
        self.tokens.get(&store).copied().unwrap_or(store)
    }

    pub(super) fn job_to_core(&self, mut job: Job) -> Job {
        job.id = self.to_core(job.id);
        job.token = job.token.map(|token| self.token_to_core(token));
        if let Some(lease) = &mut job.lease {
            lease.token = self.token_to_core(lease.token);
        }
        for attempt in &mut job.attempts {
            attempt.token = self.token_to_core(attempt.token);
        }
        job
    }

    pub(super) fn event_to_core(&self, mut event: Event) -> Event {
        event.job = self.to_core(event.job);
        event.token = event.token.map(|token| self.token_to_core(token));
        event
    }

    pub(super) fn situation_to_core(&self, of: Situation) -> Situation {
        Situation {
            job: self.job_to_core(of.job),
            ahead: of.ahead.map(|ahead| Box::new(self.job_to_core(*ahead))),
            lane_blocked_by: of.lane_blocked_by.map(|id| self.to_core(id)),
            ..of
        }
    }
}
