//! Reading: each answer is one state of the file, at one instant.

use super::row;
use crate::column::{self, all};
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::Page;
use tenure_core::sync::{
    Chunk, ChunkFilter, Progress, Reason, State, Sync, SyncEvent, SyncFilter, SyncId, SyncInfo, Verb, What,
};
use tenure_core::{LostReason, Time};

/// One sync and how far it has come.
pub(super) fn sync(step: &Step<'_>, id: SyncId) -> Done<Option<SyncInfo>> {
    let Some(sync) = row::find_sync(step, id)? else { return Ok(None) };
    let progress = match sync.ended {
        Some(progress) => progress,
        None => progress(step, id)?,
    };
    Ok(Some(SyncInfo { sync, progress }))
}

/// How far a sync has come.
pub(super) fn progress(step: &Step<'_>, id: SyncId) -> Done<Progress> {
    let mut select = step.conn.prepare_cached(sql::SYNC_PROGRESS)?;
    Ok(select.query_row((id.0, step.now.0), |row| {
        Ok(Progress {
            available: row.get(0)?,
            running: row.get(1)?,
            expired: row.get(2)?,
            completed: row.get(3)?,
            failed: row.get(4)?,
            skipped: row.get(5)?,
            rows: row.get(6)?,
            began_at: column::time_opt(row, 7)?,
            last_done_at: column::time_opt(row, 8)?,
        })
    })?)
}

/// Syncs that match, newest first, from below `before`.
pub(super) fn syncs(step: &Step<'_>, filter: &SyncFilter, before: Option<SyncId>, limit: u32) -> Done<Page<Sync>> {
    let below = before.map_or(i64::MAX, |id| id.0);
    let state = filter.state.map(State::as_str);
    let sql = if filter.matrix_id.is_some() { sql::SYNC_JOBS_OF } else { sql::SYNC_JOBS };
    // One more than asked for tells whether there are more.
    let params = params![below, limit.saturating_add(1), filter.matrix_id, state, step.now.0];
    Ok(Page::cut(all(step.conn, sql, params, |row| row::sync(row, step.now))?, limit as usize))
}

/// One chunk of a sync.
pub(super) fn chunk(step: &Step<'_>, id: SyncId, chunk_hash: &str) -> Done<Option<Chunk>> {
    let Some(sync) = row::find_sync(step, id)? else { return Ok(None) };
    Ok(row::find_chunk(step, &sync.matrix_id, chunk_hash)?.filter(|chunk| chunk.sync == id))
}

/// Chunks of a sync that match, in the order of the plan, from after `after`.
pub(super) fn chunks(step: &Step<'_>, id: SyncId, filter: &ChunkFilter, after: u64, limit: u32) -> Done<Page<Chunk>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let params = params![id.0, after, limit.saturating_add(1), filter.state.map(State::as_str), step.now.0];
    Ok(Page::cut(all(step.conn, sql::SYNC_CHUNKS, params, |row| row::chunk(row, step.now))?, limit as usize))
}

/// The latest events of a sync, oldest first.
pub(super) fn events(step: &Step<'_>, id: SyncId, limit: u32) -> Done<Vec<SyncEvent>> {
    let mut events = all(step.conn, sql::SYNC_EVENTS, (id.0, limit), |row| {
        Ok(SyncEvent {
            at: Time(row.get("at")?),
            first_at: column::time_opt(row, "first_at")?,
            sync: id,
            chunk_hash: column::filled(row, "chunk_hash")?,
            what: column::word(row, "what", What::parse)?,
            token: column::token_opt(row, "token")?,
            owner: row.get("owner")?,
            by: row.get("by")?,
            attempt: row.get("attempt")?,
            verb: column::word_opt(row, "verb", Verb::parse)?,
            lost: column::word_opt(row, "lost", LostReason::parse)?,
            reason: column::word_opt(row, "reason", Reason::parse)?,
            error: row.get("error")?,
            count: row.get("count")?,
        })
    })?;
    events.reverse();
    Ok(events)
}
