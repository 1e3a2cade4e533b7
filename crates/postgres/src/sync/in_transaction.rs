//! A chunk inside a transaction of the caller's own: its rows and its completion are committed together, or neither.
//!
//! These call the functions that any language can call: `select tenure.complete_chunk(…)`.

use crate::in_transaction::{localized, met, schema};
use crate::pool::typed;
use tenure_core::sync::{Act, ClaimedChunk, Ending, Unit};
use tenure_store::{Place, TransactionError};
use tokio_postgres::Transaction;

/// Completes a claimed chunk in the caller's transaction. Call it last: from here to the commit the chunk's heartbeats wait,
/// and whoever fails or cancels its sync; nobody else does (L10).
pub async fn complete_chunk(
    transaction: &Transaction<'_>,
    place: &Place,
    chunk: &ClaimedChunk,
    owner: &str,
    row_count: Option<u64>,
    cursor: Option<&str>,
) -> Result<(), TransactionError> {
    let act = Act::Complete { row_count, cursor: cursor.map(str::to_owned) };
    let unit = Unit::chunk(chunk.sync, &chunk.chunk_hash);
    Ending { unit, owner: owner.to_owned(), token: chunk.token, act }.check()?;
    let sql = localized(schema(place)?, "select tenure.complete_chunk($1, $2, $3, $4, $5, $6)");
    let row_count = row_count.map(|n| n as i64);
    transaction
        .query_typed(&sql, &typed(&[&chunk.matrix_id, &chunk.chunk_hash, &owner, &chunk.token.0, &row_count, &cursor]))
        .await
        .map(drop)
        .map_err(met)
}

/// Fails the caller's transaction unless the chunk is held at this moment, and keeps others from claiming it until it
/// ends, even if the lease runs out meanwhile.
pub async fn chunk_held(
    transaction: &Transaction<'_>,
    place: &Place,
    chunk: &ClaimedChunk,
    owner: &str,
) -> Result<(), TransactionError> {
    let sql = localized(schema(place)?, "select tenure.chunk_held($1, $2, $3, $4)");
    transaction
        .query_typed(&sql, &typed(&[&chunk.matrix_id, &chunk.chunk_hash, &owner, &chunk.token.0]))
        .await
        .map(drop)
        .map_err(met)
}
