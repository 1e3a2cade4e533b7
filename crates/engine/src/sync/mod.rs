//! Syncs: a long copy of a matrix cut into chunks, each leased, resumable and synced again by itself.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
//! use tenure::Tenure;
//! use tenure::sync::{NewChunk, State};
//!
//! let tenure = Tenure::open("memory:").await?;
//! let chunks = ["2026-01", "2026-02", "2026-03"].map(NewChunk::new);
//! let sync = tenure.matrix("orders").plan(chunks).await?.id;
//!
//! // As many of these as you like, on as many machines.
//! let copy = |chunk: tenure::sync::ClaimedChunk| async move { Ok::<u64, String>(chunk.chunk_hash.len() as u64) };
//! let done = tenure.sync_worker(sync, "worker-1").workers(2).run(copy).await?;
//! assert_eq!((done.sync.state, done.progress.rows), (State::Completed, 21));
//! # Ok(()) }
//! ```

mod handle;
mod held;
mod verbs;
mod worker;

pub use handle::{ClaimChunk, ClaimSync, ListChunks, ListSyncs, MatrixHandle, PlanSync, SyncHandle};
pub use held::{HeldChunk, HeldSync};

pub use tenure_core::sync::{
    Act, Beat, CHUNK_LEASE_MS_DEFAULT, CHUNKS_MAX, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied,
    Ended, Ending, Idle, IdleReason, NewChunk, Plan, Planned, Progress, ROW_COUNT_MAX, Reason, Refused,
    SYNC_LEASE_MS_DEFAULT, Standing, State, Sync as SyncSummary, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo,
    SyncsPruned, SyncsRecovered, Unit, Verb, What,
};
pub(crate) use worker::chunks_of;
pub use worker::{ChunkContext, Chunks, SyncWorker, Synced};
