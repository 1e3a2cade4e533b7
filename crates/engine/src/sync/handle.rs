//! Handles on one sync and on one matrix, and lists. Making one asks nobody.

use super::held::{HeldChunk, HeldSync};
use super::{
    Chunk, ChunkClaim, ChunkFilter, Idle, NewChunk, Plan, Planned, State, SyncClaim, SyncEvent, SyncFilter, SyncId,
    SyncInfo, SyncSummary,
};
use crate::error::absent;
use crate::held::Held;
use crate::worker::{ms, worker_name};
use crate::{Error, Result, Tenure};
use futures_util::future::BoxFuture;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::Page;

/// What is synced, pass after pass. Made by [`Tenure::matrix`]; the name is checked by each call.
#[derive(Clone, Debug)]
pub struct MatrixHandle {
    tenure: Tenure,
    id: Arc<str>,
}

/// One sync: a pass over a matrix. Made by [`Tenure::sync`].
#[derive(Clone, Debug)]
pub struct SyncHandle {
    tenure: Tenure,
    id: SyncId,
}

impl Tenure {
    /// The matrix `id`.
    #[must_use]
    pub fn matrix(&self, id: &str) -> MatrixHandle {
        MatrixHandle { tenure: self.clone(), id: id.into() }
    }

    /// The sync `id`.
    #[must_use]
    pub fn sync(&self, id: SyncId) -> SyncHandle {
        SyncHandle { tenure: self.clone(), id }
    }

    /// Syncs of every matrix, newest first.
    pub fn syncs(&self) -> ListSyncs {
        ListSyncs { tenure: self.clone(), filter: SyncFilter::default(), before: None }
    }
}

impl MatrixHandle {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Plans a pass with these chunks, in the order in which they are to be claimed, unless an earlier pass has not ended
    /// (S4, S6).
    pub fn plan(&self, chunks: impl IntoIterator<Item = NewChunk>) -> PlanSync {
        PlanSync { tenure: self.tenure.clone(), plan: Plan::new(&*self.id).chunks(chunks) }
    }

    /// Takes its sync, if one waits: whoever holds it closes it once its chunks are done (S2). Chunks are claimed without.
    pub fn claim(&self) -> ClaimSync {
        let claim = SyncClaim::new(worker_name()).matrix_id(&*self.id);
        ClaimSync { tenure: self.tenure.clone(), claim }
    }

    /// Its syncs, newest first.
    pub fn syncs(&self) -> ListSyncs {
        self.tenure.syncs().matrix(&*self.id)
    }
}

/// A pass that is planned once this is awaited. Made by [`MatrixHandle::plan`].
#[must_use = "nothing is planned before it is awaited"]
#[derive(Clone, Debug)]
pub struct PlanSync {
    tenure: Tenure,
    plan: Plan,
}

impl PlanSync {
    /// Higher is claimed first.
    pub fn priority(mut self, priority: i32) -> PlanSync {
        self.plan.priority = priority;
        self
    }

    /// Chunks synced more recently than this count as done.
    pub fn skip_if_synced_within(mut self, span: Duration) -> PlanSync {
        self.plan.skip_if_synced_within_ms = Some(ms(span));
        self
    }

    /// Attempts that each chunk may have.
    pub fn attempts_max(mut self, attempts_max: u32) -> PlanSync {
        self.plan.attempts_max = attempts_max;
        self
    }

    /// Leases of the sync that may run out without a chunk done in between (L6).
    pub fn crashes_max(mut self, crashes_max: u32) -> PlanSync {
        self.plan.crashes_max = Some(crashes_max);
        self
    }
}

impl IntoFuture for PlanSync {
    type Output = Result<Planned>;
    type IntoFuture = BoxFuture<'static, Result<Planned>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.tenure.verbs().plan_sync(self.plan).await })
    }
}

/// A claim of a sync. Made by [`MatrixHandle::claim`].
#[must_use = "nothing is claimed before `one`"]
#[derive(Clone, Debug)]
pub struct ClaimSync {
    tenure: Tenure,
    claim: SyncClaim,
}

impl ClaimSync {
    /// Under this name; [`worker_name`](crate::worker_name) unless said otherwise.
    pub fn worker(mut self, name: impl Into<String>) -> ClaimSync {
        self.claim.owner = name.into();
        self
    }

    /// For so long, unless renewed by a heartbeat; five minutes unless said otherwise.
    pub fn lease(mut self, lease: Duration) -> ClaimSync {
        self.claim.lease_ms = ms(lease);
        self
    }

    /// The sync, if one waits.
    pub async fn one(self) -> Result<Option<HeldSync>> {
        let ClaimSync { tenure, claim } = self;
        let owner = claim.owner.clone();
        Ok(tenure.verbs().claim_sync(claim).await?.map(|sync| Held::new(&tenure, &owner, sync)))
    }
}

impl SyncHandle {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> SyncId {
        self.id
    }

    /// What it is, and how far it has come.
    pub async fn info(&self) -> Result<SyncInfo> {
        self.tenure.verbs().sync(self.id).await?.ok_or_else(|| self.absent())
    }

    /// What is known to have happened to it and its chunks, oldest first, the latest thousand (L8).
    pub async fn timeline(&self) -> Result<Vec<SyncEvent>> {
        self.tenure.verbs().sync_timeline(self.id).await?.ok_or_else(|| self.absent())
    }

    /// Adds chunks, unless it has ended; those it has already stay as they are.
    pub async fn add(&self, chunks: impl IntoIterator<Item = NewChunk>) -> Result<Planned> {
        self.tenure.verbs().add_chunks(self.id, chunks.into_iter().collect()).await
    }

    /// Takes chunks by hand; a [worker](Tenure::worker) does it by itself.
    pub fn claim(&self) -> ClaimChunk {
        ClaimChunk { tenure: self.tenure.clone(), claim: ChunkClaim::new(self.id, worker_name()) }
    }

    /// One of its chunks.
    pub async fn chunk(&self, chunk_hash: &str) -> Result<Chunk> {
        let chunk = self.tenure.verbs().chunk(self.id, chunk_hash).await?;
        chunk.ok_or_else(|| absent("chunk", format_args!("{chunk_hash} of sync {}", self.id)))
    }

    /// Its chunks, in the order of the plan.
    pub fn chunks(&self) -> ListChunks {
        ListChunks { sync: self.clone(), filter: ChunkFilter::default(), after: 0 }
    }

    /// Ends it at once; whoever holds it or one of its chunks is told `cancelled` (S6).
    pub async fn cancel(&self, reason: impl Into<String>) -> Result<State> {
        let reason = Some(reason.into()).filter(|reason| !reason.is_empty());
        self.tenure.verbs().cancel_sync(self.id, reason.as_deref()).await
    }

    fn absent(&self) -> Error {
        absent("sync", self.id)
    }
}

/// A claim of a chunk. Made by [`SyncHandle::claim`].
#[must_use = "nothing is claimed before `one`"]
#[derive(Clone, Debug)]
pub struct ClaimChunk {
    tenure: Tenure,
    claim: ChunkClaim,
}

impl ClaimChunk {
    /// Under this name; [`worker_name`](crate::worker_name) unless said otherwise.
    pub fn worker(mut self, name: impl Into<String>) -> ClaimChunk {
        self.claim.owner = name.into();
        self
    }

    /// For so long, unless renewed by a heartbeat; two minutes unless said otherwise.
    pub fn lease(mut self, lease: Duration) -> ClaimChunk {
        self.claim.lease_ms = ms(lease);
        self
    }

    /// This one, instead of the next.
    pub fn chunk(mut self, chunk_hash: impl Into<String>) -> ClaimChunk {
        self.claim.chunk_hash = Some(chunk_hash.into());
        self
    }

    /// The chunk, if there is one to take.
    pub async fn one(self) -> Result<Option<HeldChunk>> {
        Ok(self.one_or_why().await?.ok())
    }

    /// The chunk, or why there is none (S3).
    pub async fn one_or_why(self) -> Result<std::result::Result<HeldChunk, Idle>> {
        let ClaimChunk { tenure, claim } = self;
        let owner = claim.owner.clone();
        Ok(tenure.verbs().claim_chunk(claim).await?.map(|chunk| Held::new(&tenure, &owner, chunk)))
    }
}

/// Chunks of a sync. Made by [`SyncHandle::chunks`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListChunks {
    sync: SyncHandle,
    filter: ChunkFilter,
    after: u64,
}

impl ListChunks {
    /// Only in this state.
    pub fn state(mut self, state: State) -> ListChunks {
        self.filter.state = Some(state);
        self
    }

    /// Only those after this place of the plan: the last of the page before.
    pub fn after(mut self, place: u64) -> ListChunks {
        self.after = place;
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<Chunk>> {
        self.sync.tenure.verbs().chunks(self.sync.id, self.filter, self.after, limit).await
    }
}

/// Syncs, newest first. Made by [`Tenure::syncs`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListSyncs {
    tenure: Tenure,
    filter: SyncFilter,
    before: Option<SyncId>,
}

impl ListSyncs {
    /// Only of this matrix.
    pub fn matrix(mut self, id: impl Into<String>) -> ListSyncs {
        self.filter.matrix_id = Some(id.into());
        self
    }

    /// Only in this state.
    pub fn state(mut self, state: State) -> ListSyncs {
        self.filter.state = Some(state);
        self
    }

    /// Only older ones than this: the last of the page before.
    pub fn before(mut self, id: SyncId) -> ListSyncs {
        self.before = Some(id);
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<SyncSummary>> {
        self.tenure.verbs().syncs(self.filter, self.before, limit).await
    }
}
