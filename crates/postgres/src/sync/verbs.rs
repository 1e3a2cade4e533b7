//! The verbs: requests become parameters, rows become answers.

use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at, at_opt, get, some_word, word};
use tenure_core::sync::{
    Act, Beat, ChunkClaim, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, IdleReason, NewChunk, Plan, Planned,
    Refused, State, SyncClaim, SyncId, SyncsPruned, SyncsRecovered, Unit,
};
use tenure_core::{LostReason, Time, Token};
use tenure_store::{Fenced, OrRefused, Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

pub(super) async fn plan(store: &PostgresStore, plan: Plan) -> Result<OrRefused<Planned>> {
    let (hashes, payloads) = columns(&plan.chunks);
    let skip_ms = plan.skip_if_synced_within_ms.map(|ms| ms as i64);
    let (attempts_max, crashes_max) = (plan.attempts_max as i32, plan.crashes_max.map(|max| max as i32));
    let rows = store
        .database
        .write_patiently(
            "select * from tenure.plan_sync($1, $2, $3, $4, $5, $6, $7)",
            &[
                (&plan.matrix_id, Type::TEXT),
                (&plan.priority, Type::INT4),
                (&skip_ms, Type::INT8),
                (&attempts_max, Type::INT4),
                (&crashes_max, Type::INT4),
                (&hashes, Type::TEXT_ARRAY),
                (&payloads, Type::TEXT_ARRAY),
            ],
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
    let params = [(&sync.0 as _, Type::INT8), (&hashes as _, Type::TEXT_ARRAY), (&payloads as _, Type::TEXT_ARRAY)];
    let row = first(store.database.write_patiently(sql, &params).await?)?;
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

fn refused(word: &str) -> Result<Refused> {
    match word {
        "not_found" => Ok(Refused::Absent),
        "terminal" => Ok(Refused::Terminal),
        _ => Err(StoreError::broken(format!("refusal `{word}`"))),
    }
}

pub(super) async fn claim_sync(store: &PostgresStore, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
    let lease_ms = claim.lease_ms as i64;
    let sql = "select id, matrix_id, priority, created_at, planned, token, locked_until
                 from tenure.claim_sync($1, $2, $3)";
    let params = [(&claim.owner as _, Type::TEXT), (&lease_ms as _, Type::INT8), (&claim.matrix_id as _, Type::TEXT)];
    let rows = store.database.write(sql, &params).await?;
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
            &[
                (&claim.sync.0, Type::INT8),
                (&claim.owner, Type::TEXT),
                (&lease_ms, Type::INT8),
                (&claim.chunk_hash, Type::TEXT),
                (&after, Type::INT8),
            ],
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

fn hash(unit: &Unit) -> &str {
    unit.chunk_hash.as_deref().unwrap_or_default()
}

pub(super) fn state(row: &Row) -> Result<State> {
    some_word(row, "state", State::parse)
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

pub(super) async fn cancel(store: &PostgresStore, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>> {
    let sql = "select state, refusal from tenure.cancel_sync($1, $2, $3)";
    let params = [(&sync.0 as _, Type::INT8), (&why as _, Type::TEXT), (&store.actor.as_str() as _, Type::TEXT)];
    let row = first(store.database.write_patiently(sql, &params).await?)?;
    match get::<Option<&str>>(&row, "refusal")? {
        Some(word) => refused(word).map(Err),
        None => state(&row).map(Ok),
    }
}

pub(super) async fn recover(store: &PostgresStore, leases_max: u32) -> Result<SyncsRecovered> {
    let max = leases_max as i32;
    let sql = "select leases, failed from tenure.recover_syncs($1)";
    let row = first(store.database.write(sql, &[(&max, Type::INT4)]).await?)?;
    let count = |column| get::<i32>(&row, column).map(|n| n as u32);
    Ok(SyncsRecovered { leases: count("leases")?, failed: count("failed")? })
}

pub(super) async fn prune(store: &PostgresStore, max: u32) -> Result<SyncsPruned> {
    let max = max as i32;
    let sql = "select syncs, chunks, events, receipts from tenure.prune_syncs($1)";
    let row = first(store.database.write(sql, &[(&max, Type::INT4)]).await?)?;
    let count = |column| get::<i32>(&row, column).map(|n| n as u32);
    Ok(SyncsPruned {
        syncs: count("syncs")?,
        chunks: count("chunks")?,
        events: count("events")?,
        receipts: count("receipts")?,
    })
}
