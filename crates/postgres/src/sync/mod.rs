//! Syncs, each verb one call of its function in the database.

mod claim;
mod cursor;
mod finish;
mod in_transaction;
mod operate;
mod plan;
mod read;
mod row;

pub(crate) use cursor::ChunkCursors;
pub use in_transaction::{chunk_held, complete_chunk};

use crate::PostgresStore;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::sync::{
    Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, NewChunk, Plan,
    Planned, State, Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, SyncsPruned, SyncsRecovered,
};
use tenure_store::{Fenced, OrRefused, Result, SyncStore};

#[async_trait]
impl SyncStore for PostgresStore {
    async fn plan_sync(&self, plan: Plan) -> Result<OrRefused<Planned>> {
        plan::plan(self, plan).await
    }

    async fn add_chunks(&self, sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>> {
        plan::add(self, sync, chunks).await
    }

    async fn claim_sync(&self, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
        claim::claim_sync(self, claim).await
    }

    async fn claim_chunk(&self, claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>> {
        claim::claim_chunk(self, claim).await
    }

    async fn heartbeat_sync(&self, beat: Beat) -> Result<Fenced<Time>> {
        finish::heartbeat(self, beat).await
    }

    async fn finish_sync(&self, ending: Ending) -> Result<std::result::Result<Ended, Denied>> {
        finish::finish(self, ending).await
    }

    async fn cancel_sync(&self, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>> {
        operate::cancel(self, sync, why).await
    }

    async fn sync(&self, id: SyncId) -> Result<Option<SyncInfo>> {
        read::sync(self, id).await
    }

    async fn syncs(&self, filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<Sync>> {
        read::syncs(self, filter, before, limit).await
    }

    async fn chunk(&self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
        read::chunk(self, sync, chunk_hash).await
    }

    async fn chunks(&self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>> {
        read::chunks(self, sync, filter, after, limit).await
    }

    async fn sync_events(&self, sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>> {
        read::events(self, sync, limit).await
    }

    async fn recover_syncs(&self, leases_max: u32) -> Result<SyncsRecovered> {
        operate::recover(self, leases_max).await
    }

    async fn prune_syncs(&self, max: u32) -> Result<SyncsPruned> {
        operate::prune(self, max).await
    }
}
