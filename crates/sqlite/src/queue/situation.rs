//! What bears on whether a job can run, for the question why it does not.

use super::shelf::{Shelf, Window};
use super::{show, worker};
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::OptionalExtension;
use tenure_core::queue::{Job, JobId, Situation};

/// The situation of a job, from one state of the file and by keys alone.
pub(crate) fn situation(step: &Step<'_>, id: JobId) -> Done<Option<Situation>> {
    let Some(job) = show::job(step, id)? else { return Ok(None) };
    let Some(shelf) = Shelf::find(step.conn, &job.queue)? else { return Ok(None) };
    let (engine_max, engine_running) =
        step.conn.prepare_cached(sql::ENGINE)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (ahead, lane_blocked_by) = match &job.ordering_key {
        Some(lane) => lane_of(step, &job, lane)?,
        None => (None, None),
    };
    let (key_running, key_spent) = match &job.limit_key {
        Some(key) => tenant_of(step, &job.queue, key)?,
        None => (0, Window::default()),
    };
    let engine_max: Option<u32> = engine_max;
    Ok(Some(Situation {
        settings: shelf.settings,
        running: shelf.running,
        engine_max,
        engine_running,
        key_running,
        ahead: ahead.map(Box::new),
        lane_blocked_by,
        holders: worker::holders(step, Some(&job.queue))?,
        engine_holders: engine_max.map_or(Ok(Vec::new()), |_| worker::holders(step, None))?,
        spent_until: shelf.spent.spent_until(shelf.settings.rate_limit, step.now),
        key_spent_until: key_spent.spent_until(shelf.settings.rate_limit_per_key, step.now),
        watch: worker::watch(step, &job.queue, &job.kind)?,
        job,
    }))
}

/// What runs for a tenant, and what it spent of its rate.
fn tenant_of(step: &Step<'_>, queue: &str, tenant: &str) -> Done<(u64, Window)> {
    let mut select = step.conn.prepare_cached(sql::TENANT)?;
    let found = select.query_row((queue, tenant), |row| Ok((row.get(0)?, Window::read(row, 1)?))).optional()?;
    Ok(found.unwrap_or_default())
}

/// The job of a lane that runs or comes first, if it is another; and the one that the lane stopped for.
fn lane_of(step: &Step<'_>, job: &Job, lane: &str) -> Done<(Option<Job>, Option<JobId>)> {
    let of = (&job.queue, lane);
    let id_of = |statement| -> Done<Option<JobId>> {
        Ok(step.conn.prepare_cached(statement)?.query_row(of, |row| row.get(0).map(JobId)).optional()?)
    };
    // Whoever has the turn runs or is the first; in a lane that stopped nobody has it.
    let first = id_of(sql::LANE_TURN)?.map_or_else(|| id_of(sql::LANE_HEAD), |turn| Ok(Some(turn)))?;
    let ahead = first.filter(|first| *first != job.id).map(|first| show::job(step, first)).transpose()?.flatten();
    Ok((ahead, id_of(sql::LANE_BLOCKED_BY)?))
}
