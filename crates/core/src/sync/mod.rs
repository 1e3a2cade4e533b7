//! Syncs: a long copy of a matrix, cut into chunks that are leased, resumed and synced again one by one.
//!
//! Always true:
//! - S1 the state of a sync or chunk is read off its columns at one instant and never stored;
//! - S3 a chunk is named by matrix and hash together, and claiming one needs no lease on its sync;
//! - S4 a chunk keeps its token, its last sync, its row count and its cursor from pass to pass;
//! - S5 a sync completes only when each of its planned chunks has;
//! - S6 a matrix has at most one unfinished sync;
//! - L3 only the holder of the current lease writes, and a refused write changes nothing;
//! - L12 an ending that was accepted once is answered the same again.
//!
//! [`rules`] decides about one unit; [`Syncs`] is all of them as one value.

mod event;
mod model;
mod request;
pub mod rules;
mod unit;

pub use event::{SyncEvent, What, timeline};
pub use model::Syncs;
pub use request::{
    Act, Beat, CHUNK_LEASE_MS_DEFAULT, CHUNKS_MAX, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended,
    Ending, Idle, IdleReason, NewChunk, Plan, Planned, ROW_COUNT_MAX, Refused, SYNC_LEASE_MS_DEFAULT, SyncClaim,
    SyncFilter, SyncsPruned, SyncsRecovered, Verb, check_chunks,
};
pub use rules::RETENTION_MS;
pub use unit::{Chunk, Progress, Reason, Standing, State, Sync, SyncId, SyncInfo, Unit};
