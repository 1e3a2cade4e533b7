//! New jobs, all or none, numbered in the order they were given.

use super::Place;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::queue::{Enqueued, JobId, NewJob, Status};

/// Adds `jobs`.
pub(crate) fn enqueue(step: &Step<'_>, jobs: &[NewJob]) -> Done<Vec<Enqueued>> {
    let count = i64::try_from(jobs.len()).unwrap_or(i64::MAX);
    let last: i64 = step.conn.prepare_cached(sql::DRAW_IDS)?.query_row([count], |row| row.get(0))?;
    let mut create_queue = step.conn.prepare_cached(sql::CREATE_QUEUE)?;
    let mut insert = step.conn.prepare_cached(sql::ENQUEUE)?;
    let mut enqueued = Vec::with_capacity(jobs.len());
    let mut queue = None;
    for (id, job) in (last - count + 1..).zip(jobs) {
        // A bulk call is mostly of one queue.
        if queue != Some(&job.queue) {
            create_queue.execute((&job.queue, step.now.0))?;
            step.ring(&job.queue);
            queue = Some(&job.queue);
        }
        let run_at = job.run_at.unwrap_or(step.now);
        insert.execute(params![
            id,
            job.queue,
            job.kind,
            job.priority,
            Place::waiting(run_at, step.now) as i64,
            step.now.0,
            run_at.0,
            job.attempts_max,
            job.backoff.map(|backoff| backoff.initial_ms),
            job.backoff.map(|backoff| backoff.factor),
            job.backoff.map(|backoff| backoff.max_ms),
            job.backoff.map(|backoff| backoff.jitter),
            job.timeout_ms,
            job.payload,
        ])?;
        enqueued.push(Enqueued { id: JobId(id), status: Status::Queued, deduplicated: false });
    }
    Ok(enqueued)
}
