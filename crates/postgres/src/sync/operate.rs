//! What ends without a holder: cancelled syncs, leases that ran out, what is no longer kept.

use super::row::{refused, state};
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::get;
use tenure_core::sync::{State, SyncId, SyncsPruned, SyncsRecovered};
use tenure_store::{OrRefused, Result};

pub(super) async fn cancel(store: &PostgresStore, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>> {
    let sql = "select state, refusal from tenure.cancel_sync($1, $2, $3)";
    let row = first(store.database.write_patiently(sql, &[&sync.0, &why, &store.actor.as_str()]).await?)?;
    match get::<Option<&str>>(&row, "refusal")? {
        Some(word) => refused(word).map(Err),
        None => state(&row).map(Ok),
    }
}

pub(super) async fn recover(store: &PostgresStore, leases_max: u32) -> Result<SyncsRecovered> {
    let max = leases_max as i32;
    let sql = "select leases, failed from tenure.recover_syncs($1)";
    let row = first(store.database.write(sql, &[&max]).await?)?;
    let count = |column| get::<i32>(&row, column).map(|n| n as u32);
    Ok(SyncsRecovered { leases: count("leases")?, failed: count("failed")? })
}

pub(super) async fn prune(store: &PostgresStore, max: u32) -> Result<SyncsPruned> {
    let max = max as i32;
    let sql = "select syncs, chunks, events, receipts from tenure.prune_syncs($1)";
    let row = first(store.database.write(sql, &[&max]).await?)?;
    let count = |column| get::<i32>(&row, column).map(|n| n as u32);
    Ok(SyncsPruned {
        syncs: count("syncs")?,
        chunks: count("chunks")?,
        events: count("events")?,
        receipts: count("receipts")?,
    })
}
