//! Looking: each answer is one statement, at one instant.

use super::row;
use crate::PostgresStore;
use crate::value::page;
use tenure_core::Page;
use tenure_core::sync::{Chunk, ChunkFilter, State, Sync, SyncEvent, SyncFilter, SyncId, SyncInfo};
use tenure_store::Result;

pub(super) async fn sync(store: &PostgresStore, id: SyncId) -> Result<Option<SyncInfo>> {
    let rows = store.database.read("select * from tenure.show_sync($1)", &[&id.0]).await?;
    let Some(found) = rows.first() else { return Ok(None) };
    let sync = row::sync(found)?;
    let progress = match sync.ended {
        Some(progress) => progress,
        None => row::progress(found)?,
    };
    Ok(Some(SyncInfo { sync, progress }))
}

pub(super) async fn syncs(
    store: &PostgresStore,
    filter: SyncFilter,
    before: Option<SyncId>,
    limit: u32,
) -> Result<Page<Sync>> {
    let below = before.map_or(i64::MAX, |id| id.0);
    let state = filter.state.map(State::as_str);
    // One more than asked for tells whether there are more.
    let ask = i64::from(limit) + 1;
    let rows = store
        .database
        .read(include_str!("../../queries/sync/jobs.sql"), &[&below, &ask, &filter.matrix_id, &state])
        .await?;
    page(&rows, limit, row::sync)
}

pub(super) async fn chunk(store: &PostgresStore, id: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
    let rows = store.database.read(include_str!("../../queries/sync/chunk.sql"), &[&id.0, &chunk_hash]).await?;
    rows.first().map(row::chunk).transpose()
}

pub(super) async fn chunks(
    store: &PostgresStore,
    id: SyncId,
    filter: ChunkFilter,
    after: u64,
    limit: u32,
) -> Result<Page<Chunk>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let (ask, state) = (i64::from(limit) + 1, filter.state.map(State::as_str));
    let rows =
        store.database.read(include_str!("../../queries/sync/chunks.sql"), &[&id.0, &after, &ask, &state]).await?;
    page(&rows, limit, row::chunk)
}

pub(super) async fn events(store: &PostgresStore, id: SyncId, limit: u32) -> Result<Vec<SyncEvent>> {
    let ask = i64::from(limit);
    let rows = store.database.read(include_str!("../../queries/sync/events.sql"), &[&id.0, &ask]).await?;
    rows.iter().rev().map(row::event).collect()
}
