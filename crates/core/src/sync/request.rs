//! What can be asked of syncs, and what is answered. Requests are plain data; `check` refuses what is out of bounds.

use super::unit::{State, SyncId, Unit};
use crate::bounds::{self, Code, Invalid};
use crate::json;
use crate::lease::{LostReason, Token};
use crate::time::Time;
use crate::words::words;
use std::collections::HashSet;
use std::fmt;

/// The lease of a claim of a sync that names none: five minutes.
pub const SYNC_LEASE_MS_DEFAULT: u64 = 300_000;
/// The lease of a claim of a chunk that names none: two minutes.
pub const CHUNK_LEASE_MS_DEFAULT: u64 = 120_000;
/// Chunks in one call: what 16 MiB hold of hashes of a usual length, and few enough for one transaction.
pub const CHUNKS_MAX: u64 = 250_000;
/// The largest row count, so that it survives as a JSON number.
pub const ROW_COUNT_MAX: u64 = (1 << 53) - 1;

/// A chunk to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChunk {
    /// Its content's name within its matrix.
    pub chunk_hash: String,
    /// JSON, kept byte for byte: what a worker must know to sync it.
    pub payload: String,
}

impl NewChunk {
    /// A chunk without a payload.
    pub fn new(chunk_hash: impl Into<String>) -> NewChunk {
        NewChunk { chunk_hash: chunk_hash.into(), payload: "null".to_owned() }
    }

    /// What a worker must know to sync it, as JSON.
    #[must_use]
    pub fn payload(mut self, payload: impl Into<String>) -> NewChunk {
        self.payload = payload.into();
        self
    }
}

/// A pass over a matrix to plan, with its chunks (S4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is synced.
    pub matrix_id: String,
    /// Higher is claimed first.
    pub priority: i32,
    /// Chunks synced more recently than this count as done.
    pub skip_if_synced_within_ms: Option<u64>,
    /// Attempts that each chunk may have.
    pub attempts_max: u32,
    /// Leases of the sync that may run out without a chunk done in between; `None` is no limit (L6).
    pub crashes_max: Option<u32>,
    /// The chunks, in the order in which they are to be claimed.
    pub chunks: Vec<NewChunk>,
}

impl Plan {
    /// A pass over `matrix_id`, with the defaults and no chunks yet.
    pub fn new(matrix_id: impl Into<String>) -> Plan {
        Plan {
            matrix_id: matrix_id.into(),
            priority: 0,
            skip_if_synced_within_ms: None,
            attempts_max: bounds::ATTEMPTS_DEFAULT,
            crashes_max: None,
            chunks: Vec::new(),
        }
    }

    /// Higher is claimed first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Plan {
        self.priority = priority;
        self
    }

    /// Chunks synced more recently than this count as done.
    #[must_use]
    pub fn skip_if_synced_within_ms(mut self, ms: u64) -> Plan {
        self.skip_if_synced_within_ms = Some(ms);
        self
    }

    /// Attempts that each chunk may have.
    #[must_use]
    pub fn attempts_max(mut self, attempts_max: u32) -> Plan {
        self.attempts_max = attempts_max;
        self
    }

    /// Leases of the sync that may run out without a chunk done in between.
    #[must_use]
    pub fn crashes_max(mut self, crashes_max: u32) -> Plan {
        self.crashes_max = Some(crashes_max);
        self
    }

    /// With these chunks, in this order.
    #[must_use]
    pub fn chunks(mut self, chunks: impl IntoIterator<Item = NewChunk>) -> Plan {
        self.chunks.extend(chunks);
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::key("matrix_id", &self.matrix_id)?;
        if let Some(ms) = self.skip_if_synced_within_ms {
            bounds::within("skip_if_synced_within_ms", ms, 0, bounds::SPAN_MS_MAX)?;
        }
        bounds::within("attempts_max", self.attempts_max.into(), 1, bounds::ATTEMPTS_MAX)?;
        if let Some(max) = self.crashes_max {
            bounds::within("crashes_max", max.into(), 1, bounds::ATTEMPTS_MAX)?;
        }
        check_chunks(&self.chunks, 0)
    }
}

/// Refuses fewer than `min` chunks, too many chunks or bytes, one out of bounds, and a hash named twice.
pub fn check_chunks(chunks: &[NewChunk], min: u64) -> Result<(), Invalid> {
    bounds::within("chunks", chunks.len() as u64, min, CHUNKS_MAX)?;
    let bytes: usize = chunks.iter().map(|chunk| chunk.chunk_hash.len() + chunk.payload.len()).sum();
    if bytes > bounds::BULK_BYTES_MAX {
        let limit = format!("at most {} bytes in one call", bounds::BULK_BYTES_MAX);
        return Err(Invalid::new(Code::TooLarge, "chunks", limit, format!("{bytes} bytes")));
    }
    let mut seen = HashSet::with_capacity(chunks.len());
    for (i, chunk) in chunks.iter().enumerate() {
        let within = |invalid: Invalid| invalid.within(&format!("chunks[{i}]"));
        bounds::key("chunk_hash", &chunk.chunk_hash).map_err(within)?;
        json::check("payload", &chunk.payload).map_err(within)?;
        if !seen.insert(chunk.chunk_hash.as_str()) {
            let twice = Invalid::new(Code::OutOfBounds, "chunk_hash", "named once in a call", &chunk.chunk_hash);
            return Err(within(twice));
        }
    }
    Ok(())
}

/// The answer to a plan, or to chunks added to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Planned {
    /// The sync; opaque.
    pub id: SyncId,
    /// Chunks planned so far.
    pub planned: u64,
    /// Chunks that this call added.
    pub added: u64,
    /// Those among them that count as done already, because they were synced recently enough.
    pub skipped: u64,
}

/// Takes the first sync that waits (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncClaim {
    /// Who claims.
    pub owner: String,
    /// How long the lease runs unless renewed.
    pub lease_ms: u64,
    /// Only the sync of this matrix.
    pub matrix_id: Option<String>,
}

impl SyncClaim {
    /// A claim for `owner`, for five minutes.
    pub fn new(owner: impl Into<String>) -> SyncClaim {
        SyncClaim { owner: owner.into(), lease_ms: SYNC_LEASE_MS_DEFAULT, matrix_id: None }
    }

    /// How long the lease runs unless renewed.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> SyncClaim {
        self.lease_ms = lease_ms;
        self
    }

    /// Only the sync of this matrix.
    #[must_use]
    pub fn matrix_id(mut self, matrix_id: impl Into<String>) -> SyncClaim {
        self.matrix_id = Some(matrix_id.into());
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("worker", &self.owner)?;
        bounds::within("lease_ms", self.lease_ms, bounds::LEASE_MS.0, bounds::LEASE_MS.1)?;
        self.matrix_id.as_deref().map_or(Ok(()), |id| bounds::key("matrix_id", id))
    }
}

/// A sync in the hands of its claimer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClaimedSync {
    /// The sync; opaque.
    pub id: SyncId,
    /// What is synced.
    pub matrix_id: String,
    /// Its priority.
    pub priority: i32,
    /// Chunks planned so far.
    pub planned: u64,
    /// When it was planned.
    pub created_at: Time,
    /// The fencing token of this claim.
    pub token: Token,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
}

/// Takes a chunk of a sync (S3): the next one, or the one that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkClaim {
    /// Of which sync.
    pub sync: SyncId,
    /// Who claims.
    pub owner: String,
    /// How long the lease runs unless renewed.
    pub lease_ms: u64,
    /// Only this one.
    pub chunk_hash: Option<String>,
}

impl ChunkClaim {
    /// A claim of the next chunk for `owner`, for two minutes.
    pub fn new(sync: SyncId, owner: impl Into<String>) -> ChunkClaim {
        ChunkClaim { sync, owner: owner.into(), lease_ms: CHUNK_LEASE_MS_DEFAULT, chunk_hash: None }
    }

    /// How long the lease runs unless renewed.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> ChunkClaim {
        self.lease_ms = lease_ms;
        self
    }

    /// Only this one.
    #[must_use]
    pub fn chunk_hash(mut self, chunk_hash: impl Into<String>) -> ChunkClaim {
        self.chunk_hash = Some(chunk_hash.into());
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("worker", &self.owner)?;
        bounds::within("lease_ms", self.lease_ms, bounds::LEASE_MS.0, bounds::LEASE_MS.1)?;
        self.chunk_hash.as_deref().map_or(Ok(()), |hash| bounds::key("chunk_hash", hash))
    }
}

/// A chunk in the hands of its claimer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClaimedChunk {
    /// The sync it is a part of.
    pub sync: SyncId,
    /// The matrix it is a part of.
    pub matrix_id: String,
    /// Its content's name.
    pub chunk_hash: String,
    /// JSON, byte for byte as it was planned.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::raw"))]
    #[cfg_attr(feature = "schema", schema(value_type = crate::serial::Json))]
    pub payload: String,
    /// Which attempt of this pass this is, from 1.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// The fencing token of this claim.
    pub token: Token,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
    /// When it was last synced, in whichever pass.
    pub last_synced_at: Option<Time>,
    /// Rows of its last sync.
    pub row_count: Option<u64>,
    /// What its last sync left for this one, as JSON.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::raw_or_null"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::serial::Json>))]
    pub cursor: Option<String>,
}

words! {
    /// Why a claim took no chunk; the first that applies.
    IdleReason {
        /// The sync, or the chunk that was named, is not on record.
        Unknown = "unknown",
        /// The sync has ended.
        Ended = "ended",
        /// Others hold what is left.
        Held = "held",
        /// Nothing is left to be claimed.
        Done = "done",
    }
}

/// A claim that took no chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Why.
    pub reason: IdleReason,
    /// How long until the next lease runs out, unless it is renewed. A hint.
    pub again_in_ms: Option<u64>,
}

/// Renews the lease of a sync or a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Of what.
    pub unit: Unit,
    /// Who holds it.
    pub owner: String,
    /// Under which token.
    pub token: Token,
}

impl Beat {
    /// A heartbeat.
    pub fn new(unit: Unit, owner: impl Into<String>, token: Token) -> Beat {
        Beat { unit, owner: owner.into(), token }
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("worker", &self.owner)
    }
}

words! {
    /// The verbs that end a claim.
    Verb {
        /// Done.
        Complete = "complete",
        /// Went wrong.
        Fail = "fail",
        /// Given back, without counting the attempt.
        Release = "release",
    }
}

/// How the holder ends a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Done. What was counted is a chunk's; a sync has neither.
    Complete {
        /// Rows that were synced.
        row_count: Option<u64>,
        /// What the next sync of this chunk should know, as JSON; the old one stays if there is none.
        cursor: Option<String>,
    },
    /// Went wrong. For a sync it is final (S2).
    Fail {
        /// What went wrong.
        error: String,
        /// Whether a chunk may be tried again, while it has attempts.
        retry: bool,
    },
    /// Not by this worker.
    Release,
}

impl Act {
    /// Done, with nothing to say about it.
    #[must_use]
    pub fn done() -> Act {
        Act::Complete { row_count: None, cursor: None }
    }

    /// The verb of this act, which a receipt remembers (L12).
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Act::Complete { .. } => Verb::Complete,
            Act::Fail { .. } => Verb::Fail,
            Act::Release => Verb::Release,
        }
    }
}

/// An ending write: accepted only from the holder of the current lease (L3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Of what.
    pub unit: Unit,
    /// Who holds it.
    pub owner: String,
    /// Under which token.
    pub token: Token,
    /// How it ends.
    pub act: Act,
}

impl Ending {
    /// Refuses what is out of bounds, and cuts an error text to what is kept of it.
    pub fn check(&mut self) -> Result<(), Invalid> {
        bounds::name("worker", &self.owner)?;
        match &mut self.act {
            Act::Complete { row_count, cursor } => {
                if self.unit.chunk_hash.is_none() && (row_count.is_some() || cursor.is_some()) {
                    let limit = "sent with a chunk: a sync has no rows of its own";
                    return Err(Invalid::new(Code::OutOfBounds, "row_count", limit, "one for a sync"));
                }
                bounds::within("row_count", row_count.unwrap_or(0), 0, ROW_COUNT_MAX)?;
                cursor.as_deref().map_or(Ok(()), |cursor| json::check("cursor", cursor))
            }
            Act::Fail { error, .. } => {
                *error = bounds::clipped(error);
                Ok(())
            }
            Act::Release => Ok(()),
        }
    }
}

/// The answer to an accepted ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SyncEnded))]
pub struct Ended {
    /// Where the sync or chunk stood after it.
    pub state: State,
    /// Whether this very write had been accepted before (L12).
    pub already: bool,
}

/// Why a request does not fit what is on record. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The sync is not on record.
    Absent,
    /// The sync has ended.
    Terminal,
    /// The matrix has a sync that has not ended (S6).
    Unfinished {
        /// That one.
        id: SyncId,
    },
    /// Not every planned chunk is synced (S5).
    Incomplete {
        /// Chunks that wait or are held.
        left: u64,
        /// Chunks that failed for good.
        failed: u64,
    },
}

impl Refused {
    /// The stable word for it on every surface.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Refused::Absent => "not_found",
            Refused::Terminal => "terminal",
            Refused::Unfinished { .. } => "sync_unfinished",
            Refused::Incomplete { .. } => "sync_incomplete",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Absent => f.write_str("the sync is not on record; it may have been removed after its retention"),
            Refused::Terminal => f.write_str("the sync has already ended; plan a new one"),
            Refused::Unfinished { id } => {
                write!(f, "sync {id} of this matrix has not ended: finish or cancel it, or add chunks to it")
            }
            Refused::Incomplete { left, failed: 0 } => write!(f, "{left} planned chunks are not synced yet"),
            Refused::Incomplete { left, failed } => {
                write!(
                    f,
                    "{left} planned chunks are not synced yet and {failed} failed for good: fail or cancel the sync"
                )
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Why an ending was not accepted. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The lease is not held (L3).
    Lost(LostReason),
    /// The sync cannot end so.
    Refused(Refused),
}

impl From<LostReason> for Denied {
    fn from(reason: LostReason) -> Denied {
        Denied::Lost(reason)
    }
}

/// What one bounded step of recovery did (L7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncsRecovered {
    /// Leases that had run out and were written down.
    pub leases: u32,
    /// Syncs and chunks among them that failed for good.
    pub failed: u32,
}

/// What one bounded step of pruning removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncsPruned {
    /// Ended syncs past their retention.
    pub syncs: u32,
    /// Chunks that no later pass took over.
    pub chunks: u32,
    /// Events of those syncs.
    pub events: u32,
    /// Receipts past their hour.
    pub receipts: u32,
}

/// Which syncs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncFilter {
    /// Only of this matrix.
    pub matrix_id: Option<String>,
    /// Only in this state.
    pub state: Option<State>,
}

/// Which chunks of a sync to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkFilter {
    /// Only in this state.
    pub state: Option<State>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_a_plan_is_refused_by_name() {
        let refused = |plan: Plan| plan.check().unwrap_err();
        assert_eq!(refused(Plan::new("")).field, "matrix_id");
        assert_eq!(refused(Plan::new("m").attempts_max(0)).field, "attempts_max");
        assert_eq!(refused(Plan::new("m").crashes_max(1_001)).field, "crashes_max");
        let late = Plan::new("m").skip_if_synced_within_ms(bounds::SPAN_MS_MAX + 1);
        assert_eq!(refused(late).field, "skip_if_synced_within_ms");
        let chunk = |hash: &str| NewChunk::new(hash);
        assert_eq!(refused(Plan::new("m").chunks([chunk("a"), chunk("a")])).field, "chunks[1].chunk_hash");
        assert_eq!(refused(Plan::new("m").chunks([chunk("a\n")])).field, "chunks[0].chunk_hash");
        assert_eq!(refused(Plan::new("m").chunks([chunk("a").payload("{")])).field, "chunks[0].payload");
        assert_eq!(check_chunks(&[], 1).unwrap_err().field, "chunks");
    }

    #[test]
    fn x_a_plan_of_more_bytes_than_a_bulk_call_is_too_large() {
        let payload = format!("\"{}\"", "x".repeat(1 << 19));
        let chunks = (0..40).map(|n| NewChunk::new(n.to_string()).payload(payload.clone()));
        assert_eq!(Plan::new("m").chunks(chunks).check().unwrap_err().code, Code::TooLarge);
    }

    #[test]
    fn x_a_hundred_thousand_chunks_are_within_bounds() {
        let chunks = (0..100_000).map(|n| NewChunk::new(format!("{n:064x}")));
        assert_eq!(Plan::new("m").chunks(chunks).check(), Ok(()));
    }

    #[test]
    fn x_a_sync_completes_without_rows() {
        let act = Act::Complete { row_count: Some(1), cursor: None };
        let mut ending = Ending { unit: Unit::sync(SyncId(1)), owner: "w".into(), token: Token(1), act };
        assert_eq!(ending.check().unwrap_err().field, "row_count");
        ending.unit.chunk_hash = Some("a".into());
        assert_eq!(ending.check(), Ok(()));
        ending.act = Act::Complete { row_count: Some(ROW_COUNT_MAX + 1), cursor: None };
        assert_eq!(ending.check().unwrap_err().field, "row_count");
        ending.act = Act::Complete { row_count: None, cursor: Some("{".into()) };
        assert_eq!(ending.check().unwrap_err().field, "cursor");
    }
}
