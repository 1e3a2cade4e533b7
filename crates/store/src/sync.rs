//! What a backend must do for syncs.

use crate::{Fenced, Result};
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::sync::{
    Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, NewChunk, Plan,
    Planned, Refused, State, Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, SyncsPruned, SyncsRecovered,
};

/// An answer that may be a refusal: nothing was changed.
pub type OrRefused<T> = std::result::Result<T, Refused>;

/// Syncs and their chunks. Every method is one transaction on the store's own clock, and every write to a chunk names
/// its matrix and its hash (S3).
#[async_trait]
pub trait SyncStore: Send + std::marker::Sync + 'static {
    /// Plans a pass over a matrix with its chunks, all or none, unless an earlier pass has not ended (S4, S6).
    async fn plan_sync(&self, plan: Plan) -> Result<OrRefused<Planned>>;

    /// Adds chunks to a sync that has not ended; those it has already stay as they are.
    async fn add_chunks(&self, sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>>;

    /// Takes the first sync that waits or whose lease ran out (S2).
    async fn claim_sync(&self, claim: SyncClaim) -> Result<Option<ClaimedSync>>;

    /// Takes the next chunk of a sync, or the one that is named; needs no lease on the sync (S3).
    async fn claim_chunk(&self, claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>>;

    /// Renews the lease of a sync or a chunk; the new deadline.
    async fn heartbeat_sync(&self, beat: Beat) -> Result<Fenced<Time>>;

    /// Ends a claim of a sync or a chunk.
    async fn finish_sync(&self, ending: Ending) -> Result<std::result::Result<Ended, Denied>>;

    /// Ends a sync at once, and the leases of its chunks with it (S6).
    async fn cancel_sync(&self, sync: SyncId, why: Option<String>) -> Result<OrRefused<State>>;

    /// One sync and how far it has come, as of one instant.
    async fn sync(&self, id: SyncId) -> Result<Option<SyncInfo>>;

    /// Syncs that match, newest first, from below `before`.
    async fn syncs(&self, filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<Sync>>;

    /// One chunk of a sync.
    async fn chunk(&self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>>;

    /// Chunks of a sync that match, in the order of the plan, from after the place `after`.
    async fn chunks(&self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>>;

    /// The latest events stored for a sync and its chunks, oldest first (L8).
    async fn sync_events(&self, sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>>;

    /// Writes down leases that ran out, once for each token, and applies the crash limits (L7).
    async fn recover_syncs(&self, leases_max: u32) -> Result<SyncsRecovered>;

    /// Removes what is no longer kept, at most `max` of each kind (I19).
    async fn prune_syncs(&self, max: u32) -> Result<SyncsPruned>;
}
