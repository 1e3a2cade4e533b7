//! The verbs of schedules, one file each: facts are read, [`tenure_core::schedule::rules`] decides, and the decision is
//! written under its guard, all in the transaction that was begun before.

mod fire;
mod put;
mod read;

use crate::SqliteStore;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::schedule::{Due, Fire, Fired, Firing, Put, Refused, Schedule};
use tenure_store::{Result, ScheduleStore};

#[async_trait]
impl ScheduleStore for SqliteStore {
    async fn put_schedule(&self, put: Put) -> Result<std::result::Result<Schedule, Refused>> {
        let by = self.actor.clone();
        self.write(1, move |step| put::put(step, &put, &by)).await
    }

    async fn schedule(&self, name: &str) -> Result<Option<Schedule>> {
        let name = name.to_owned();
        self.read(move |step| read::schedule(step, &name)).await
    }

    async fn schedules(&self, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
        let after = after.map(str::to_owned);
        self.read(move |step| read::schedules(step, after.as_deref(), limit)).await
    }

    async fn remove_schedule(&self, name: &str) -> Result<bool> {
        let (name, by) = (name.to_owned(), self.actor.clone());
        self.write(1, move |step| put::remove(step, &name, &by)).await
    }

    async fn firings(&self, name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>> {
        let name = name.to_owned();
        self.read(move |step| read::firings(step, &name, before, limit)).await
    }

    async fn due_schedules(&self, limit: u32) -> Result<Due> {
        self.read(move |step| read::due(step, limit)).await
    }

    async fn fire(&self, fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
        self.write(fire.slots.len().max(1), move |step| fire::fire(step, &fire)).await
    }
}
