//! Plans: a pass over a matrix and its chunks (S4, S6).

use super::row;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::{OptionalExtension, params};
use tenure_core::sync::{NewChunk, Plan, Planned, Refused, Sync, SyncId};
use tenure_store::OrRefused;

/// Plans a pass, unless an earlier one has not ended.
pub(super) fn plan(step: &Step<'_>, plan: &Plan) -> Done<OrRefused<Planned>> {
    let mut unfinished = step.conn.prepare_cached(sql::SYNC_UNFINISHED)?;
    if let Some(id) = unfinished.query_row([&plan.matrix_id], |row| row.get(0)).optional()? {
        return Ok(Err(Refused::Unfinished { id: SyncId(id) }));
    }
    let new = params![
        plan.matrix_id,
        plan.priority,
        step.now.0,
        plan.skip_if_synced_within_ms,
        plan.attempts_max,
        plan.crashes_max,
    ];
    let id = SyncId(step.conn.prepare_cached(sql::SYNC_PLAN)?.query_row(new, |row| row.get(0))?);
    let Some(sync) = row::find_sync(step, id)? else { return Ok(Err(Refused::Absent)) };
    lay(step, &sync, &plan.chunks).map(Ok)
}

/// Adds chunks to a sync that has not ended.
pub(super) fn add(step: &Step<'_>, id: SyncId, chunks: &[NewChunk]) -> Done<OrRefused<Planned>> {
    match row::find_sync(step, id)? {
        None => Ok(Err(Refused::Absent)),
        Some(sync) if !sync.standing.open() => Ok(Err(Refused::Terminal)),
        Some(sync) => lay(step, &sync, chunks).map(Ok),
    }
}

/// Puts chunks at the end of a plan; those it has already stay as they are.
fn lay(step: &Step<'_>, sync: &Sync, chunks: &[NewChunk]) -> Done<Planned> {
    let mut planned = Planned { id: sync.id, planned: sync.planned, added: 0, skipped: 0 };
    let micros = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000);
    let synced_after = sync.skip_if_synced_within_ms.map(|ms| step.now.0.saturating_sub(micros(ms)));
    let mut lay = step.conn.prepare_cached(sql::SYNC_LAY)?;
    for chunk in chunks {
        let ord = planned.planned + 1;
        let params = params![
            sync.matrix_id,
            chunk.chunk_hash,
            sync.id.0,
            ord,
            sync.attempts_max,
            chunk.payload,
            step.now.0,
            synced_after,
        ];
        if let Some(skipped) = lay.query_row(params, |row| row.get::<_, bool>(0)).optional()? {
            planned.planned = ord;
            planned.added += 1;
            planned.skipped += u64::from(skipped);
        }
    }
    step.conn.prepare_cached(sql::SYNC_PLANNED)?.execute((sync.id.0, planned.planned))?;
    Ok(planned)
}
