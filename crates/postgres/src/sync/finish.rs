//! What the holder of a sync or chunk writes: heartbeats and endings.

use super::row::state;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at, get, word};
use tenure_core::sync::{Act, Beat, Denied, Ended, Ending, Refused, Unit};
use tenure_core::{LostReason, Time};
use tenure_store::{Fenced, Result};
use tokio_postgres::types::Type;

fn hash(unit: &Unit) -> &str {
    unit.chunk_hash.as_deref().unwrap_or_default()
}

pub(super) async fn heartbeat(store: &PostgresStore, beat: Beat) -> Result<Fenced<Time>> {
    let hash = hash(&beat.unit);
    let sql = "select until, lost from tenure.heartbeat_sync($1, $2, $3, $4)";
    let params = [
        (&beat.unit.sync.0 as _, Type::INT8),
        (&hash as _, Type::TEXT),
        (&beat.owner as _, Type::TEXT),
        (&beat.token.0 as _, Type::INT8),
    ];
    let row = first(store.database.write(sql, &params).await?)?;
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
            &[
                (&ending.unit.sync.0, Type::INT8),
                (&hash, Type::TEXT),
                (&ending.owner, Type::TEXT),
                (&ending.token.0, Type::INT8),
                (&verb, Type::TEXT),
                (&row_count, Type::INT8),
                (&cursor, Type::TEXT),
                (&error, Type::TEXT),
                (&retry, Type::BOOL),
            ],
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
