//! The queue inside a transaction of the caller's own (Q10): what is enqueued or finished there is committed or rolled
//! back with everything else the caller did.
//!
//! Always true:
//! - each call is one round trip, and speaks of the schema that the store is in;
//! - whoever waits for work is told in the transaction, so at the very moment of its commit;
//! - what the database refuses, a lost lease above all, gives the whole transaction up: a caller who goes on by
//!   mistake cannot commit.
//!
//! Callers with another driver do the same by SQL: `select tenure.enqueue(…)`, `complete`, `fail` and `held`.

pub use crate::sync::{chunk_held, complete_chunk};

use crate::error;
use crate::pool::typed;
use crate::queue::enqueue::{self, Columns};
use crate::queue::finish;
use crate::value::get;
use tenure_core::queue::{Ended, Ending, Enqueued, JobId, NewJob, Status};
use tenure_core::{LostReason, Token};
use tenure_store::{Place, StoreError, TransactionError};
use tokio_postgres::{Row, Transaction};

/// Adds jobs, all or none, in this order; claimable once the caller has committed. They were checked.
pub async fn enqueue(
    transaction: &Transaction<'_>,
    place: &Place,
    jobs: &[NewJob],
) -> Result<Vec<Enqueued>, TransactionError> {
    let schema = schema(place)?;
    let columns = Columns::of(jobs);
    let (sql, tell) = (localized(schema, enqueue::SQL_BESIDE), localized(schema, TELL));
    let (params, queues) = (columns.params(), columns.queues());
    let (params, queues) = (typed(&params), typed(&[queues]));
    // Sent one behind the other. If the first is refused, so is the second, and only the first can say why.
    let (added, told) = tokio::join!(transaction.query_typed(&sql, &params), transaction.query_typed(&tell, &queues));
    let rows = added.map_err(met)?;
    told.map_err(met)?;
    Ok(enqueue::answers(&rows, jobs.len())?)
}

/// Wakes whoever waits on these queues, once this is committed.
const TELL: &str =
    "select pg_notify(rtrim('tenure.', '.') || '_wake', q.name) from (select distinct unnest($1)) q(name)";

/// Completes or fails held work. The ending was checked.
pub async fn finish(transaction: &Transaction<'_>, place: &Place, ending: &Ending) -> Result<Ended, TransactionError> {
    let schema = schema(place)?;
    let Ending { job, owner, token, act } = ending;
    let sql = localized(schema, "select status, already from tenure.finish_one($1, $2, $3, $4, $5, $6, $7, $8)");
    let row = one(transaction
        .query_typed(
            &sql,
            &typed(&[
                &job.0,
                owner,
                &token.0,
                &act.verb().as_str(),
                &finish::result(act),
                &finish::error(act),
                &finish::delay_ms(act),
                &finish::chance(act),
            ]),
        )
        .await
        .map_err(met)?)?;
    let word: &str = get(&row, "status")?;
    let status = Status::parse(word).ok_or_else(|| StoreError::broken(format!("status `{word}`")))?;
    Ok(Ended { status, already: get(&row, "already")? })
}

/// Refuses unless the lease is held at this moment. If it is, nobody else can take the work before the transaction
/// ends, even if the lease runs out meanwhile; a finish later in the transaction is still judged by the clock (L4).
/// Blocks no heartbeat.
pub async fn held(
    transaction: &Transaction<'_>,
    place: &Place,
    job: JobId,
    owner: &str,
    token: Token,
) -> Result<(), TransactionError> {
    let sql = localized(schema(place)?, "select tenure.held($1, $2, $3)");
    transaction.query_typed(&sql, &typed(&[&job.0, &owner, &token.0])).await.map(drop).map_err(met)
}

pub(crate) fn schema(place: &Place) -> Result<&str, TransactionError> {
    match place {
        Place::Schema(schema) => Ok(schema),
        _ => Err(TransactionError::elsewhere("PostgreSQL", place)),
    }
}

pub(crate) fn localized(schema: &str, sql: &str) -> String {
    sql.replace("tenure.", &format!("{schema}."))
}

fn one(rows: Vec<Row>) -> Result<Row, StoreError> {
    rows.into_iter().next().ok_or_else(|| StoreError::broken("a statement returned no row"))
}

/// What a statement met, told by what the caller can do now. Nothing of it was committed, whatever it was.
pub(crate) fn met(met: tokio_postgres::Error) -> TransactionError {
    if let Some(conflict) = error::conflict(&met) {
        return TransactionError::Conflict(conflict);
    }
    let Some(db) = met.as_db_error() else { return error::of(met, false).into() };
    match db.code().code() {
        "TE020" => match db.detail().and_then(LostReason::parse) {
            Some(reason) => TransactionError::LeaseLost(reason),
            None => StoreError::broken("a lease was lost for a reason that nobody knows").into(),
        },
        "TE002" => TransactionError::unusable("it is not READ COMMITTED, as it must be here"),
        "25P02" => TransactionError::unusable("an earlier statement in it has failed: roll it back"),
        "25006" => TransactionError::unusable("it is read-only"),
        // No such schema, function or table.
        "3F000" | "42883" | "42P01" => {
            TransactionError::unusable(format!("its database has not this store in it: {}", db.message()))
        }
        _ => error::of(met, false).into(),
    }
}
