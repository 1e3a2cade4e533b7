//! Looking: one schedule, lists, firings, and what is due.

use crate::column::{self, all, first};
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::Row;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::{JobId, NewJob};
use tenure_core::schedule::{CatchUp, Definition, Due, DueSchedule, Firing, Schedule};

/// One schedule.
pub(super) fn schedule(step: &Step<'_>, name: &str) -> Done<Option<Schedule>> {
    first(step.conn, sql::SCHEDULE, [name], read)
}

/// Schedules by name, from after `after`.
pub(super) fn schedules(step: &Step<'_>, after: Option<&str>, limit: u32) -> Done<Page<Schedule>> {
    Ok(Page::cut(all(step.conn, sql::SCHEDULES, (after, limit.saturating_add(1)), read)?, limit as usize))
}

/// The last firings of a schedule, newest first, from below `before`.
pub(super) fn firings(step: &Step<'_>, name: &str, before: Option<Time>, limit: u32) -> Done<Page<Firing>> {
    let below = before.map_or(i64::MAX, |before| before.0);
    let found = all(step.conn, sql::SCHEDULE_FIRINGS, (name, below, limit.saturating_add(1)), |row| {
        Ok(Firing { slot: column::time(row, 0)?, fired_at: column::time(row, 1)?, job: JobId(row.get(2)?) })
    })?;
    Ok(Page::cut(found, limit as usize))
}

/// At most `limit` schedules that are due, and when to look again.
pub(super) fn due(step: &Step<'_>, limit: u32) -> Done<Due> {
    let schedules = all(step.conn, sql::SCHEDULE_DUE, (step.now.0, limit), |row| {
        Ok(DueSchedule {
            name: row.get(0)?,
            revision: row.get(1)?,
            cron: row.get(2)?,
            zone: row.get(3)?,
            catch_up: column::word(row, 4, CatchUp::parse)?,
            next_at: column::time(row, 5)?,
            payload_bytes: row.get(6)?,
        })
    })?;
    let next_at = first(step.conn, sql::SCHEDULE_NEXT, [step.now.0], |row| column::time(row, 0))?;
    Ok(Due { now: step.now, schedules, next_at })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    let last = match (column::time_opt(row, 9)?, column::time_opt(row, 10)?, row.get::<_, Option<i64>>(11)?) {
        (Some(slot), Some(fired_at), Some(job)) => Some(Firing { slot, fired_at, job: JobId(job) }),
        _ => None,
    };
    let mut job = NewJob::new(row.get::<_, String>(15)?, row.get::<_, String>(16)?, row.get::<_, String>(17)?);
    job.priority = row.get(18)?;
    job.attempts_max = row.get(19)?;
    job.timeout_ms = row.get(20)?;
    job.ordering_key = row.get(21)?;
    job.limit_key = row.get(22)?;
    job.backoff = column::backoff(row, 23)?;
    Ok(Schedule {
        name: row.get(0)?,
        definition: Definition {
            cron: row.get(2)?,
            zone: row.get(3)?,
            catch_up: column::word(row, 4, CatchUp::parse)?,
            paused: row.get(5)?,
            job,
        },
        revision: row.get(1)?,
        created_at: column::time(row, 6)?,
        updated_at: column::time(row, 7)?,
        next_at: column::time_opt(row, 8)?,
        last,
        fired: row.get(12)?,
        missed: row.get(13)?,
        missed_at: column::time_opt(row, 14)?,
    })
}
