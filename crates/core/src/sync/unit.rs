//! A sync, its chunks, and the columns they share.

use crate::id::id;
use crate::lease::{Lease, Token};
use crate::time::Time;
use crate::words::words;

id! {
    /// A sync's number, drawn by the store from one growing counter. Callers see it as an opaque string.
    SyncId
}

/// What can be held: a sync, or one chunk of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// Which sync.
    pub sync: SyncId,
    /// Which chunk of it; `None` is the sync itself.
    pub chunk_hash: Option<String>,
}

impl Unit {
    /// A sync itself.
    #[must_use]
    pub fn sync(sync: SyncId) -> Unit {
        Unit { sync, chunk_hash: None }
    }

    /// One chunk of a sync.
    pub fn chunk(sync: SyncId, chunk_hash: impl Into<String>) -> Unit {
        Unit { sync, chunk_hash: Some(chunk_hash.into()) }
    }
}

words! {
    /// Where a sync or a chunk stands (S1): derived from its columns at one instant, never stored.
    State {
        /// Waiting to be claimed.
        Available = "AVAILABLE",
        /// Claimed, and the lease runs.
        Running = "RUNNING",
        /// Claimed, and the lease ran out; claimable.
        Expired = "EXPIRED",
        /// Synced.
        Completed = "COMPLETED",
        /// Failed for good.
        Failed = "FAILED",
    }
}

words! {
    /// Why a sync or a chunk failed for good.
    Reason {
        /// Its holder said so.
        Failed = "failed",
        /// Its last attempt failed.
        AttemptsSpent = "attempts_spent",
        /// Its last attempt took its worker down, or outlived its lease.
        CrashLimit = "crash_limit",
        /// An operator ended it.
        Cancelled = "cancelled",
    }
}

/// What a sync and a chunk have in common: the columns their state is read from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// The token of the last claim, in whichever pass; never taken back (L2).
    pub token: Option<Token>,
    /// When it was last claimed in this pass.
    pub claimed_at: Option<Time>,
    /// The lease. It stays in place after it ran out, until the next claim (S1, L7).
    pub lease: Option<Lease>,
    /// Whether its running out has been noticed and written down, once for its token (L7).
    pub told: bool,
    /// When it was completed in this pass.
    pub completed_at: Option<Time>,
    /// When it failed for good in this pass.
    pub failed_at: Option<Time>,
    /// What went wrong last in this pass.
    pub error_message: Option<String>,
    /// Why it failed, once it has.
    pub reason: Option<Reason>,
}

impl Standing {
    /// Where it stands at `now` (S1).
    #[must_use]
    pub fn state(&self, now: Time) -> State {
        match &self.lease {
            _ if self.completed_at.is_some() => State::Completed,
            _ if self.failed_at.is_some() => State::Failed,
            Some(lease) if lease.live(now) => State::Running,
            Some(_) => State::Expired,
            None => State::Available,
        }
    }

    /// Whether it has neither been completed nor failed.
    #[must_use]
    pub fn open(&self) -> bool {
        self.completed_at.is_none() && self.failed_at.is_none()
    }

    /// Whether a claim may take it.
    #[must_use]
    pub fn claimable(&self, now: Time) -> bool {
        matches!(self.state(now), State::Available | State::Expired)
    }

    /// The lease, if it ran out.
    #[must_use]
    pub fn lapsed(&self, now: Time) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| !lease.live(now))
    }
}

/// One pass over a matrix: a sync job.
#[derive(Clone, Debug, PartialEq)]
pub struct Sync {
    /// Its number.
    pub id: SyncId,
    /// What is synced.
    pub matrix_id: String,
    /// Higher is claimed first.
    pub priority: i32,
    /// When it was planned.
    pub created_at: Time,
    /// Chunks synced more recently than this are not synced again in this pass.
    pub skip_if_synced_within_ms: Option<u64>,
    /// Attempts that each of its chunks may have.
    pub attempts_max: u32,
    /// Leases of the sync itself that ran out since the last chunk was done (L6).
    pub crashes: u32,
    /// So many of them end it; `None` is no limit.
    pub crashes_max: Option<u32>,
    /// Chunks planned so far.
    pub planned: u64,
    /// Its columns.
    pub standing: Standing,
    /// Where it stood at the instant it was read.
    pub state: State,
    /// How far it came, from the moment it ended on: a later pass takes the chunks over.
    pub ended: Option<Progress>,
}

/// One chunk of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The pass that planned it last.
    pub sync: SyncId,
    /// The matrix it is a part of.
    pub matrix_id: String,
    /// Its content's name; another content is another chunk.
    pub chunk_hash: String,
    /// Its place in the plan, from 1.
    pub ord: u64,
    /// JSON, byte for byte as it was sent with the last plan.
    pub payload: String,
    /// Attempts counted in this pass, the running one included (L6).
    pub attempt: u32,
    /// Attempts it may have in this pass.
    pub attempts_max: u32,
    /// When it was last synced, in whichever pass.
    pub last_synced_at: Option<Time>,
    /// Rows of its last sync.
    pub row_count: Option<u64>,
    /// What its last sync left for the next, as JSON.
    pub cursor: Option<String>,
    /// Its columns.
    pub standing: Standing,
    /// Where it stood at the instant it was read.
    pub state: State,
}

impl Chunk {
    /// Whether it counts as done in this pass without having been claimed: it was synced recently enough.
    #[must_use]
    pub fn skipped(&self) -> bool {
        self.standing.completed_at.is_some() && self.standing.claimed_at.is_none()
    }
}

/// How far a sync has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SyncProgress))]
pub struct Progress {
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
    /// Rows of the chunks that were synced in this pass, at most 2^53 − 1.
    pub rows: u64,
    /// When the earliest of the last claims of its chunks was made.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub began_at: Option<Time>,
    /// When a chunk was last done.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub last_done_at: Option<Time>,
}

impl Progress {
    /// Chunks in all.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.left() + self.completed + self.failed
    }

    /// Chunks that are neither done nor failed.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.available + self.running + self.expired
    }

    /// How long the rest will take at the pace so far; `None` while nothing is known of the pace.
    #[must_use]
    pub fn eta_ms(&self) -> Option<u64> {
        let synced = self.completed.saturating_sub(self.skipped);
        let took_ms = self.last_done_at?.ms_since(self.began_at?);
        let per_chunk = (took_ms as f64) / (synced.max(1) as f64);
        (synced > 0).then_some((per_chunk * self.left() as f64) as u64)
    }

    /// With one more chunk counted.
    #[must_use]
    pub fn plus(mut self, chunk: &Chunk, now: Time) -> Progress {
        let standing = &chunk.standing;
        match standing.state(now) {
            State::Available => self.available += 1,
            State::Running => self.running += 1,
            State::Expired => self.expired += 1,
            State::Failed => self.failed += 1,
            State::Completed if chunk.skipped() => {
                self.completed += 1;
                self.skipped += 1;
            }
            State::Completed => {
                self.completed += 1;
                self.rows = self.rows.saturating_add(chunk.row_count.unwrap_or(0)).min(super::ROW_COUNT_MAX);
                self.last_done_at = self.last_done_at.max(standing.completed_at);
            }
        }
        self.began_at = match (self.began_at, standing.claimed_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self
    }

    /// What remains true of it once its sync has ended: nothing is held any more.
    #[must_use]
    pub fn at_the_end(self) -> Progress {
        Progress { available: self.left(), running: 0, expired: 0, ..self }
    }
}

/// A sync and how far it has come.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncInfo {
    /// The sync.
    pub sync: Sync,
    /// How far it has come, or came before it ended.
    pub progress: Progress,
}
