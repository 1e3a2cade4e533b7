//! What the holder of a sync or chunk writes: heartbeats and endings.

use super::row::state;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at, get, word};
use tenure_core::sync::{Act, Beat, Denied, Ended, Ending, Refused, Unit};
use tenure_core::{LostReason, Time};
use tenure_store::{Fenced, Result};

fn hash(unit: &Unit) -> &str {
    unit.chunk_hash.as_deref().unwrap_or_default()
}

pub(super) async fn heartbeat(store: &PostgresStore, beat: Beat) -> Result<Fenced<Time>> {
    let hash = hash(&beat.unit);
    let sql = "select until, lost from tenure.heartbeat_sync($1, $2, $3, $4)";
    let row = first(store.database.write(sql, &[&beat.unit.sync.0, &hash, &beat.owner, &beat.token.0]).await?)?;
    match word(&row, "lost", LostReason::parse)? {
        Some(reason) => Ok(Err(reason)),
        None => at(&row, "until").map(Ok),
    }
}

pub(super) async fn finish(store: &PostgresStore, ending: Ending) -> Result<std::result::Result<Ended, Denied>> {
    let (row_count, cursor, error, retry) = match &ending.act {
        Act::Complete { row_count, cursor } => (row_count.map(|n| n as i64), cursor.as_deref(), None, false),
        Act::Fail { error, retry } => (None, None, Some(error.as_str()), *retry),
        Act::Release => (None, None, None, false),
    };
    let (hash, verb) = (hash(&ending.unit), ending.act.verb().as_str());
    let rows = store
        .database
        .write(
            "select * from tenure.finish_sync($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[&ending.unit.sync.0, &hash, &ending.owner, &ending.token.0, &verb, &row_count, &cursor, &error, &retry],
        )
        .await?;
    let row = first(rows)?;
    if let Some(reason) = word(&row, "lost", LostReason::parse)? {
        return Ok(Err(Denied::Lost(reason)));
    }
    if get::<Option<&str>>(&row, "state")?.is_none() {
        let count = |column| get::<Option<i64>>(&row, column).map(|n| n.unwrap_or(0) as u64);
        let incomplete = Refused::Incomplete { left: count("open_chunks")?, failed: count("failed_chunks")? };
        return Ok(Err(Denied::Refused(incomplete)));
    }
    Ok(Ok(Ended { state: state(&row)?, already: get(&row, "already")? }))
}
