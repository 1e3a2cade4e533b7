//! Enqueue: arrays in, ids out.

use crate::PostgresStore;
use crate::pool::{Param, Refused};
use crate::value::{At, backoff_text, get};
use sha2::{Digest, Sha256};
use tenure_core::queue::{Conflict, Enqueued, JobId, NewJob, Status};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

pub(super) async fn enqueue(
    store: &PostgresStore,
    jobs: Vec<NewJob>,
) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
    let columns = Columns::of(&jobs);
    // Under a key it may meet one that somebody is enqueuing in a transaction that stays open.
    let answer = match columns.keys {
        Some(_) => store.database.try_write_patiently(SQL, &columns.params()).await?,
        None => store.database.try_write(SQL, &columns.params()).await?,
    };
    let rows = match answer {
        Ok(rows) => rows,
        Err(Refused::Conflict(conflict)) => return Ok(Err(conflict)),
        Err(busy @ Refused::Busy(_)) => return Err(busy.into()),
    };
    let enqueued = answers(&rows, jobs.len())?;
    store.wake(columns.queues);
    Ok(Ok(enqueued))
}

/// The same in a transaction of the caller's own, which may stay open for long.
pub(crate) const SQL_BESIDE: &str =
    "select * from tenure.enqueue_all($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, true)";

/// Takes [`Columns`], replies what [`answers`] reads.
pub(crate) const SQL: &str = "select * from tenure.enqueue_all($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

/// Jobs, column by column.
pub(crate) struct Columns<'j> {
    queues: Vec<&'j str>,
    kinds: Vec<&'j str>,
    payloads: Vec<&'j str>,
    priorities: Vec<i32>,
    run_ats: Vec<Option<At>>,
    attempts_maxes: Vec<i32>,
    timeouts: Option<Vec<Option<i64>>>,
    backoffs: Option<Vec<Option<String>>>,
    ordering_keys: Option<Vec<Option<&'j str>>>,
    limit_keys: Option<Vec<Option<&'j str>>>,
    keys: Option<Vec<Option<&'j str>>>,
    windows: Option<Vec<Option<i64>>>,
    bodies: Option<Vec<Option<Vec<u8>>>>,
}

impl<'j> Columns<'j> {
    pub(crate) fn of(jobs: &'j [NewJob]) -> Columns<'j> {
        Columns {
            queues: jobs.iter().map(|job| job.queue.as_str()).collect(),
            kinds: jobs.iter().map(|job| job.kind.as_str()).collect(),
            payloads: jobs.iter().map(|job| job.payload.as_str()).collect(),
            priorities: jobs.iter().map(|job| job.priority).collect(),
            run_ats: jobs.iter().map(|job| job.run_at.map(At)).collect(),
            attempts_maxes: jobs.iter().map(|job| job.attempts_max as i32).collect(),
            timeouts: column(jobs, |job| job.timeout_ms.map(|ms| ms as i64)),
            backoffs: column(jobs, |job| job.backoff.map(backoff_text)),
            ordering_keys: column(jobs, |job| job.ordering_key.as_deref()),
            limit_keys: column(jobs, |job| job.limit_key.as_deref()),
            keys: column(jobs, |job| job.key.as_deref()),
            windows: column(jobs, |job| job.key_window_ms.map(|ms| ms as i64)),
            bodies: column(jobs, |job| job.key.as_ref().map(|_| Sha256::digest(job.body()).to_vec())),
        }
    }

    pub(crate) fn params(&self) -> [Param<'_>; 13] {
        [
            &self.queues,
            &self.kinds,
            &self.payloads,
            &self.priorities,
            &self.run_ats,
            &self.attempts_maxes,
            &self.timeouts,
            &self.backoffs,
            &self.ordering_keys,
            &self.limit_keys,
            &self.keys,
            &self.windows,
            &self.bodies,
        ]
    }

    /// Where they will wait.
    pub(crate) fn queues(&self) -> &Vec<&'j str> {
        &self.queues
    }
}

/// What became of `count` jobs.
pub(crate) fn answers(rows: &[Row], count: usize) -> Result<Vec<Enqueued>> {
    if rows.len() != count {
        return Err(StoreError::broken("enqueue answered another number of ids"));
    }
    let enqueued = |row| {
        let word: &str = get(row, "status")?;
        let status = Status::parse(word).ok_or_else(|| StoreError::broken(format!("status `{word}`")))?;
        Ok(Enqueued { id: JobId(get(row, "id")?), status, deduplicated: get(row, "deduplicated")? })
    };
    rows.iter().map(enqueued).collect()
}

/// An optional column; `None` where no job uses it, which spares the database the look at it.
fn column<'j, T>(jobs: &'j [NewJob], of: impl Fn(&'j NewJob) -> Option<T>) -> Option<Vec<Option<T>>> {
    let values: Vec<Option<T>> = jobs.iter().map(of).collect();
    values.iter().any(Option::is_some).then_some(values)
}

/// The name under which every queue is meant; no queue can have it.
pub(crate) const EVERY_QUEUE: &str = "*";

impl PostgresStore {
    /// Tells this process at once, and the others soon, that these queues may have work.
    pub(crate) fn wake(&self, mut queues: Vec<&str>) {
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            if queue == EVERY_QUEUE {
                self.signals.ring_all();
            } else {
                self.signals.ring(queue);
            }
            self.listening.tell(queue);
            self.told.tell(queue);
        }
    }
}
