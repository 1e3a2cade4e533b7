//! Syncs behind a lock of their own.

use crate::MemoryStore;
use async_trait::async_trait;
use std::sync::{MutexGuard, PoisonError};
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::sync::{
    Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, NewChunk, Plan,
    Planned, State, Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, Syncs, SyncsPruned, SyncsRecovered,
};
use tenure_store::{Fenced, OrRefused, Result, SyncStore};

impl MemoryStore {
    /// The syncs, and the instant at which they were locked (L5: read after the lock).
    fn locked_syncs(&self) -> (MutexGuard<'_, Syncs>, Time) {
        // A step of core either happens or panics before it changes anything a reader relies on.
        let syncs = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
        (syncs, self.clock.now())
    }
}

#[async_trait]
impl SyncStore for MemoryStore {
    async fn plan_sync(&self, plan: Plan) -> Result<OrRefused<Planned>> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.plan(plan, now))
    }

    async fn add_chunks(&self, sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.add(sync, chunks, now))
    }

    async fn claim_sync(&self, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
        let mut queues = self.locked().0;
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.claim_sync(&claim, queues.tokens(), now))
    }

    async fn claim_chunk(&self, claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>> {
        let mut queues = self.locked().0;
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.claim_chunk(&claim, queues.tokens(), now))
    }

    async fn heartbeat_sync(&self, beat: Beat) -> Result<Fenced<Time>> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.heartbeat(&beat, now))
    }

    async fn finish_sync(&self, ending: Ending) -> Result<std::result::Result<Ended, Denied>> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.finish(&ending, now))
    }

    async fn cancel_sync(&self, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.cancel(sync, why.as_deref(), &self.actor, now))
    }

    async fn sync(&self, id: SyncId) -> Result<Option<SyncInfo>> {
        let (syncs, now) = self.locked_syncs();
        Ok(syncs.sync(id, now))
    }

    async fn syncs(&self, filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<Sync>> {
        let (syncs, now) = self.locked_syncs();
        Ok(syncs.syncs(&filter, before, limit as usize, now))
    }

    async fn chunk(&self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
        let (syncs, now) = self.locked_syncs();
        Ok(syncs.chunk(sync, chunk_hash, now))
    }

    async fn chunks(&self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>> {
        let (syncs, now) = self.locked_syncs();
        Ok(syncs.chunks(sync, &filter, after, limit as usize, now))
    }

    async fn sync_events(&self, sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>> {
        Ok(self.locked_syncs().0.events(sync, limit as usize))
    }

    async fn recover_syncs(&self, leases_max: u32) -> Result<SyncsRecovered> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.recover(leases_max as usize, now))
    }

    async fn prune_syncs(&self, max: u32) -> Result<SyncsPruned> {
        let (mut syncs, now) = self.locked_syncs();
        Ok(syncs.prune(max as usize, now))
    }
}
