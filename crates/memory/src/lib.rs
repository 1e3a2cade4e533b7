//! Tenure in the memory of one process: [`tenure_core`] behind a lock.
//!
//! Fast, and as exact as the rules themselves, for tests and for work that may die with its process. Nothing here
//! survives a restart, and tokens live as long as the process (L2).

mod domain;
mod pipeline;
mod schedule;
mod sync;

use async_trait::async_trait;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_core::Page;
use tenure_core::changes::{Changed, Changes, Difference, Face, Subject};
use tenure_core::queue::{
    Beat, Beaten, Change, Claim, Claims, Conflict, Ended, Ending, Enqueued, Event, Filter, Job, JobId, NewJob,
    Operation, Pruned, QueueInfo, Queues, Recovered, Refusal, Situation, Start, Status, Worker,
};
use tenure_core::{Actor, Epoch, Time};
use tenure_store::{Clock, Fenced, Finding, Level, Place, QueueStore, Result, Signals, Store, StoreError, Upkeep};

pub use domain::MemoryDomains;

/// A store that lives as long as its handles: a clone is the same store.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    queues: Arc<Mutex<Queues>>,
    domains: Arc<MemoryDomains>,
    syncs: Arc<Mutex<tenure_core::sync::Syncs>>,
    schedules: Arc<schedule::Shelf>,
    pipelines: Arc<Mutex<tenure_core::pipeline::Pipelines>>,
    /// Locked last, by whoever holds what was changed.
    changes: Arc<Mutex<Changes>>,
    clock: Clock,
    signals: Signals,
    /// Who acts through this handle.
    actor: Actor,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// An empty store on a clock of the caller's.
    #[must_use]
    pub fn with_clock(clock: Clock) -> MemoryStore {
        MemoryStore { domains: Arc::new(MemoryDomains::new(clock.clone())), clock, ..MemoryStore::default() }
    }

    /// The domains, for callers in this process who want no more than a lock between them and an answer.
    #[must_use]
    pub fn domain_table(&self) -> &MemoryDomains {
        &self.domains
    }

    /// The queues, and the instant at which they were locked (L5: read after the lock).
    fn locked(&self) -> (MutexGuard<'_, Queues>, Time) {
        // A step of core either happens or panics before it changes anything a reader relies on.
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        (queues, self.clock.now())
    }

    fn noted(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl QueueStore for MemoryStore {
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
        let mut rung: Vec<String> = jobs.iter().map(|job| job.queue.clone()).collect();
        rung.sort();
        rung.dedup();
        let enqueued = {
            let (mut queues, now) = self.locked();
            queues.enqueue(jobs, now)
        };
        rung.iter().for_each(|queue| self.signals.ring(queue));
        Ok(enqueued)
    }

    async fn claim(&self, claim: Claim) -> Result<Claims> {
        let (mut queues, now) = self.locked();
        Ok(queues.claim(&claim, now))
    }

    async fn start(&self, start: Start) -> Result<Fenced<()>> {
        let (mut queues, now) = self.locked();
        Ok(queues.start(&start, now))
    }

    async fn heartbeat(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        let (mut queues, now) = self.locked();
        Ok(beats.iter().map(|beat| queues.heartbeat(beat, now)).collect())
    }

    async fn finish(&self, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>> {
        let ended: Vec<Fenced<Ended>> = {
            let (mut queues, now) = self.locked();
            endings.iter().map(|ending| queues.finish(ending, now)).collect()
        };
        // A job may wait again, a slot may be free, a lane may go on: whoever waits looks for himself.
        if ended.iter().any(|ended| ended.is_ok_and(|ended| !ended.already)) {
            self.signals.ring_all();
        }
        Ok(ended)
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        Ok(self.locked().0.job(id))
    }

    async fn events(&self, id: JobId) -> Result<Vec<Event>> {
        Ok(self.locked().0.events(id))
    }

    async fn jobs(&self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>> {
        Ok(self.locked().0.jobs(&filter, before, limit as usize))
    }

    async fn queue(&self, name: &str) -> Result<Option<QueueInfo>> {
        Ok(self.locked().0.queue(name))
    }

    async fn queues(&self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
        Ok(self.locked().0.queues(after, limit as usize))
    }

    async fn change(&self, name: &str, change: Change) -> Result<QueueInfo> {
        let info = {
            let (mut queues, now) = self.locked();
            let before = queues.queue(name).map(|queue| queue.settings).unwrap_or_default();
            let info = queues.change(name, &change, now);
            let differences = before.differences(&info.settings);
            self.noted().changed(Subject::new(Face::Queue, name), &self.actor, differences, now);
            info
        };
        self.signals.ring(name);
        Ok(info)
    }

    async fn limit(&self) -> Result<Option<u32>> {
        Ok(self.locked().0.limit())
    }

    async fn set_limit(&self, max_running: Option<u32>) -> Result<()> {
        {
            let (mut queues, now) = self.locked();
            let difference = Difference::limit(queues.limit(), max_running);
            queues.set_limit(max_running);
            self.noted().changed(Subject::store(), &self.actor, difference.into_iter().collect(), now);
        }
        self.signals.ring_all();
        Ok(())
    }

    async fn operate(&self, operations: Vec<Operation>) -> Result<Vec<std::result::Result<Status, Refusal>>> {
        let answers = {
            let (mut queues, now) = self.locked();
            operations.iter().map(|operation| queues.operate(operation, &self.actor, now)).collect()
        };
        self.signals.ring_all();
        Ok(answers)
    }

    async fn workers(&self, after: Option<&str>, limit: u32) -> Result<Page<Worker>> {
        Ok(self.locked().0.workers(after, limit as usize))
    }

    async fn situation(&self, id: JobId) -> Result<Option<Situation>> {
        let (queues, now) = self.locked();
        Ok(queues.situation(id, now))
    }

    fn signals(&self) -> &Signals {
        &self.signals
    }
}

#[async_trait]
impl Upkeep for MemoryStore {
    async fn now(&self) -> Result<Time> {
        Ok(self.clock.now())
    }

    async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        let recovered = {
            let (mut queues, now) = self.locked();
            queues.recover(leases_max as usize, now)
        };
        if recovered.requeued > 0 {
            self.signals.ring_all();
        }
        Ok(recovered)
    }

    async fn prune(&self, max: u32) -> Result<Pruned> {
        let (mut queues, now) = self.locked();
        self.noted().prune(max as usize, now);
        Ok(queues.prune(max as usize, now))
    }

    async fn epoch(&self) -> Result<Epoch> {
        Ok(self.locked().0.epoch())
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        let (mut queues, now) = self.locked();
        let before = queues.epoch();
        let raised = queues.new_epoch(now).ok_or_else(StoreError::tokens_spent)?;
        let difference = Difference::epoch(before.count, raised.count);
        self.noted().changed(Subject::store(), &self.actor, difference.into_iter().collect(), now);
        self.domains.set_base(raised.base);
        Ok(raised)
    }

    fn acting_as(&self, actor: Actor) -> Arc<dyn Store> {
        Arc::new(MemoryStore { actor, ..self.clone() })
    }

    async fn changes(&self, subject: Subject) -> Result<Vec<Changed>> {
        Ok(self.noted().of(&subject))
    }

    fn place(&self) -> Place {
        Place::Memory
    }

    async fn describe(&self) -> Result<String> {
        Ok("memory: lives and dies with this process".to_owned())
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    async fn flush(&self) -> Result<()> {
        Ok(())
    }

    async fn examine(&self) -> Result<Vec<Finding>> {
        let advice = "use sqlite:FILE or postgres://… for work that must survive";
        Ok(vec![Finding::advise("durability", Level::Warning, self.describe().await?, advice)])
    }
}
