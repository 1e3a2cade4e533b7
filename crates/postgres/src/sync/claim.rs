//! Claims of syncs and of their chunks.

use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at, at_opt, get, word};
use tenure_core::sync::{ChunkClaim, ClaimedChunk, ClaimedSync, Idle, IdleReason, SyncClaim, SyncId};
use tenure_core::{Time, Token};
use tenure_store::Result;

pub(super) async fn claim_sync(store: &PostgresStore, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
    let lease_ms = claim.lease_ms as i64;
    let sql = "select id, matrix_id, priority, created_at, planned, token, locked_until
                 from tenure.claim_sync($1, $2, $3)";
    let rows = store.database.write(sql, &[&claim.owner, &lease_ms, &claim.matrix_id]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(ClaimedSync {
        id: SyncId(get(row, "id")?),
        matrix_id: get(row, "matrix_id")?,
        priority: get(row, "priority")?,
        created_at: at(row, "created_at")?,
        planned: get::<i64>(row, "planned")? as u64,
        token: Token(get(row, "token")?),
        lease_expires_at: at(row, "locked_until")?,
    }))
}

pub(super) async fn claim_chunk(
    store: &PostgresStore,
    claim: ChunkClaim,
) -> Result<std::result::Result<ClaimedChunk, Idle>> {
    let lease_ms = claim.lease_ms as i64;
    let after = store.chunk_cursors.after(claim.sync);
    let rows = store
        .database
        .write(
            "select * from tenure.claim_chunk($1, $2, $3, $4, $5)",
            &[&claim.sync.0, &claim.owner, &lease_ms, &claim.chunk_hash, &after],
        )
        .await?;
    let row = first(rows)?;
    if let Some(reason) = word(&row, "idle", IdleReason::parse)? {
        if reason != IdleReason::Held {
            store.chunk_cursors.found(claim.sync, None);
        }
        // Rounded up: asking a moment too early would find nothing.
        let left = |(until, now): (Time, Time)| Time(until.0.saturating_add(999)).ms_since(now);
        let again_in_ms = at_opt(&row, "until")?.zip(at_opt(&row, "now")?).map(left);
        return Ok(Err(Idle { reason, again_in_ms }));
    }
    let attempt = get::<i32>(&row, "attempt")? as u32;
    // What was claimed before in this pass came from elsewhere than the front of the plan.
    if claim.chunk_hash.is_none() && attempt == 1 {
        store.chunk_cursors.found(claim.sync, Some(get(&row, "ord")?));
    }
    Ok(Ok(ClaimedChunk {
        sync: claim.sync,
        matrix_id: get(&row, "matrix_id")?,
        chunk_hash: get(&row, "chunk_hash")?,
        payload: get(&row, "payload")?,
        attempt,
        attempts_max: get::<i32>(&row, "attempts_max")? as u32,
        token: Token(get(&row, "token")?),
        lease_expires_at: at(&row, "lease_expires_at")?,
        last_synced_at: at_opt(&row, "last_synced_at")?,
        row_count: get::<Option<i64>>(&row, "row_count")?.map(|n| n as u64),
        cursor: get(&row, "cursor")?,
    }))
}
