//! Schedules in memory: core behind a lock of its own, taken before the queues'.

use crate::MemoryStore;
use async_trait::async_trait;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::changes::{Face, Subject, What};
use tenure_core::schedule::{Due, Fire, Fired, Firing, Put, Refused, Schedule, Schedules};
use tenure_store::{Result, ScheduleStore};

/// All schedules of the store.
pub(crate) type Shelf = Mutex<Schedules>;

impl MemoryStore {
    /// The schedules, and the instant at which they were locked.
    fn scheduled(&self) -> (MutexGuard<'_, Schedules>, Time) {
        let schedules = self.schedules.lock().unwrap_or_else(PoisonError::into_inner);
        (schedules, self.clock.now())
    }
}

#[async_trait]
impl ScheduleStore for MemoryStore {
    async fn put_schedule(&self, put: Put) -> Result<std::result::Result<Schedule, Refused>> {
        let (mut schedules, now) = self.scheduled();
        let before = schedules.schedule(&put.name);
        let answer = schedules.put(put, now);
        if let Ok(after) = &answer {
            let subject = Subject::new(Face::Schedule, &after.name);
            match before {
                None => self.noted().add(&subject, &self.actor, What::Created, None, now),
                Some(before) => {
                    let differences = before.definition.differences(&after.definition);
                    self.noted().changed(subject, &self.actor, differences, now);
                }
            }
        }
        Ok(answer)
    }

    async fn schedule(&self, name: &str) -> Result<Option<Schedule>> {
        Ok(self.scheduled().0.schedule(name))
    }

    async fn schedules(&self, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
        Ok(self.scheduled().0.schedules(after, limit as usize))
    }

    async fn remove_schedule(&self, name: &str) -> Result<bool> {
        let (mut schedules, now) = self.scheduled();
        let there = schedules.remove(name);
        if there {
            let subject = Subject::new(Face::Schedule, name);
            self.noted().add(&subject, &self.actor, What::Removed, None, now);
        }
        Ok(there)
    }

    async fn firings(&self, name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>> {
        Ok(self.scheduled().0.firings(name, before, limit as usize))
    }

    async fn due_schedules(&self, limit: u32) -> Result<Due> {
        let (schedules, now) = self.scheduled();
        Ok(schedules.due(limit as usize, now))
    }

    async fn fire(&self, fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
        let (fired, queue) = {
            let (mut schedules, _) = self.scheduled();
            let (mut queues, now) = self.locked();
            let fired = schedules.fire(&fire, &mut queues, now);
            (fired, schedules.schedule(&fire.name).map(|schedule| schedule.definition.job.queue))
        };
        if let Some(queue) = queue.filter(|_| fired.as_ref().is_ok_and(|fired| !fired.jobs.is_empty())) {
            self.signals.ring(&queue);
        }
        Ok(fired)
    }
}
