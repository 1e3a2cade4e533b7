//! What is answered about syncs.

use crate::reply::paged;
use serde::Serialize;
use tenure::serial::{Json, raw, raw_or_null};
use tenure::{Page, Time, Token, sync};
use utoipa::ToSchema;

/// The answer to a claim of a sync.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncClaimed {
    /// The sync, if one waited.
    pub job: Option<sync::ClaimedSync>,
}

/// The answer to a claim of a chunk.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChunkClaimed {
    /// The chunk, if there was one to take.
    pub chunk: Option<sync::ClaimedChunk>,
    /// Why there was none: `unknown`, `ended`, `held` or `done`.
    pub reason: Option<sync::IdleReason>,
    /// Of `held`: how long until the next lease runs out, unless renewed.
    pub again_in_ms: Option<u64>,
}

impl From<Result<sync::ClaimedChunk, sync::Idle>> for ChunkClaimed {
    fn from(claimed: Result<sync::ClaimedChunk, sync::Idle>) -> ChunkClaimed {
        match claimed {
            Ok(chunk) => ChunkClaimed { chunk: Some(chunk), reason: None, again_in_ms: None },
            Err(idle) => ChunkClaimed { chunk: None, reason: Some(idle.reason), again_in_ms: idle.again_in_ms },
        }
    }
}

/// The answer to an accepted heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncBeaten {
    /// When the lease runs out now.
    pub lease_expires_at: Time,
}

/// The answer to a cancel.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncCancelled {
    /// Where the sync stands: `FAILED`.
    pub state: sync::State,
}

/// A sync.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sync {
    /// Its id; opaque.
    pub id: sync::SyncId,
    /// What is synced.
    pub matrix_id: String,
    /// `AVAILABLE`, `RUNNING`, `EXPIRED`, `COMPLETED` or `FAILED`, as of the instant it was read.
    pub state: sync::State,
    /// Its priority.
    pub priority: i32,
    /// Chunks planned so far.
    pub planned: u64,
    /// Chunks synced more recently than this were not planned again.
    pub skip_if_synced_within_ms: Option<u64>,
    /// Attempts that each chunk may have.
    pub attempts_max: u32,
    /// Leases that ran out since a chunk was last done.
    pub crashes: u32,
    /// So many of them end it.
    pub crashes_max: Option<u32>,
    /// The token of its last claim.
    pub token: Option<Token>,
    /// Who holds it, or held it when the lease ran out.
    pub locked_by: Option<String>,
    /// Until when.
    pub locked_until: Option<Time>,
    /// When it was planned.
    pub created_at: Time,
    /// When it was completed.
    pub completed_at: Option<Time>,
    /// When it failed.
    pub failed_at: Option<Time>,
    /// Why it failed: what its holder said, `cancelled` or `crash_limit`.
    pub error_message: Option<String>,
}

impl From<sync::SyncSummary> for Sync {
    fn from(sync: sync::SyncSummary) -> Sync {
        let standing = sync.standing;
        Sync {
            id: sync.id,
            matrix_id: sync.matrix_id,
            state: sync.state,
            priority: sync.priority,
            planned: sync.planned,
            skip_if_synced_within_ms: sync.skip_if_synced_within_ms,
            attempts_max: sync.attempts_max,
            crashes: sync.crashes,
            crashes_max: sync.crashes_max,
            token: standing.token,
            locked_until: standing.lease.as_ref().map(|lease| lease.expires_at),
            locked_by: standing.lease.map(|lease| lease.owner),
            created_at: sync.created_at,
            completed_at: standing.completed_at,
            failed_at: standing.failed_at,
            error_message: standing.error_message,
        }
    }
}

/// A page of syncs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Syncs {
    /// Newest first.
    pub syncs: Vec<Sync>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

impl From<Page<sync::SyncSummary>> for Syncs {
    fn from(page: Page<sync::SyncSummary>) -> Syncs {
        let (syncs, next_cursor) = paged(page, |sync| sync.id.to_string(), Sync::from);
        Syncs { syncs, next_cursor }
    }
}

/// How far a sync has come, or came before it ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncProgress {
    /// What was counted.
    #[serde(flatten)]
    #[schema(inline)]
    pub counted: sync::Progress,
    /// How long the rest will take at the pace so far; null while nothing is known of it, and once the sync has ended.
    pub eta_ms: Option<u64>,
}

/// A chunk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Chunk {
    /// Its content's name.
    pub chunk_hash: String,
    /// `AVAILABLE`, `RUNNING`, `EXPIRED`, `COMPLETED` or `FAILED`, as of the instant it was read.
    pub state: sync::State,
    /// Its place in the plan, from 1.
    pub ord: u64,
    /// Attempts counted in this pass.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// Rows of its last sync.
    pub row_count: Option<u64>,
    /// When it was last synced, in whichever pass.
    pub last_synced_at: Option<Time>,
    /// What its last sync left for the next.
    #[serde(with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub cursor: Option<String>,
    /// Whether it counts as done because it was synced recently enough.
    pub skipped: bool,
    /// The token of its last claim.
    pub token: Option<Token>,
    /// Who holds it, or held it when the lease ran out.
    pub locked_by: Option<String>,
    /// Until when.
    pub locked_until: Option<Time>,
    /// When it was completed in this pass.
    pub completed_at: Option<Time>,
    /// When it failed for good in this pass.
    pub failed_at: Option<Time>,
    /// What went wrong last in this pass.
    pub error_message: Option<String>,
    /// Why it failed: `failed`, `attempts_spent` or `crash_limit`.
    pub reason: Option<sync::Reason>,
    /// Byte for byte as it was planned.
    #[serde(with = "raw")]
    #[schema(value_type = Json)]
    pub payload: String,
}

impl From<sync::Chunk> for Chunk {
    fn from(chunk: sync::Chunk) -> Chunk {
        let skipped = chunk.skipped();
        let standing = chunk.standing;
        Chunk {
            chunk_hash: chunk.chunk_hash,
            state: chunk.state,
            ord: chunk.ord,
            attempt: chunk.attempt,
            attempts_max: chunk.attempts_max,
            row_count: chunk.row_count,
            last_synced_at: chunk.last_synced_at,
            cursor: chunk.cursor,
            skipped,
            token: standing.token,
            locked_until: standing.lease.as_ref().map(|lease| lease.expires_at),
            locked_by: standing.lease.map(|lease| lease.owner),
            completed_at: standing.completed_at,
            failed_at: standing.failed_at,
            error_message: standing.error_message,
            reason: standing.reason,
            payload: chunk.payload,
        }
    }
}

/// A sync, how far it has come, and a page of its chunks.
#[derive(Debug, Serialize, ToSchema)]
pub struct WholeSync {
    /// The sync.
    #[serde(flatten)]
    pub sync: Sync,
    /// How far it has come.
    pub progress: SyncProgress,
    /// Chunks in the order of the plan. Those that a later pass has taken over are no longer among them.
    pub chunks: Vec<Chunk>,
    /// Where the next page of chunks begins, if there is one.
    pub next_cursor: Option<String>,
}

impl WholeSync {
    /// The sync with a page of its chunks.
    #[must_use]
    pub fn new(info: sync::SyncInfo, chunks: Page<sync::Chunk>) -> WholeSync {
        let (chunks, next_cursor) = paged(chunks, |chunk| chunk.ord.to_string(), Chunk::from);
        let open = info.sync.standing.open();
        let eta_ms = info.progress.eta_ms().filter(|_| open);
        WholeSync {
            sync: info.sync.into(),
            progress: SyncProgress { counted: info.progress, eta_ms },
            chunks,
            next_cursor,
        }
    }
}
