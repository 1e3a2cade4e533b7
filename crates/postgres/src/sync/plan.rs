//! Plans, and chunks that are added to one.

use super::row::refused;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::get;
use tenure_core::sync::{NewChunk, Plan, Planned, Refused, SyncId};
use tenure_store::{OrRefused, Result};
use tokio_postgres::Row;

pub(super) async fn plan(store: &PostgresStore, plan: Plan) -> Result<OrRefused<Planned>> {
    let (hashes, payloads) = columns(&plan.chunks);
    let skip_ms = plan.skip_if_synced_within_ms.map(|ms| ms as i64);
    let (attempts_max, crashes_max) = (plan.attempts_max as i32, plan.crashes_max.map(|max| max as i32));
    let rows = store
        .database
        .write_patiently(
            "select * from tenure.plan_sync($1, $2, $3, $4, $5, $6, $7)",
            &[&plan.matrix_id, &plan.priority, &skip_ms, &attempts_max, &crashes_max, &hashes, &payloads],
        )
        .await?;
    let row = first(rows)?;
    match get::<Option<i64>>(&row, "unfinished")? {
        Some(id) => Ok(Err(Refused::Unfinished { id: SyncId(id) })),
        None => planned(&row, SyncId(get(&row, "id")?)).map(Ok),
    }
}

pub(super) async fn add(store: &PostgresStore, sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>> {
    let (hashes, payloads) = columns(&chunks);
    let sql = "select * from tenure.add_chunks($1, $2, $3)";
    let row = first(store.database.write_patiently(sql, &[&sync.0, &hashes, &payloads]).await?)?;
    match get::<Option<&str>>(&row, "refusal")? {
        Some(word) => refused(word).map(Err),
        None => planned(&row, sync).map(Ok),
    }
}

fn columns(chunks: &[NewChunk]) -> (Vec<&str>, Vec<&str>) {
    chunks.iter().map(|chunk| (chunk.chunk_hash.as_str(), chunk.payload.as_str())).unzip()
}

fn planned(row: &Row, id: SyncId) -> Result<Planned> {
    let count = |column| get::<i64>(row, column).map(|n| n as u64);
    Ok(Planned { id, planned: count("planned")?, added: count("added")?, skipped: count("skipped")? })
}
