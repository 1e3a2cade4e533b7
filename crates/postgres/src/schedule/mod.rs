//! Schedules: each write is one call of its function in the database.

mod fire;
mod put;
mod read;

use crate::PostgresStore;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::schedule::{Due, Fire, Fired, Firing, Put, Refused, Schedule};
use tenure_store::{Result, ScheduleStore};

#[async_trait]
impl ScheduleStore for PostgresStore {
    async fn put_schedule(&self, put: Put) -> Result<std::result::Result<Schedule, Refused>> {
        put::put(self, put).await
    }

    async fn schedule(&self, name: &str) -> Result<Option<Schedule>> {
        read::schedule(self, name).await
    }

    async fn schedules(&self, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
        read::schedules(self, after, limit).await
    }

    async fn remove_schedule(&self, name: &str) -> Result<bool> {
        put::remove(self, name).await
    }

    async fn firings(&self, name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>> {
        read::firings(self, name, before, limit).await
    }

    async fn due_schedules(&self, limit: u32) -> Result<Due> {
        read::due(self, limit).await
    }

    async fn fire(&self, fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
        fire::fire(self, fire).await
    }
}
