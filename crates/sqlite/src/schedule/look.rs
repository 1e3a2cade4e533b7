//! Looking: one schedule, lists, firings, and what is due.

use crate::fault::Done;
use crate::inbox::Step;
use crate::queue::row;
use crate::sql;
use rusqlite::{OptionalExtension, Row};
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::{JobId, NewJob};
use tenure_core::schedule::{CatchUp, Definition, Due, DueSchedule, Firing, Schedule};

/// One schedule.
pub(super) fn schedule(step: &Step<'_>, name: &str) -> Done<Option<Schedule>> {
    Ok(step.conn.prepare_cached(sql::SCHEDULE)?.query_row([name], read).optional()?)
}

/// Schedules by name, from after `after`.
pub(super) fn schedules(step: &Step<'_>, after: Option<&str>, limit: u32) -> Done<Page<Schedule>> {
    let mut select = step.conn.prepare_cached(sql::SCHEDULES)?;
    let found = select.query_map((after, limit.saturating_add(1)), read)?;
    page(found.collect::<rusqlite::Result<_>>()?, limit)
}

/// The last firings of a schedule, newest first, from below `before`.
pub(super) fn firings(step: &Step<'_>, name: &str, before: Option<Time>, limit: u32) -> Done<Page<Firing>> {
    let mut select = step.conn.prepare_cached(sql::SCHEDULE_FIRINGS)?;
    let below = before.map_or(i64::MAX, |before| before.0);
    let found = select.query_map((name, below, limit.saturating_add(1)), |row| {
        Ok(Firing { slot: row::time(row, 0)?, fired_at: row::time(row, 1)?, job: JobId(row.get(2)?) })
    })?;
    page(found.collect::<rusqlite::Result<_>>()?, limit)
}

/// At most `limit` schedules that are due, and when to look again.
pub(super) fn due(step: &Step<'_>, limit: u32) -> Done<Due> {
    let mut select = step.conn.prepare_cached(sql::SCHEDULE_DUE)?;
    let found = select.query_map((step.now.0, limit), |row| {
        Ok(DueSchedule {
            name: row.get(0)?,
            revision: row.get(1)?,
            cron: row.get(2)?,
            zone: row.get(3)?,
            catch_up: row::word(row, 4, CatchUp::parse)?,
            next_at: row::time(row, 5)?,
            payload_bytes: row.get(6)?,
        })
    })?;
    let schedules = found.collect::<rusqlite::Result<_>>()?;
    let mut next = step.conn.prepare_cached(sql::SCHEDULE_NEXT)?;
    let next_at = next.query_row([step.now.0], |row| row::time(row, 0)).optional()?;
    Ok(Due { now: step.now, schedules, next_at })
}

/// One more than asked for was read: it tells whether there are more.
fn page<T>(mut items: Vec<T>, limit: u32) -> Done<Page<T>> {
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    Ok(Page { items, more })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    let last = match (row::time_opt(row, 9)?, row::time_opt(row, 10)?, row.get::<_, Option<i64>>(11)?) {
        (Some(slot), Some(fired_at), Some(job)) => Some(Firing { slot, fired_at, job: JobId(job) }),
        _ => None,
    };
    let mut job = NewJob::new(row.get::<_, String>(15)?, row.get::<_, String>(16)?, row.get::<_, String>(17)?);
    job.priority = row.get(18)?;
    job.attempts_max = row.get(19)?;
    job.timeout_ms = row.get(20)?;
    job.ordering_key = row.get(21)?;
    job.limit_key = row.get(22)?;
    job.backoff = row::backoff(row, 23)?;
    Ok(Schedule {
        name: row.get(0)?,
        definition: Definition {
            cron: row.get(2)?,
            zone: row.get(3)?,
            catch_up: row::word(row, 4, CatchUp::parse)?,
            paused: row.get(5)?,
            job,
        },
        revision: row.get(1)?,
        created_at: row::time(row, 6)?,
        updated_at: row::time(row, 7)?,
        next_at: row::time_opt(row, 8)?,
        last,
        fired: row.get(12)?,
        missed: row.get(13)?,
        missed_at: row::time_opt(row, 14)?,
    })
}
