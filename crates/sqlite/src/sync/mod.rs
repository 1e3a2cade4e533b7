//! Syncs, one file for each kind of verb. Each verb is one step inside a transaction that was begun before, only a large plan
//! is several (see `plan.rs`): rows are read,
//! [`tenure_core::sync`] decides, and what it decided is written under the guard of matrix, hash and token.

mod claim;
mod finish;
pub(crate) mod in_transaction;
mod operate;
mod plan;
mod read;
mod row;

use crate::SqliteStore;
use crate::inbox::{Lane, Step};
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::sync::{
    Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, NewChunk, Plan,
    Planned, State, Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, SyncsPruned, SyncsRecovered,
};
use tenure_store::{Fenced, OrRefused, Result, SyncStore};

#[async_trait]
impl SyncStore for SqliteStore {
    async fn plan_sync(&self, plan: Plan) -> Result<OrRefused<Planned>> {
        let weight = plan.chunks.len().min(plan::PART);
        let work = move |step: &Step<'_>, stage: &plan::Stage| plan::plan(step, &plan, stage);
        self.writes.ask_in_parts(weight, plan::Stage::Begin, plan::Stage::undo, work).await
    }

    async fn add_chunks(&self, sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>> {
        self.write(chunks.len(), move |step| plan::add(step, sync, &chunks)).await
    }

    async fn claim_sync(&self, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
        self.write(1, move |step| claim::sync(step, &claim)).await
    }

    async fn claim_chunk(&self, claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>> {
        self.write(1, move |step| claim::chunk(step, &claim)).await
    }

    async fn heartbeat_sync(&self, beat: Beat) -> Result<Fenced<Time>> {
        self.writes.ask(Lane::Urgent, 1, move |step| finish::heartbeat(step, &beat)).await
    }

    async fn finish_sync(&self, ending: Ending) -> Result<std::result::Result<Ended, Denied>> {
        self.write(1, move |step| finish::finish(step, &ending)).await
    }

    async fn cancel_sync(&self, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>> {
        let by = self.actor.clone();
        self.write(1, move |step| operate::cancel(step, sync, why.as_deref(), &by)).await
    }

    async fn sync(&self, id: SyncId) -> Result<Option<SyncInfo>> {
        self.read(move |step| read::sync(step, id)).await
    }

    async fn syncs(&self, filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<Sync>> {
        self.read(move |step| read::syncs(step, &filter, before, limit)).await
    }

    async fn chunk(&self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
        let hash = chunk_hash.to_owned();
        self.read(move |step| read::chunk(step, sync, &hash)).await
    }

    async fn chunks(&self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>> {
        self.read(move |step| read::chunks(step, sync, &filter, after, limit)).await
    }

    async fn sync_events(&self, sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>> {
        self.read(move |step| read::events(step, sync, limit)).await
    }

    async fn recover_syncs(&self, leases_max: u32) -> Result<SyncsRecovered> {
        self.write(leases_max as usize, move |step| operate::recover(step, leases_max)).await
    }

    async fn prune_syncs(&self, max: u32) -> Result<SyncsPruned> {
        self.write(max as usize, move |step| operate::prune(step, max)).await
    }
}
