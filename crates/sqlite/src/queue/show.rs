//! One job, from the hot table or from history, and what is stored about it.

use super::{Place, row};
use crate::column::{self, all};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{OptionalExtension, Row};
use tenure_core::LostReason;
use tenure_core::bounds::ATTEMPTS_KEPT;
use tenure_core::lease::{Lease, Token};
use tenure_core::queue::{Attempt, Event, Job, JobId, Outcome, Reason, Status, Verb, What};

/// The job `id`, if it is kept.
pub(crate) fn job(step: &Step<'_>, id: JobId) -> Done<Option<Job>> {
    let hot = step.conn.prepare_cached(sql::JOB)?.query_row([id.0], hot).optional()?;
    let found = match hot {
        Some(found) => Some(found),
        None => step.conn.prepare_cached(sql::FINISHED)?.query_row([id.0], finished).optional()?,
    };
    let Some((mut job, kept)) = found else { return Ok(None) };
    // The last claim of a finished job is already there; earlier ones come before it.
    let mut attempts = row::attempts(step.conn, kept.as_deref())
        .map_err(|fault| Fault::broken(format!("the attempts of job {id} cannot be read: {fault:?}")))?;
    attempts.append(&mut job.attempts);
    let surplus = attempts.len().saturating_sub(ATTEMPTS_KEPT);
    attempts.drain(..surplus);
    job.attempts = attempts;
    Ok(Some(job))
}

/// The events stored for a job, oldest first.
pub(crate) fn events(step: &Step<'_>, id: JobId) -> Done<Vec<Event>> {
    all(step.conn, sql::EVENTS, [id.0], |row| {
        Ok(Event {
            at: column::time(row, 0)?,
            job: id,
            what: column::word(row, 1, What::parse)?,
            token: column::token_opt(row, 2)?,
            owner: row.get(3)?,
            attempt: row.get(4)?,
            verb: column::word_opt(row, 5, Verb::parse)?,
            lost: column::word_opt(row, 6, LostReason::parse)?,
            reason: column::word_opt(row, 7, Reason::parse)?,
            until: column::time_opt(row, 8)?,
            error: row.get(9)?,
            count: row.get(10)?,
            first_at: column::time_opt(row, 11)?,
            by: row.get(12)?,
        })
    })
}

/// The columns that `job.sql` and `finished.sql` begin with, and the kept attempts.
fn common(row: &Row<'_>) -> rusqlite::Result<(Job, Option<String>)> {
    let job = Job {
        id: JobId(row.get(0)?),
        queue: row.get(1)?,
        kind: row.get(2)?,
        payload: row.get(3)?,
        priority: row.get(4)?,
        created_at: column::time(row, 5)?,
        run_at: column::time(row, 6)?,
        attempt: row.get(7)?,
        attempts_max: row.get(8)?,
        backoff: column::backoff(row, 9)?,
        timeout_ms: row.get(13)?,
        ordering_key: row.get(17)?,
        limit_key: row.get(18)?,
        cancel_requested: false,
        token: column::token_opt(row, 14)?,
        error: row.get(15)?,
        status: Status::Queued,
        reason: None,
        result: None,
        progress: None,
        checkpoint: None,
        lease: None,
        attempts: Vec::new(),
        finished_at: None,
    };
    Ok((job, row.get(16)?))
}

/// A row of `job.sql`.
fn hot(row: &Row<'_>) -> rusqlite::Result<(Job, Option<String>)> {
    let (mut job, attempts) = common(row)?;
    job.progress = row.get(20)?;
    job.checkpoint = row.get(21)?;
    job.cancel_requested = row.get(28)?;
    if row.get::<_, i64>(19)? == Place::Running as i64 {
        job.status = Status::Running;
        if let (Some(owner), Some(token)) = (row.get(22)?, job.token) {
            job.lease = Some(Lease {
                owner,
                token,
                granted_at: column::time(row, 23)?,
                lease_ms: row.get(29)?,
                expires_at: column::time(row, 24)?,
                pulse: column::pulse(row, [25, 26, 27])?,
            });
        }
    }
    Ok((job, attempts))
}

/// A row of `finished.sql`.
fn finished(row: &Row<'_>) -> rusqlite::Result<(Job, Option<String>)> {
    let (mut job, attempts) = common(row)?;
    job.status = column::word(row, 19, Status::parse)?;
    job.reason = column::word_opt(row, 20, Reason::parse)?;
    job.result = row.get(21)?;
    job.finished_at = column::time_opt(row, 22)?;
    job.progress = row.get(23)?;
    job.checkpoint = row.get(24)?;
    // A job that was cancelled while it waited ended under no claim.
    if let Some(owner) = row.get(25)? {
        job.attempts.push(Attempt {
            token: job.token.unwrap_or(Token(0)),
            owner,
            claimed_at: column::time(row, 26)?,
            ended_at: job.finished_at,
            outcome: Some(column::word(row, 27, Outcome::parse)?),
            verb: column::word_opt(row, 28, Verb::parse)?,
            error: if row.get(32)? { job.error.clone() } else { None },
            pulse: column::pulse(row, [29, 30, 31])?,
        });
    }
    Ok((job, attempts))
}
