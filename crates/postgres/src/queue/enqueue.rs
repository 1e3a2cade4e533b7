//! Enqueue: arrays in, ids out.

use crate::PostgresStore;
use crate::value::{At, backoff_text, get};
use sha2::{Digest, Sha256};
use tenure_core::queue::{Conflict, Enqueued, JobId, NewJob, Status};
use tenure_store::{Result, StoreError};
use tokio_postgres::types::Type;

pub(super) async fn enqueue(
    store: &PostgresStore,
    jobs: Vec<NewJob>,
) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
    let queues: Vec<&str> = jobs.iter().map(|job| job.queue.as_str()).collect();
    let kinds: Vec<&str> = jobs.iter().map(|job| job.kind.as_str()).collect();
    let payloads: Vec<&str> = jobs.iter().map(|job| job.payload.as_str()).collect();
    let priorities: Vec<i32> = jobs.iter().map(|job| job.priority).collect();
    let run_ats: Vec<Option<At>> = jobs.iter().map(|job| job.run_at.map(At)).collect();
    let attempts_maxes: Vec<i32> = jobs.iter().map(|job| job.attempts_max as i32).collect();
    let timeouts = column(&jobs, |job| job.timeout_ms.map(|ms| ms as i64));
    let backoffs = column(&jobs, |job| job.backoff.map(backoff_text));
    let ordering_keys = column(&jobs, |job| job.ordering_key.as_deref());
    let limit_keys = column(&jobs, |job| job.limit_key.as_deref());
    let keys = column(&jobs, |job| job.key.as_deref());
    let windows = column(&jobs, |job| job.key_window_ms.map(|ms| ms as i64));
    let bodies = column(&jobs, |job| job.key.as_ref().map(|_| Sha256::digest(job.body()).to_vec()));
    let sql = "select * from tenure.enqueue_all($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let asked = store
        .database
        .write_unless_conflict(
            sql,
            &[
                (&queues, Type::TEXT_ARRAY),
                (&kinds, Type::TEXT_ARRAY),
                (&payloads, Type::TEXT_ARRAY),
                (&priorities, Type::INT4_ARRAY),
                (&run_ats, Type::TIMESTAMPTZ_ARRAY),
                (&attempts_maxes, Type::INT4_ARRAY),
                (&timeouts, Type::INT8_ARRAY),
                (&backoffs, Type::TEXT_ARRAY),
                (&ordering_keys, Type::TEXT_ARRAY),
                (&limit_keys, Type::TEXT_ARRAY),
                (&keys, Type::TEXT_ARRAY),
                (&windows, Type::INT8_ARRAY),
                (&bodies, Type::BYTEA_ARRAY),
            ],
        )
        .await?;
    let rows = match asked {
        Ok(rows) => rows,
        Err(conflict) => return Ok(Err(conflict)),
    };
    if rows.len() != jobs.len() {
        return Err(StoreError::broken("enqueue answered another number of ids"));
    }
    store.wake(queues);
    let enqueued = |row| {
        let word: &str = get(row, "status")?;
        let status = Status::parse(word).ok_or_else(|| StoreError::broken(format!("status `{word}`")))?;
        Ok(Enqueued { id: JobId(get(row, "id")?), status, deduplicated: get(row, "deduplicated")? })
    };
    rows.iter().map(enqueued).collect::<Result<_>>().map(Ok)
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
    pub(super) fn wake(&self, mut queues: Vec<&str>) {
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
