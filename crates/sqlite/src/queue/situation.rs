//! What bears on whether a job can run, for the question why it does not.

use super::shelf::Shelf;
use super::show;
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
    let mut holders = step.conn.prepare_cached(sql::HOLDERS)?;
    let holders = holders.query_map([&job.queue], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(Some(Situation {
        settings: shelf.settings,
        running: shelf.running,
        engine_max,
        engine_running,
        key_running: job.limit_key.as_ref().map_or(Ok(0), |key| running_of(step, &job.queue, key))?,
        ahead: ahead.map(Box::new),
        lane_blocked_by,
        holders,
        job,
    }))
}

fn running_of(step: &Step<'_>, queue: &str, tenant: &str) -> Done<u64> {
    let mut select = step.conn.prepare_cached(sql::TENANT)?;
    Ok(select.query_row((queue, tenant), |row| row.get(0)).optional()?.unwrap_or(0))
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
