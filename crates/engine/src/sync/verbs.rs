//! The verbs of syncs and chunks, as plain data.

use super::{
    Act, Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, NewChunk, Plan,
    Planned, State, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, SyncSummary, Unit,
};
use crate::{Error, Result, Verbs};
use tenure_core::Page;
use tenure_core::sync::{check_chunks, timeline};
use tenure_core::{Time, Token, bounds};

impl Verbs<'_> {
    /// Plans a pass over a matrix, unless an earlier one has not ended (S4, S6).
    pub async fn plan_sync(self, plan: Plan) -> Result<Planned> {
        plan.check()?;
        self.tenure.store.plan_sync(plan).await?.map_err(Error::from)
    }

    /// Adds chunks to a sync that has not ended; those it has already stay as they are.
    pub async fn add_chunks(self, sync: SyncId, chunks: Vec<NewChunk>) -> Result<Planned> {
        check_chunks(&chunks, 1)?;
        self.tenure.store.add_chunks(sync, chunks).await?.map_err(Error::from)
    }

    /// Takes the first sync that waits, by priority and age (S2).
    pub async fn claim_sync(self, claim: SyncClaim) -> Result<Option<ClaimedSync>> {
        claim.check()?;
        Ok(self.tenure.store.claim_sync(claim).await?)
    }

    /// Takes the next chunk of a sync, or the one that is named; or says why there is none (S3).
    pub async fn claim_chunk(self, claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>> {
        claim.check()?;
        Ok(self.tenure.store.claim_chunk(claim).await?)
    }

    /// Renews the lease of a sync or a chunk; the new deadline.
    pub async fn heartbeat_sync(self, beat: Beat) -> Result<Time> {
        beat.check()?;
        Ok(self.tenure.store.heartbeat_sync(beat).await??)
    }

    /// Ends a claim of a sync or a chunk. The same ending sent again is answered as the first time (L12).
    pub async fn finish_sync(self, mut ending: Ending) -> Result<Ended> {
        ending.check()?;
        self.tenure.store.finish_sync(ending).await?.map_err(|denied| match denied {
            Denied::Lost(reason) => Error::LeaseLost(reason),
            Denied::Refused(refused) => refused.into(),
        })
    }

    /// Completes a chunk, with how many rows it had.
    pub async fn complete_chunk(self, chunk: &ClaimedChunk, owner: &str, row_count: Option<u64>) -> Result<Ended> {
        self.end(
            Unit::chunk(chunk.sync, &chunk.chunk_hash),
            owner,
            chunk.token,
            Act::Complete { row_count, cursor: None },
        )
        .await
    }

    /// Fails a chunk; it is tried again at once, while it has attempts.
    pub async fn fail_chunk(self, chunk: &ClaimedChunk, owner: &str, error: &str) -> Result<Ended> {
        let act = Act::Fail { error: error.to_owned(), retry: true };
        self.end(Unit::chunk(chunk.sync, &chunk.chunk_hash), owner, chunk.token, act).await
    }

    async fn end(self, unit: Unit, owner: &str, token: Token, act: Act) -> Result<Ended> {
        self.finish_sync(Ending { unit, owner: owner.to_owned(), token, act }).await
    }

    /// Ends a sync at once; whoever holds it or one of its chunks is told `cancelled` (S6).
    pub async fn cancel_sync(self, sync: SyncId, why: Option<&str>) -> Result<State> {
        let why = why.map(bounds::clipped);
        self.tenure.store.cancel_sync(sync, why).await?.map_err(Error::from)
    }

    /// One sync and how far it has come.
    pub async fn sync(self, id: SyncId) -> Result<Option<SyncInfo>> {
        Ok(self.tenure.store.sync(id).await?)
    }

    /// Syncs that match, newest first, from below `before`.
    pub async fn syncs(self, filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<SyncSummary>> {
        filter.matrix_id.as_deref().map_or(Ok(()), |id| bounds::key("matrix_id", id))?;
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.syncs(filter, before, limit).await?)
    }

    /// One chunk of a sync.
    pub async fn chunk(self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
        Ok(self.tenure.store.chunk(sync, chunk_hash).await?)
    }

    /// Chunks of a sync that match, in the order of the plan, from after the place `after`.
    pub async fn chunks(self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.chunks(sync, filter, after, limit).await?)
    }

    /// What is known to have happened to a sync and its chunks, oldest first, the latest thousand (L8).
    pub async fn sync_timeline(self, sync: SyncId) -> Result<Option<Vec<SyncEvent>>> {
        let Some(info) = self.tenure.store.sync(sync).await? else { return Ok(None) };
        let limit = u32::try_from(bounds::LIST_MAX).unwrap_or(u32::MAX);
        let stored = self.tenure.store.sync_events(sync, limit).await?;
        Ok(Some(timeline(&info.sync, stored)))
    }
}
