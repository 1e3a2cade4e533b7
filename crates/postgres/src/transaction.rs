//! The queue inside a transaction of the caller's own (Q10): what is enqueued or finished there is committed or rolled
//! back with everything else the caller did.
//!
//! These call the same SQL functions that any language can call, so a transaction of another driver can do the same
//! (`select tenure.enqueue(…)`).

use tenure_core::queue::{Act, Conflict, Ending, JobId, NewJob, Retry, Status};
use tenure_core::{Invalid, LostReason, Token};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

/// Why a call inside a transaction failed. PostgreSQL has then given the transaction up: roll it back.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransactionError {
    /// The request is out of bounds. The transaction was not touched.
    Invalid(Invalid),
    /// The lease is not held.
    LeaseLost(LostReason),
    /// Another body was sent under a dedup key that is remembered.
    Conflict(Conflict),
    /// The database refused.
    Postgres(tokio_postgres::Error),
}

impl std::fmt::Display for TransactionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TransactionError::Invalid(invalid) => invalid.fmt(f),
            TransactionError::LeaseLost(reason) => write!(f, "lease lost ({reason}): {}", reason.sentence()),
            TransactionError::Conflict(_) => f.write_str("another job holds the key with another body"),
            TransactionError::Postgres(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TransactionError {}

impl From<Invalid> for TransactionError {
    fn from(invalid: Invalid) -> TransactionError {
        TransactionError::Invalid(invalid)
    }
}

/// Adds a job in the caller's transaction, in the store of `schema` (by default `tenure`).
pub async fn enqueue_in(
    transaction: &impl GenericClient,
    schema: &str,
    job: &NewJob,
) -> Result<JobId, TransactionError> {
    job.check()?;
    let sql = localized(schema, "select tenure.enqueue($1, $2, $3, $4)");
    let options = options(job);
    let params = [
        (&job.queue as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT),
        (&job.kind, Type::TEXT),
        (&job.payload, Type::TEXT),
        (&options, Type::JSONB),
    ];
    let rows = transaction.query_typed(&sql, &params).await.map_err(met)?;
    rows.first().map_or(Ok(JobId(0)), |row| row.try_get(0).map(JobId).map_err(TransactionError::Postgres))
}

/// Ends a claim in the caller's transaction: only `complete` and `fail` make sense there.
pub async fn finish_in(
    transaction: &impl GenericClient,
    schema: &str,
    mut ending: Ending,
) -> Result<Status, TransactionError> {
    ending.check()?;
    let (result, error, retry, delay_ms) = match &ending.act {
        Act::Complete { result } => (result.as_deref(), None, true, None),
        Act::Fail { error, retry: Retry::Never } => (None, Some(error.as_str()), false, None),
        Act::Fail { error, retry: Retry::In { delay_ms } } => {
            (None, Some(error.as_str()), true, Some(*delay_ms as i64))
        }
        Act::Fail { error, retry: Retry::Policy { .. } } => (None, Some(error.as_str()), true, None),
        Act::Snooze { .. } | Act::Release => {
            let limit = "complete or fail; give work back outside a transaction";
            return Err(Invalid::new(tenure_core::bounds::Code::OutOfBounds, "act", limit, "another").into());
        }
    };
    let rows = match error {
        None => {
            let sql = localized(schema, "select tenure.complete($1, $2, $3, $4)");
            let params = [
                (&ending.job.0 as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT8),
                (&ending.owner, Type::TEXT),
                (&ending.token.0, Type::INT8),
                (&result, Type::TEXT),
            ];
            transaction.query_typed(&sql, &params).await
        }
        Some(error) => {
            let sql = localized(schema, "select tenure.fail($1, $2, $3, $4, $5, $6)");
            let params = [
                (&ending.job.0 as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT8),
                (&ending.owner, Type::TEXT),
                (&ending.token.0, Type::INT8),
                (&error, Type::TEXT),
                (&retry, Type::BOOL),
                (&delay_ms, Type::INT8),
            ];
            transaction.query_typed(&sql, &params).await
        }
    };
    let rows = rows.map_err(met)?;
    let word: String = match rows.first() {
        Some(row) => row.try_get(0).map_err(TransactionError::Postgres)?,
        None => String::new(),
    };
    Ok(Status::parse(&word).unwrap_or(Status::Completed))
}

/// Fails the caller's transaction unless the lease is held at this moment, and keeps others from taking the work until
/// it ends, even if the lease runs out meanwhile.
pub async fn held_in(
    transaction: &impl GenericClient,
    schema: &str,
    job: JobId,
    owner: &str,
    token: Token,
) -> Result<(), TransactionError> {
    let sql = localized(schema, "select tenure.held($1, $2, $3)");
    let params = [
        (&job.0 as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT8),
        (&owner, Type::TEXT),
        (&token.0, Type::INT8),
    ];
    transaction.query_typed(&sql, &params).await.map(drop).map_err(met)
}

pub(crate) fn localized(schema: &str, sql: &str) -> String {
    sql.replace("tenure.", &format!("{schema}."))
}

fn options(job: &NewJob) -> serde_json::Value {
    let run_at = job.run_at.map(|at| at.0);
    let backoff = job.backoff.map(|b| {
        serde_json::json!({ "initial_ms": b.initial_ms, "factor": b.factor, "max_ms": b.max_ms, "jitter": b.jitter })
    });
    serde_json::json!({
        "priority": job.priority,
        "run_at_micros": run_at,
        "attempts_max": job.attempts_max,
        "timeout_ms": job.timeout_ms,
        "backoff": backoff,
        "key": job.key,
        "key_window_ms": job.key_window_ms,
        "ordering_key": job.ordering_key,
        "limit_key": job.limit_key,
    })
}

pub(crate) fn met(error: tokio_postgres::Error) -> TransactionError {
    if let Some(conflict) = crate::error::conflict(&error) {
        return TransactionError::Conflict(conflict);
    }
    let lost = error.as_db_error().filter(|db| db.code().code() == "TE020").and_then(|db| db.detail());
    match lost.and_then(LostReason::parse) {
        Some(reason) => TransactionError::LeaseLost(reason),
        None => TransactionError::Postgres(error),
    }
}
