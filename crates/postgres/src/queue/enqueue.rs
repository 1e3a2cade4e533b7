//! Enqueue: arrays in, ids out.

use crate::PostgresStore;
use crate::value::{At, backoff_text, get};
use tenure_core::queue::{Enqueued, JobId, NewJob, Status};
use tenure_store::{Result, StoreError};
use tokio_postgres::types::Type;

pub(super) async fn enqueue(store: &PostgresStore, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
    let queues: Vec<&str> = jobs.iter().map(|job| job.queue.as_str()).collect();
    let kinds: Vec<&str> = jobs.iter().map(|job| job.kind.as_str()).collect();
    let payloads: Vec<&str> = jobs.iter().map(|job| job.payload.as_str()).collect();
    let priorities: Vec<i32> = jobs.iter().map(|job| job.priority).collect();
    let run_ats: Vec<Option<At>> = jobs.iter().map(|job| job.run_at.map(At)).collect();
    let attempts_maxes: Vec<i32> = jobs.iter().map(|job| job.attempts_max as i32).collect();
    let timeouts: Vec<Option<i64>> = jobs.iter().map(|job| job.timeout_ms.map(|ms| ms as i64)).collect();
    let backoffs: Vec<Option<String>> = jobs.iter().map(|job| job.backoff.map(backoff_text)).collect();
    let sql = "select id from tenure.enqueue_all($1, $2, $3, $4, $5, $6, $7, $8) as id";
    let rows = store
        .database
        .write(
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
            ],
        )
        .await?;
    if rows.len() != jobs.len() {
        return Err(StoreError::broken("enqueue answered another number of ids"));
    }
    store.wake(queues);
    rows.iter()
        .map(|row| Ok(Enqueued { id: JobId(get(row, "id")?), status: Status::Queued, deduplicated: false }))
        .collect()
}

impl PostgresStore {
    /// Tells this process at once, and the others soon, that these queues may have work.
    pub(super) fn wake(&self, mut queues: Vec<&str>) {
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            self.signals.ring(queue);
            self.listening.tell(queue);
        }
    }
}
