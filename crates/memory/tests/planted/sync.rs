//! The queue's mistakes leave syncs as they are.

use super::wrong::Wrong;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::sync::{
    Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, NewChunk, Plan,
    Planned, State, Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, SyncsPruned, SyncsRecovered,
};
use tenure_store::{Fenced, OrRefused, Result, SyncStore};

#[async_trait]
impl SyncStore for Wrong {
    async fn plan_sync(&self, plan: Plan) -> Result<OrRefused<Planned>> {
        self.right.plan_sync(plan).await
    }

    async fn add_chunks(&self, sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>> {
        self.right.add_chunks(sync, chunks).await
    }

    async fn claim_sync(&self, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
        self.right.claim_sync(claim).await
    }

    async fn claim_chunk(&self, claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>> {
        self.right.claim_chunk(claim).await
    }

    async fn heartbeat_sync(&self, beat: Beat) -> Result<Fenced<Time>> {
        self.right.heartbeat_sync(beat).await
    }

    async fn finish_sync(&self, ending: Ending) -> Result<std::result::Result<Ended, Denied>> {
        self.right.finish_sync(ending).await
    }

    async fn cancel_sync(&self, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>> {
        self.right.cancel_sync(sync, why).await
    }

    async fn sync(&self, id: SyncId) -> Result<Option<SyncInfo>> {
        self.right.sync(id).await
    }

    async fn syncs(&self, filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<Sync>> {
        self.right.syncs(filter, before, limit).await
    }

    async fn chunk(&self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
        self.right.chunk(sync, chunk_hash).await
    }

    async fn chunks(&self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>> {
        self.right.chunks(sync, filter, after, limit).await
    }

    async fn sync_events(&self, sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>> {
        self.right.sync_events(sync, limit).await
    }

    async fn recover_syncs(&self, leases_max: u32) -> Result<SyncsRecovered> {
        self.right.recover_syncs(leases_max).await
    }

    async fn prune_syncs(&self, max: u32) -> Result<SyncsPruned> {
        self.right.prune_syncs(max).await
    }
}
