//! What is answered about syncs.

use crate::reply::{Json, paged};
use serde::Serialize;
use tenure::sync;
use tenure::{Page, Time};
use utoipa::ToSchema;

/// The answer to a plan, and to chunks added to one.
#[derive(Debug, Serialize, ToSchema)]
pub struct Planned {
    /// The sync; opaque.
    pub id: String,
    /// Chunks planned so far.
    pub planned: u64,
    /// Chunks that this call added.
    pub added: u64,
    /// Those among them that count as done, because they were synced recently enough.
    pub skipped: u64,
}

impl From<sync::Planned> for Planned {
    fn from(planned: sync::Planned) -> Planned {
        let sync::Planned { id, planned, added, skipped } = planned;
        Planned { id: id.to_string(), planned, added, skipped }
    }
}

/// The answer to a claim of a sync.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncClaimed {
    /// The sync, if one waited.
    pub job: Option<ClaimedSync>,
}

/// A sync in the hands of its claimer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedSync {
    /// The sync; opaque.
    pub id: String,
    /// What is synced.
    pub matrix_id: String,
    /// Its priority.
    pub priority: i32,
    /// Chunks planned so far.
    pub planned: u64,
    /// When it was planned.
    pub created_at: Time,
    /// The fencing token of this claim.
    pub token: i64,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
}

impl From<Option<sync::ClaimedSync>> for SyncClaimed {
    fn from(claimed: Option<sync::ClaimedSync>) -> SyncClaimed {
        let one = |claimed: sync::ClaimedSync| ClaimedSync {
            id: claimed.id.to_string(),
            matrix_id: claimed.matrix_id,
            priority: claimed.priority,
            planned: claimed.planned,
            created_at: claimed.created_at,
            token: claimed.token.0,
            lease_expires_at: claimed.lease_expires_at,
        };
        SyncClaimed { job: claimed.map(one) }
    }
}

/// The answer to a claim of a chunk.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChunkClaimed {
    /// The chunk, if there was one to take.
    pub chunk: Option<ClaimedChunk>,
    /// Why there was none: `unknown`, `ended`, `held` or `done`.
    pub reason: Option<&'static str>,
    /// Of `held`: how long until the next lease runs out, unless renewed.
    pub again_in_ms: Option<u64>,
}

/// A chunk in the hands of its claimer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedChunk {
    /// The sync it is a part of.
    pub sync: String,
    /// The matrix it is a part of.
    pub matrix_id: String,
    /// Its content's name.
    pub chunk_hash: String,
    /// Byte for byte as it was planned.
    pub payload: Json,
    /// Which attempt of this pass this is, from 1.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// The fencing token of this claim.
    pub token: i64,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
    /// When it was last synced, in whichever pass.
    pub last_synced_at: Option<Time>,
    /// Rows of its last sync.
    pub row_count: Option<u64>,
    /// What its last sync left for this one.
    pub cursor: Option<Json>,
}

impl From<Result<sync::ClaimedChunk, sync::Idle>> for ChunkClaimed {
    fn from(claimed: Result<sync::ClaimedChunk, sync::Idle>) -> ChunkClaimed {
        match claimed {
            Err(sync::Idle { reason, again_in_ms }) => {
                ChunkClaimed { chunk: None, reason: Some(reason.as_str()), again_in_ms }
            }
            Ok(chunk) => {
                let chunk = ClaimedChunk {
                    sync: chunk.sync.to_string(),
                    matrix_id: chunk.matrix_id,
                    chunk_hash: chunk.chunk_hash,
                    payload: Json::kept(chunk.payload),
                    attempt: chunk.attempt,
                    attempts_max: chunk.attempts_max,
                    token: chunk.token.0,
                    lease_expires_at: chunk.lease_expires_at,
                    last_synced_at: chunk.last_synced_at,
                    row_count: chunk.row_count,
                    cursor: chunk.cursor.map(Json::kept),
                };
                ChunkClaimed { chunk: Some(chunk), reason: None, again_in_ms: None }
            }
        }
    }
}

/// The answer to an accepted heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncBeaten {
    /// When the lease runs out now.
    pub lease_expires_at: Time,
}

impl From<Time> for SyncBeaten {
    fn from(until: Time) -> SyncBeaten {
        SyncBeaten { lease_expires_at: until }
    }
}

/// The answer to an accepted ending.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncEnded {
    /// Where the sync or chunk stood after it.
    pub state: &'static str,
    /// Whether this very write had been accepted before.
    pub already: bool,
}

impl From<sync::Ended> for SyncEnded {
    fn from(ended: sync::Ended) -> SyncEnded {
        SyncEnded { state: ended.state.as_str(), already: ended.already }
    }
}

/// The answer to a cancel.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncCancelled {
    /// Where the sync stands: `FAILED`.
    pub state: &'static str,
}

impl From<sync::State> for SyncCancelled {
    fn from(state: sync::State) -> SyncCancelled {
        SyncCancelled { state: state.as_str() }
    }
}

/// A sync.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sync {
    /// Its id; opaque.
    pub id: String,
    /// What is synced.
    pub matrix_id: String,
    /// `AVAILABLE`, `RUNNING`, `EXPIRED`, `COMPLETED` or `FAILED`, as of the instant it was read.
    pub state: &'static str,
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
    pub token: Option<i64>,
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

impl From<sync::Sync> for Sync {
    fn from(sync: sync::Sync) -> Sync {
        let standing = sync.standing;
        Sync {
            id: sync.id.to_string(),
            matrix_id: sync.matrix_id,
            state: sync.state.as_str(),
            priority: sync.priority,
            planned: sync.planned,
            skip_if_synced_within_ms: sync.skip_if_synced_within_ms,
            attempts_max: sync.attempts_max,
            crashes: sync.crashes,
            crashes_max: sync.crashes_max,
            token: standing.token.map(|token| token.0),
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

impl From<Page<sync::Sync>> for Syncs {
    fn from(page: Page<sync::Sync>) -> Syncs {
        let (syncs, next_cursor) = paged(page, |sync| sync.id.to_string(), Sync::from);
        Syncs { syncs, next_cursor }
    }
}

/// How far a sync has come, or came before it ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncProgress {
    /// Chunks that wait.
    pub available: u64,
    /// Chunks that are held.
    pub running: u64,
    /// Chunks whose lease ran out and that wait to be claimed again.
    pub expired: u64,
    /// Chunks that are done, the skipped ones included.
    pub completed: u64,
    /// Chunks that failed for good.
    pub failed: u64,
    /// Chunks that count as done because they were synced recently enough.
    pub skipped: u64,
    /// Rows synced in this pass.
    pub rows: u64,
    /// How long the rest will take at the pace so far; null while nothing is known of it, and once the sync has ended.
    pub eta_ms: Option<u64>,
}

/// A chunk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Chunk {
    /// Its content's name.
    pub chunk_hash: String,
    /// `AVAILABLE`, `RUNNING`, `EXPIRED`, `COMPLETED` or `FAILED`, as of the instant it was read.
    pub state: &'static str,
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
    pub cursor: Option<Json>,
    /// Whether it counts as done because it was synced recently enough.
    pub skipped: bool,
    /// The token of its last claim.
    pub token: Option<i64>,
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
    pub reason: Option<&'static str>,
    /// Byte for byte as it was planned.
    pub payload: Json,
}

impl From<sync::Chunk> for Chunk {
    fn from(chunk: sync::Chunk) -> Chunk {
        let skipped = chunk.skipped();
        let standing = chunk.standing;
        Chunk {
            chunk_hash: chunk.chunk_hash,
            state: chunk.state.as_str(),
            ord: chunk.ord,
            attempt: chunk.attempt,
            attempts_max: chunk.attempts_max,
            row_count: chunk.row_count,
            last_synced_at: chunk.last_synced_at,
            cursor: chunk.cursor.map(Json::kept),
            skipped,
            token: standing.token.map(|token| token.0),
            locked_until: standing.lease.as_ref().map(|lease| lease.expires_at),
            locked_by: standing.lease.map(|lease| lease.owner),
            completed_at: standing.completed_at,
            failed_at: standing.failed_at,
            error_message: standing.error_message,
            reason: standing.reason.map(sync::Reason::as_str),
            payload: Json::kept(chunk.payload),
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
        let progress = info.progress;
        WholeSync {
            sync: info.sync.into(),
            progress: SyncProgress {
                available: progress.available,
                running: progress.running,
                expired: progress.expired,
                completed: progress.completed,
                failed: progress.failed,
                skipped: progress.skipped,
                rows: progress.rows,
                eta_ms: progress.eta_ms().filter(|_| open),
            },
            chunks,
            next_cursor,
        }
    }
}

/// What happened to a sync and its chunks.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncTimeline {
    /// Oldest first, the latest thousand.
    pub events: Vec<SyncEvent>,
}

/// One thing that happened to a sync or a chunk.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncEvent {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `planned`, `claimed`, `expired`, `refused`, `retried`, `completed`, `failed` or `cancelled`.
    pub what: &'static str,
    /// To which chunk; null is the sync itself.
    pub chunk_hash: Option<String>,
    /// Under which token.
    pub token: Option<i64>,
    /// By or from whom.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// How often, where repetitions are counted into one event.
    pub count: u32,
    /// The whole of it as a sentence.
    pub message: String,
}

impl From<Vec<sync::SyncEvent>> for SyncTimeline {
    fn from(events: Vec<sync::SyncEvent>) -> SyncTimeline {
        let one = |event: sync::SyncEvent| SyncEvent {
            at: event.at,
            first_at: event.first_at,
            count: event.count,
            what: event.what.as_str(),
            token: event.token.map(|token| token.0),
            message: event.message(),
            chunk_hash: event.chunk_hash,
            owner: event.owner,
            by: event.by,
        };
        SyncTimeline { events: events.into_iter().map(one).collect() }
    }
}
