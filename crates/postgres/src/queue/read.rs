//! Looking: one job, its events, lists and counts.

use super::row;
use crate::PostgresStore;
use crate::value::{get, page};
use tenure_core::Page;
use tenure_core::bounds::COUNT_MAX;
use tenure_core::queue::{Event, Filter, Job, JobId, QueueInfo, Status};
use tenure_store::Result;

pub(super) async fn job(store: &PostgresStore, id: JobId) -> Result<Option<Job>> {
    let rows = store.database.read("select * from tenure.show_job($1)", &[&id.0]).await?;
    rows.first().map(row::job).transpose()
}

pub(super) async fn events(store: &PostgresStore, id: JobId) -> Result<Vec<Event>> {
    let rows = store.database.read(include_str!("../../queries/queue/events.sql"), &[&id.0]).await?;
    rows.iter().map(row::event).collect()
}

pub(super) async fn jobs(
    store: &PostgresStore,
    filter: Filter,
    before: Option<JobId>,
    limit: u32,
) -> Result<Page<Job>> {
    let status = filter.status.map(Status::as_str);
    let before = before.map_or(i64::MAX, |id| id.0);
    // One more than asked for tells whether there are more.
    let ask = i64::from(limit) + 1;
    let rows = store
        .database
        .read(include_str!("../../queries/queue/jobs.sql"), &[&filter.queue, &status, &filter.kind, &before, &ask])
        .await?;
    let items = rows.iter().take(limit as usize).map(row::job).collect::<Result<Vec<_>>>()?;
    let found = rows.first().map_or(Ok(0), |row| get::<i64>(row, "found"))?;
    Ok(Page { more: found > items.len() as i64, items })
}

pub(super) async fn queue(store: &PostgresStore, name: &str) -> Result<Option<QueueInfo>> {
    let page = list(store, Some(name), None, 1).await?;
    Ok(page.items.into_iter().next())
}

pub(super) async fn queues(store: &PostgresStore, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
    list(store, None, after, limit).await
}

async fn list(store: &PostgresStore, only: Option<&str>, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
    let (ask, count_to) = (i64::from(limit) + 1, COUNT_MAX as i64 + 1);
    let rows = store
        .database
        .read("select * from tenure.list_queues($1, $2, $3, $4)", &[&only, &after, &ask, &count_to])
        .await?;
    page(&rows, limit, row::queue)
}
