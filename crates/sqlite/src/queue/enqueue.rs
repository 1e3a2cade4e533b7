//! New jobs, all or none, numbered in the order they were given; the same key and body is the same job (Q7).

use super::moves::Moves;
use super::{Keys, Place};
use crate::column;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use tenure_core::queue::{Conflict, Enqueued, JobId, NewJob, Status};

/// What a key knows a job by.
type Body = [u8; 32];

/// Adds `jobs`; refuses all of them if one comes with another body under a key that is remembered.
pub(crate) fn enqueue(step: &Step<'_>, jobs: &[NewJob]) -> Done<Result<Vec<Enqueued>, Conflict>> {
    let known = match known(step, jobs)? {
        Ok(known) => known,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let new = jobs.len() - known.len();
    if new == 0 {
        return Ok(Ok((0..jobs.len()).filter_map(|i| known[&i].answer(&[])).collect()));
    }
    let count = i64::try_from(new).unwrap_or(i64::MAX);
    let last: i64 = step.conn.prepare_cached(sql::DRAW_IDS)?.query_row([count], |row| row.get(0))?;
    let mut create_queue = step.conn.prepare_cached(sql::CREATE_QUEUE)?;
    let mut insert = step.conn.prepare_cached(sql::ENQUEUE)?;
    let mut enqueued: Vec<Enqueued> = Vec::with_capacity(jobs.len());
    let mut moves = Moves::default();
    let mut queue = None;
    let mut id = last - count;
    for (i, job) in jobs.iter().enumerate() {
        if !known.is_empty()
            && let Some(before) = known.get(&i)
        {
            let answer = before.answer(&enqueued);
            enqueued.push(answer.ok_or_else(|| Fault::broken("a job stands for a later one of its call"))?);
            continue;
        }
        id += 1;
        // A bulk call is mostly of one queue.
        if queue != Some(&job.queue) {
            create_queue.execute((&job.queue, step.now.0))?;
            step.ring(&job.queue);
            queue = Some(&job.queue);
        }
        let keys = Keys { ordering: job.ordering_key.clone(), limit: job.limit_key.clone() };
        let run_at = job.run_at.unwrap_or(step.now);
        insert.execute(params![
            id,
            job.queue,
            job.kind,
            job.priority,
            Place::waiting(&keys, run_at, step.now) as i64,
            step.now.0,
            run_at.0,
            job.attempts_max,
            job.backoff.map(|backoff| backoff.initial_ms),
            job.backoff.map(|backoff| backoff.factor),
            job.backoff.map(|backoff| backoff.max_ms),
            job.backoff.map(|backoff| backoff.jitter),
            job.timeout_ms,
            keys.ordering,
            keys.limit,
            job.payload,
        ])?;
        moves.moved(&job.queue, &keys);
        if let Some(key) = &job.key {
            let until = job.key_until(step.now);
            step.conn.prepare_cached(sql::REMEMBER)?.execute((&job.queue, key, id, until.0, body(job)))?;
        }
        enqueued.push(Enqueued { id: JobId(id), status: Status::Queued, deduplicated: false });
    }
    moves.settle(step)?;
    Ok(Ok(enqueued))
}

/// A job of a call that is there already.
enum Known {
    /// Under a key that was remembered.
    Before(JobId, Status),
    /// The same as an earlier one of the call.
    Within(usize),
}

impl Known {
    fn answer(&self, call: &[Enqueued]) -> Option<Enqueued> {
        match self {
            Known::Before(id, status) => Some(Enqueued { id: *id, status: *status, deduplicated: true }),
            Known::Within(first) => call.get(*first).map(|first| Enqueued { deduplicated: true, ..*first }),
        }
    }
}

/// Which of the jobs, by their place in the call, are there already; or the first that comes with another body.
fn known(step: &Step<'_>, jobs: &[NewJob]) -> Done<Result<HashMap<usize, Known>, Conflict>> {
    let mut known = HashMap::new();
    let mut sent: HashMap<(&str, &str), (usize, Body)> = HashMap::new();
    for (index, job) in jobs.iter().enumerate() {
        let Some(key) = job.key.as_deref() else { continue };
        let body = body(job);
        if let Some((id, status, remembered)) = remembered(step, &job.queue, key)? {
            if remembered != body {
                return Ok(Err(Conflict { index, id: Some(id) }));
            }
            known.insert(index, Known::Before(id, status));
            continue;
        }
        match sent.entry((&job.queue, key)) {
            Entry::Occupied(first) if first.get().1 != body => return Ok(Err(Conflict { index, id: None })),
            Entry::Occupied(first) => {
                known.insert(index, Known::Within(first.get().0));
            }
            Entry::Vacant(new) => {
                new.insert((index, body));
            }
        }
    }
    Ok(Ok(known))
}

/// The job that a key stands for, where it stands, and its body: within the window, and at least until it has ended.
fn remembered(step: &Step<'_>, queue: &str, key: &str) -> Done<Option<(JobId, Status, Body)>> {
    let mut select = step.conn.prepare_cached(sql::DEDUP)?;
    let found = select.query_row((queue, key), |row| {
        let place: Option<i64> = row.get(3)?;
        let status = match place {
            Some(place) if place == Place::Running as i64 => Some(Status::Running),
            Some(_) => Some(Status::Queued),
            None => column::word_opt(row, 4, Status::parse)?,
        };
        Ok((JobId(row.get(0)?), row.get::<_, i64>(1)?, row.get::<_, Body>(2)?, place.is_some(), status))
    });
    let Some((id, until, body, open, status)) = found.optional()? else { return Ok(None) };
    if until <= step.now.0 && !open {
        return Ok(None);
    }
    let status = status.ok_or_else(|| Fault::broken(format!("the key {key:?} of {queue} stands for no job")))?;
    Ok(Some((id, status, body)))
}

fn body(job: &NewJob) -> Body {
    Sha256::digest(job.body()).into()
}
