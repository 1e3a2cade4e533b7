//! What can be read of syncs, each as of one instant.

use super::super::event::SyncEvent;
use super::super::request::{ChunkFilter, SyncFilter};
use super::super::unit::{Chunk, Progress, Sync, SyncId, SyncInfo};
use super::Syncs;
use crate::page::Page;
use crate::time::Time;

impl Syncs {
    /// One sync and how far it has come.
    #[must_use]
    pub fn sync(&self, id: SyncId, now: Time) -> Option<SyncInfo> {
        let sync = self.syncs.get(&id)?;
        Some(SyncInfo { sync: shown(sync, now), progress: sync.ended.unwrap_or_else(|| self.progress(id, now)) })
    }

    /// Syncs that match, newest first, from below `before`.
    #[must_use]
    pub fn syncs(&self, filter: &SyncFilter, before: Option<SyncId>, limit: usize, now: Time) -> Page<Sync> {
        let below = before.unwrap_or(SyncId(i64::MAX));
        let wanted = |sync: &&Sync| {
            filter.matrix_id.as_ref().is_none_or(|matrix| *matrix == sync.matrix_id)
                && filter.state.is_none_or(|state| state == sync.standing.state(now))
        };
        let found = self.syncs.range(..below).rev().map(|(_, sync)| sync).filter(wanted);
        Page::cut(found.map(|sync| shown(sync, now)), limit)
    }

    /// One chunk of a sync.
    #[must_use]
    pub fn chunk(&self, id: SyncId, chunk_hash: &str, now: Time) -> Option<Chunk> {
        let matrix_id = &self.syncs.get(&id)?.matrix_id;
        let chunk = self.chunks.get(&(matrix_id.clone(), chunk_hash.to_owned()))?;
        (chunk.sync == id).then(|| shown_chunk(chunk, now))
    }

    /// Chunks of a sync that match, in the order of the plan, from after the place `after`.
    #[must_use]
    pub fn chunks(&self, id: SyncId, filter: &ChunkFilter, after: u64, limit: usize, now: Time) -> Page<Chunk> {
        let Some(sync) = self.syncs.get(&id) else { return Page { items: Vec::new(), more: false } };
        let of_plan = self.order.range((id, after.saturating_add(1))..=(id, u64::MAX));
        let chunks = of_plan.filter_map(|(_, hash)| self.chunks.get(&(sync.matrix_id.clone(), hash.clone())));
        let wanted = |chunk: &&Chunk| filter.state.is_none_or(|state| state == chunk.standing.state(now));
        let found = chunks.filter(wanted);
        Page::cut(found.map(|chunk| shown_chunk(chunk, now)), limit)
    }

    /// The latest events stored for a sync and its chunks, oldest first.
    #[must_use]
    pub fn events(&self, id: SyncId, limit: usize) -> Vec<SyncEvent> {
        let events = self.events.get(&id).map_or(&[][..], Vec::as_slice);
        events[events.len().saturating_sub(limit)..].to_vec()
    }

    /// How far a sync has come.
    pub(super) fn progress(&self, id: SyncId, now: Time) -> Progress {
        let Some(sync) = self.syncs.get(&id) else { return Progress::default() };
        let hashes = self.order.range((id, 0)..=(id, u64::MAX)).map(|(_, hash)| hash);
        let chunks = hashes.filter_map(|hash| self.chunks.get(&(sync.matrix_id.clone(), hash.clone())));
        chunks.fold(Progress::default(), |progress, chunk| progress.plus(chunk, now))
    }
}

fn shown(sync: &Sync, now: Time) -> Sync {
    Sync { state: sync.standing.state(now), ..sync.clone() }
}

fn shown_chunk(chunk: &Chunk, now: Time) -> Chunk {
    Chunk { state: chunk.standing.state(now), ..chunk.clone() }
}
