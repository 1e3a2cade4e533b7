//! Looking: one schedule, lists, firings, and what is due.

use crate::PostgresStore;
use crate::value::{At, at, at_opt, backoff, get, page, some_word};
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::{JobId, NewJob};
use tenure_core::schedule::{CatchUp, Definition, Due, DueSchedule, Firing, Schedule};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

pub(super) async fn schedule(store: &PostgresStore, name: &str) -> Result<Option<Schedule>> {
    let page = list(store, Some(name), None, 1).await?;
    Ok(page.items.into_iter().next())
}

pub(super) async fn schedules(store: &PostgresStore, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
    list(store, None, after, limit).await
}

async fn list(store: &PostgresStore, only: Option<&str>, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
    // One more than asked for tells whether there are more.
    let ask = i64::from(limit) + 1;
    let sql = include_str!("../../queries/schedule/schedules.sql");
    let rows = store.database.read(sql, &[&only, &after, &ask]).await?;
    page(&rows, limit, read)
}

pub(super) async fn firings(
    store: &PostgresStore,
    name: &str,
    before: Option<Time>,
    limit: u32,
) -> Result<Page<Firing>> {
    let (before, ask) = (before.map(At), i64::from(limit) + 1);
    let sql = include_str!("../../queries/schedule/firings.sql");
    let rows = store.database.read(sql, &[&name, &before, &ask]).await?;
    page(&rows, limit, |row| {
        Ok(Firing { slot: at(row, "slot")?, fired_at: at(row, "fired_at")?, job: JobId(get(row, "job")?) })
    })
}

pub(super) async fn due(store: &PostgresStore, limit: u32) -> Result<Due> {
    let ask = i64::from(limit);
    let sql = include_str!("../../queries/schedule/due.sql");
    let rows = store.database.read(sql, &[&ask]).await?;
    let first = rows.first().ok_or_else(|| StoreError::broken("the clock was not told"))?;
    let mut schedules = Vec::new();
    for row in &rows {
        let Some(next_at) = at_opt(row, "next_at")? else { continue };
        schedules.push(DueSchedule {
            name: get(row, "name")?,
            revision: get(row, "revision")?,
            cron: get(row, "cron")?,
            zone: get(row, "zone")?,
            catch_up: catch_up(row)?,
            next_at,
            payload_bytes: get::<i64>(row, "payload_bytes")? as u64,
        });
    }
    Ok(Due { now: at(first, "now")?, schedules, next_at: at_opt(first, "next_of_all")? })
}

fn catch_up(row: &Row) -> Result<CatchUp> {
    some_word(row, "catch_up", CatchUp::parse)
}

fn read(row: &Row) -> Result<Schedule> {
    let last = match (at_opt(row, "last_slot")?, at_opt(row, "last_fired_at")?, get::<Option<i64>>(row, "last_job")?) {
        (Some(slot), Some(fired_at), Some(job)) => Some(Firing { slot, fired_at, job: JobId(job) }),
        _ => None,
    };
    let mut job =
        NewJob::new(get::<String>(row, "queue")?, get::<String>(row, "kind")?, get::<String>(row, "payload")?);
    job.priority = get(row, "priority")?;
    job.attempts_max = get::<i32>(row, "attempts_max")? as u32;
    job.timeout_ms = get::<Option<i64>>(row, "timeout_ms")?.map(|ms| ms as u64);
    job.backoff = backoff(row)?;
    job.ordering_key = get(row, "ordering_key")?;
    job.limit_key = get(row, "limit_key")?;
    Ok(Schedule {
        name: get(row, "name")?,
        definition: Definition {
            cron: get(row, "cron")?,
            zone: get(row, "zone")?,
            catch_up: catch_up(row)?,
            paused: get(row, "paused")?,
            job,
        },
        revision: get(row, "revision")?,
        created_at: at(row, "created_at")?,
        updated_at: at(row, "updated_at")?,
        next_at: at_opt(row, "next_at")?,
        last,
        fired: get::<i64>(row, "fired")? as u64,
        missed: get::<i64>(row, "missed")? as u64,
        missed_at: at_opt(row, "missed_at")?,
    })
}
