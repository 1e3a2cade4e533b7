//! The work queue's verbs, each one call of its function in the database.

mod claim;
mod cursor;
pub(crate) mod enqueue;
pub(crate) mod finish;
mod heartbeat;
mod operate;
mod read;
mod row;
mod worker;

pub(crate) use cursor::Cursors;
pub(crate) use enqueue::EVERY_QUEUE;

use crate::PostgresStore;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::queue::{
    Beat, Beaten, Change, Claim, Claims, Conflict, Ended, Ending, Enqueued, Event, Filter, Job, JobId, NewJob,
    Operation, QueueInfo, Refusal, Situation, Start, Status, Worker,
};
use tenure_store::{Fenced, QueueStore, Result, Signals};

#[async_trait]
impl QueueStore for PostgresStore {
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
        enqueue::enqueue(self, jobs).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claims> {
        claim::claim(self, claim).await
    }

    async fn start(&self, start: Start) -> Result<Fenced<()>> {
        heartbeat::start(self, start).await
    }

    async fn heartbeat(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        heartbeat::heartbeat(self, beats).await
    }

    async fn finish(&self, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>> {
        finish::finish(self, endings).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        read::job(self, id).await
    }

    async fn events(&self, id: JobId) -> Result<Vec<Event>> {
        read::events(self, id).await
    }

    async fn jobs(&self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>> {
        read::jobs(self, filter, before, limit).await
    }

    async fn queue(&self, name: &str) -> Result<Option<QueueInfo>> {
        read::queue(self, name).await
    }

    async fn queues(&self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
        read::queues(self, after, limit).await
    }

    async fn change(&self, name: &str, change: Change) -> Result<QueueInfo> {
        operate::change(self, name, change).await
    }

    async fn limit(&self) -> Result<Option<u32>> {
        operate::limit(self).await
    }

    async fn set_limit(&self, max_running: Option<u32>) -> Result<()> {
        operate::set_limit(self, max_running).await
    }

    async fn operate(&self, operations: Vec<Operation>) -> Result<Vec<std::result::Result<Status, Refusal>>> {
        operate::operate(self, operations).await
    }

    async fn workers(&self, after: Option<&str>, limit: u32) -> Result<Page<Worker>> {
        worker::workers(self, after, limit).await
    }

    async fn situation(&self, id: JobId) -> Result<Option<Situation>> {
        operate::situation(self, id).await
    }

    fn signals(&self) -> &Signals {
        &self.signals
    }
}
