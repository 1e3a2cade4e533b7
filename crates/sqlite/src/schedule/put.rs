//! A definition put in place over the revision it was made from (T4), or removed.

use super::read;
use crate::changes;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::Actor;
use tenure_core::changes::{Face, Subject, What};
use tenure_core::schedule::{Put, Refused, Schedule, rules};

/// Puts a definition in place.
pub(super) fn put(step: &Step<'_>, put: &Put, by: &Actor) -> Done<Result<Schedule, Refused>> {
    let found = read::schedule(step, &put.name)?;
    if found.as_ref().map(|schedule| schedule.revision) != put.revision {
        return Ok(Err(Refused::Changed));
    }
    let before = found.as_ref().map(|found| found.definition.clone());
    let (write, next_at) = match found {
        None => (sql::SCHEDULE_CREATE, put.next_at),
        Some(same) if same.definition == put.definition => return Ok(Ok(same)),
        Some(found) if rules::keeps_cursor(&found.definition, &put.definition) => (sql::SCHEDULE_CHANGE, found.next_at),
        Some(found) if put.next_at.zip(found.last).is_some_and(|(next, last)| next <= last.slot) => {
            return Ok(Err(Refused::Behind));
        }
        Some(_) => (sql::SCHEDULE_CHANGE, put.next_at),
    };
    let definition = &put.definition;
    let job = &definition.job;
    step.conn.prepare_cached(write)?.execute(params![
        put.name,
        draw_revision(step)?,
        step.now.0,
        next_at.map(|at| at.0),
        definition.cron,
        definition.zone,
        definition.catch_up.as_str(),
        definition.paused,
        job.queue,
        job.kind,
        job.payload,
        job.priority,
        job.attempts_max,
        job.timeout_ms,
        job.ordering_key,
        job.limit_key,
        job.backoff.map(|backoff| backoff.initial_ms),
        job.backoff.map(|backoff| backoff.factor),
        job.backoff.map(|backoff| backoff.max_ms),
        job.backoff.map(|backoff| backoff.jitter),
    ])?;
    let subject = Subject::new(Face::Schedule, &put.name);
    match before {
        None => changes::add(step, &subject, by, What::Created, None)?,
        Some(before) => changes::changed(step, &subject, by, before.differences(definition))?,
    }
    let absent = || Fault::broken(format!("the schedule {} is not there after it was put", put.name));
    read::schedule(step, &put.name)?.ok_or_else(absent).map(Ok)
}

/// The next revision of any schedule.
pub(super) fn draw_revision(step: &Step<'_>) -> Done<i64> {
    Ok(step.conn.prepare_cached(sql::SCHEDULE_DRAW_REVISION)?.query_row([], |row| row.get(0))?)
}

/// Removes a schedule and its firings; whether it was there.
pub(super) fn remove(step: &Step<'_>, name: &str, by: &Actor) -> Done<bool> {
    step.conn.prepare_cached(sql::SCHEDULE_FORGET_FIRINGS)?.execute([name])?;
    let there = step.conn.prepare_cached(sql::SCHEDULE_REMOVE)?.execute([name])? > 0;
    if there {
        changes::add(step, &Subject::new(Face::Schedule, name), by, What::Removed, None)?;
    }
    Ok(there)
}
