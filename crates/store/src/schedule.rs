//! Schedules, as a backend keeps them.

use crate::Result;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::schedule::{Due, Fire, Fired, Firing, Put, Refused, Schedule};

/// Jobs that are enqueued by the clock. Any number of schedulers may look and fire at once, on any number of machines.
#[async_trait]
pub trait ScheduleStore: Send + Sync + 'static {
    /// Puts a definition in place, over the revision it was made from (T4). What is there already stays as it is.
    async fn put_schedule(&self, put: Put) -> Result<std::result::Result<Schedule, Refused>>;

    /// One schedule.
    async fn schedule(&self, name: &str) -> Result<Option<Schedule>>;

    /// Schedules by name, from after `after`.
    async fn schedules(&self, after: Option<&str>, limit: u32) -> Result<Page<Schedule>>;

    /// Removes a schedule and its firings, not the jobs it has enqueued; whether it was there.
    async fn remove_schedule(&self, name: &str) -> Result<bool>;

    /// The last firings of a schedule, newest first, from below `before`.
    async fn firings(&self, name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>>;

    /// At most `limit` schedules that are due by the store's clock (T2), the longest first.
    async fn due_schedules(&self, limit: u32) -> Result<Due>;

    /// Deals with slots that are due, unless another has since they were looked at (T1). The jobs, the row of each slot
    /// and the move of the cursor are one transaction.
    async fn fire(&self, fire: Fire) -> Result<std::result::Result<Fired, Refused>>;
}
