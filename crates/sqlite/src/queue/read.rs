//! Looking at jobs and queues: one job, from the hot table or from history; pages of jobs, newest first, and of queues by
//! name; and what bears on whether a job can run. Each answer is read from one state of the file.

use super::shelf::{Shelf, Window};
use super::{Place, row, worker};
use crate::column::{self, all};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::readable;
use crate::sql;
use rusqlite::{OptionalExtension, Params, Row, params};
use tenure_core::bounds::{ATTEMPTS_KEPT, COUNT_MAX, PAGE_BYTES_MAX};
use tenure_core::lease::{Lease, Token};
use tenure_core::queue::{
    Attempt, Counts, Event, Filter, Job, JobId, Outcome, QueueInfo, Reason, Situation, Status, Verb, What,
};
use tenure_core::{LostReason, Page};

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

/// Jobs that match, newest first, from below `before`.
pub(crate) fn jobs(step: &Step<'_>, filter: &Filter, before: Option<JobId>, limit: u32) -> Done<Page<Job>> {
    let below = before.map_or(i64::MAX, |id| id.0);
    // One more than asked for tells whether there are more. Every source gives that many, and the newest win.
    let many = limit.saturating_add(1);
    let mut ids = waiting(step, filter, below, many)?;
    ids.append(&mut ended(step, filter, below, many)?);
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let mut items: Vec<Job> = Vec::with_capacity(ids.len());
    let mut bytes = 0;
    for id in ids {
        // One that cannot be read never hides the others; `doctor` names it.
        let job = match readable(job(step, JobId(id)))? {
            Ok(Some(job)) => job,
            Ok(None) => continue,
            Err(fault) => {
                tracing::error!(id, fault, "a job could not be read and is not listed");
                continue;
            }
        };
        bytes += job.page_bytes();
        if items.len() == limit as usize || (bytes > PAGE_BYTES_MAX && !items.is_empty()) {
            return Ok(Page { items, more: true });
        }
        items.push(job);
    }
    Ok(Page { items, more: false })
}

/// Queued and running jobs that match.
fn waiting(step: &Step<'_>, filter: &Filter, below: i64, many: u32) -> Done<Vec<i64>> {
    let Filter { queue, status, kind } = filter;
    let running = match status {
        None => None,
        Some(Status::Queued) => Some(false),
        Some(Status::Running) => return ids(step, sql::LIST_RUNNING, params![below, many, kind, queue]),
        Some(Status::Completed | Status::Failed) => return Ok(Vec::new()),
    };
    match queue {
        None => ids(step, sql::LIST_WAITING, params![below, many, running, kind]),
        Some(queue) => ids(step, sql::LIST_WAITING_OF, params![below, many, running, kind, queue]),
    }
}

/// Ended jobs that match.
fn ended(step: &Step<'_>, filter: &Filter, below: i64, many: u32) -> Done<Vec<i64>> {
    let Filter { queue, status, kind } = filter;
    let statuses: &[Status] = match status {
        None => &[Status::Completed, Status::Failed],
        Some(Status::Queued | Status::Running) => &[],
        Some(Status::Completed) => &[Status::Completed],
        Some(Status::Failed) => &[Status::Failed],
    };
    match (queue, statuses) {
        (Some(queue), statuses) => {
            let mut found = Vec::new();
            for status in statuses {
                let of = params![below, many, kind, queue, status.as_str()];
                found.append(&mut ids(step, sql::LIST_FINISHED_OF, of)?);
            }
            Ok(found)
        }
        (None, []) => Ok(Vec::new()),
        (None, [Status::Completed]) => ids(step, sql::LIST_COMPLETED, params![below, many, kind]),
        (None, [Status::Failed]) => ids(step, sql::LIST_FAILED, params![below, many, kind]),
        (None, _) => ids(step, sql::LIST_FINISHED, params![below, many, kind]),
    }
}

fn ids(step: &Step<'_>, sql: &str, params: impl Params) -> Done<Vec<i64>> {
    all(step.conn, sql, params, |row| row.get(0))
}

/// One queue and its counts.
pub(crate) fn queue(step: &Step<'_>, name: &str) -> Done<Option<QueueInfo>> {
    let Some(shelf) = Shelf::find(step.conn, name)? else { return Ok(None) };
    let mut select = step.conn.prepare_cached(sql::QUEUE)?;
    let running = shelf.running;
    let (counts, oldest_queued_at) = select.query_row((name, COUNT_MAX + 1, running), |row| {
        let counts = Counts { queued: row.get(0)?, running, completed: row.get(1)?, failed: row.get(2)? };
        Ok((counts, column::time_opt(row, 3)?))
    })?;
    let Shelf { created_at, settings, .. } = shelf;
    Ok(Some(QueueInfo { name: name.to_owned(), created_at, settings, counts, oldest_queued_at }))
}

/// Queues by name, from after `after`.
pub(crate) fn queues(step: &Step<'_>, after: Option<&str>, limit: u32) -> Done<Page<QueueInfo>> {
    let names = all(step.conn, sql::QUEUES, (after, limit.saturating_add(1)), |row| row.get::<_, String>(0))?;
    let Page { items: names, more } = Page::cut(names, limit as usize);
    let mut items = Vec::with_capacity(names.len());
    for name in names {
        items.extend(queue(step, &name)?);
    }
    Ok(Page { items, more })
}

/// The situation of a job, from one state of the file and by keys alone.
pub(crate) fn situation(step: &Step<'_>, id: JobId) -> Done<Option<Situation>> {
    let Some(job) = self::job(step, id)? else { return Ok(None) };
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
    let ahead = first.filter(|first| *first != job.id).map(|first| self::job(step, first)).transpose()?.flatten();
    Ok((ahead, id_of(sql::LANE_BLOCKED_BY)?))
}
