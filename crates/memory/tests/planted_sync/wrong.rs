//! The memory store with one mistake in front of it.

use super::Bug;
use super::support::Wrongly;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tenure_core::Page;
use tenure_core::sync::{
    Act, Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Idle, Plan, Planned,
    Refused, Standing, State, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, Unit, What,
};
use tenure_core::{Epoch, LostReason, Time, Token};
use tenure_memory::MemoryStore;
use tenure_store::{Clock, Fenced, OrRefused, Result, SyncStore, Upkeep};

pub(super) struct Wrong {
    right: MemoryStore,
    clock: Clock,
    bug: Bug,
    /// The last claim of a chunk, to be given out again.
    last: Mutex<Option<ClaimedChunk>>,
    /// The first token of each chunk.
    firsts: Mutex<BTreeMap<(String, String), Token>>,
    /// Crashes that progress should have reset.
    crashes: Mutex<BTreeMap<SyncId, u32>>,
}

impl Wrong {
    fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    async fn standing(&self, unit: &Unit) -> Result<Option<Standing>> {
        Ok(match &unit.chunk_hash {
            Some(hash) => self.right.chunk(unit.sync, hash).await?.map(|chunk| chunk.standing),
            None => self.right.sync(unit.sync).await?.map(|info| info.sync.standing),
        })
    }

    /// The same hash, held in another matrix.
    async fn twin(&self, unit: &Unit) -> Result<Option<(Unit, String, Token)>> {
        let Some(hash) = &unit.chunk_hash else { return Ok(None) };
        for sync in self.right.syncs(SyncFilter::default(), None, 1_000).await?.items {
            if sync.id == unit.sync {
                continue;
            }
            let Some(chunk) = self.right.chunk(sync.id, hash).await? else { continue };
            if let (State::Running, Some(lease), Some(token)) =
                (chunk.state, chunk.standing.lease, chunk.standing.token)
            {
                return Ok(Some((Unit::chunk(sync.id, hash), lease.owner, token)));
            }
        }
        Ok(None)
    }

    /// Sets the clock back to when an expired lease was still held, if this is its holder; answers when it is now.
    async fn back(&self, unit: &Unit, owner: &str, token: Token) -> Result<Time> {
        let now = self.clock.now();
        if let Some(standing) = self.standing(unit).await?
            && let Some(lease) = standing.lease.filter(|lease| lease.owner == owner && lease.expires_at <= now)
            && standing.token == Some(token)
        {
            self.clock.set(Time(lease.expires_at.0 - 1));
        }
        Ok(now)
    }

    fn shown(&self, mut chunk: Chunk) -> Chunk {
        if self.is(Bug::StateStored) && chunk.state == State::Expired {
            chunk.state = State::Running;
        }
        if self.is(Bug::CursorForgotten) {
            chunk.cursor = None;
        }
        chunk
    }
}

#[async_trait]
impl Wrongly for Wrong {
    fn planted(bug: usize, clock: Clock) -> Wrong {
        let right = MemoryStore::with_clock(clock.clone());
        let (last, firsts, crashes) = Default::default();
        Wrong { right, clock, bug: Bug::ALL[bug], last, firsts, crashes }
    }

    fn right(&self) -> &MemoryStore {
        &self.right
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        if self.is(Bug::EpochKept) {
            let epoch = self.right.epoch().await?;
            return Ok(Epoch { count: epoch.count + 1, base: Token(1 << 40) });
        }
        self.right.new_epoch().await
    }

    async fn plan_sync(&self, mut plan: Plan) -> Result<OrRefused<Planned>> {
        if self.is(Bug::SkipIgnored) {
            plan.skip_if_synced_within_ms = None;
        }
        let answer = self.right.plan_sync(plan.clone()).await?;
        if let (Bug::OverlapAllowed, Err(Refused::Unfinished { id })) = (self.bug, answer) {
            let _ = self.right.cancel_sync(id, None).await?;
            return self.right.plan_sync(plan).await;
        }
        Ok(answer)
    }

    async fn claim_sync(&self, mut claim: SyncClaim) -> Result<Option<ClaimedSync>> {
        if self.is(Bug::PriorityIgnored) && claim.matrix_id.is_none() {
            let mut waiting = self.right.syncs(SyncFilter::default(), None, 1_000).await?.items;
            waiting.retain(|sync| matches!(sync.state, State::Available | State::Expired));
            claim.matrix_id = waiting.iter().min_by_key(|sync| (sync.created_at, sync.id)).map(|s| s.matrix_id.clone());
        }
        self.right.claim_sync(claim).await
    }

    async fn claim_chunk(&self, mut claim: ChunkClaim) -> Result<std::result::Result<ClaimedChunk, Idle>> {
        if self.is(Bug::ClaimReversed) && claim.chunk_hash.is_none() {
            let waiting = ChunkFilter { state: Some(State::Available) };
            let page = self.right.chunks(claim.sync, waiting, 0, 1_000).await?;
            claim.chunk_hash = page.items.last().map(|chunk| chunk.chunk_hash.clone());
        }
        if self.is(Bug::ClaimGivenTwice) && claim.chunk_hash.is_none() {
            let last = self.last.lock().unwrap().clone().filter(|last| last.sync == claim.sync);
            if let Some(last) = last
                && self
                    .right
                    .chunk(last.sync, &last.chunk_hash)
                    .await?
                    .is_some_and(|chunk| chunk.state == State::Running)
            {
                return Ok(Ok(ClaimedChunk { attempt: last.attempt + 1, token: Token(last.token.0 + 1), ..last }));
            }
        }
        let mut claimed = self.right.claim_chunk(claim).await?;
        if let Ok(chunk) = &mut claimed {
            *self.last.lock().unwrap() = Some(chunk.clone());
            let key = (chunk.matrix_id.clone(), chunk.chunk_hash.clone());
            let first = *self.firsts.lock().unwrap().entry(key).or_insert(chunk.token);
            if self.is(Bug::TokenReset) && chunk.attempt == 1 {
                chunk.token = first;
            }
            if self.is(Bug::CursorForgotten) {
                chunk.cursor = None;
            }
        }
        Ok(claimed)
    }

    async fn heartbeat_sync(&self, beat: Beat) -> Result<Fenced<Time>> {
        let now = match self.bug {
            Bug::HeartbeatRevives => self.back(&beat.unit, &beat.owner, beat.token).await?,
            _ => self.clock.now(),
        };
        let answer = self.right.heartbeat_sync(beat.clone()).await?;
        self.clock.set(now);
        if let (Bug::HeartbeatByHash, Ok(_)) = (self.bug, &answer)
            && let Some((unit, owner, token)) = self.twin(&beat.unit).await?
        {
            let _ = self.right.heartbeat_sync(Beat { unit, owner, token }).await?;
        }
        Ok(answer)
    }

    async fn finish_sync(&self, mut ending: Ending) -> Result<std::result::Result<Ended, Denied>> {
        let standing = self.standing(&ending.unit).await?;
        if let Some((lease, token)) = standing.and_then(|standing| standing.lease.zip(standing.token)) {
            match self.bug {
                Bug::FinishIgnoresToken if lease.owner == ending.owner => ending.token = token,
                Bug::FinishIgnoresOwner if token == ending.token => ending.owner = lease.owner,
                _ => {}
            }
        }
        let now = match self.bug {
            Bug::FinishIgnoresExpiry => self.back(&ending.unit, &ending.owner, ending.token).await?,
            _ => self.clock.now(),
        };
        let crashes = self.right.sync(ending.unit.sync).await?.map_or(0, |info| info.sync.crashes);
        let answer = self.right.finish_sync(ending.clone()).await?;
        self.clock.set(now);
        if let (Bug::CompleteByHash, Ok(Ended { state: State::Completed, already: false })) = (self.bug, &answer)
            && let Some((unit, owner, token)) = self.twin(&ending.unit).await?
        {
            let _ = self.right.finish_sync(Ending { unit, owner, token, act: Act::done() }).await?;
        }
        if self.is(Bug::CrashesKept) && crashes > 0 {
            self.crashes.lock().unwrap().insert(ending.unit.sync, crashes);
        }
        Ok(match answer {
            Ok(Ended { already: true, .. }) if self.is(Bug::ReplayRefused) => Err(Denied::Lost(LostReason::Finished)),
            Err(Denied::Lost(LostReason::Finished)) if self.is(Bug::AnyVerbReplays) => {
                Ok(Ended { state: State::Completed, already: true })
            }
            Err(Denied::Lost(LostReason::Cancelled)) if self.is(Bug::CancelledCalledFinished) => {
                Err(Denied::Lost(LostReason::Finished))
            }
            Err(Denied::Refused(Refused::Incomplete { .. })) if self.is(Bug::CompletedEarly) => {
                Ok(Ended { state: State::Completed, already: false })
            }
            answer => answer,
        })
    }

    async fn sync(&self, id: SyncId) -> Result<Option<SyncInfo>> {
        let mut info = self.right.sync(id).await?;
        if let Some(info) = &mut info {
            if self.is(Bug::StateStored) && info.sync.state == State::Expired {
                info.sync.state = State::Running;
            }
            if let Some(crashes) = self.crashes.lock().unwrap().get(&id) {
                info.sync.crashes = info.sync.crashes.max(*crashes);
            }
        }
        Ok(info)
    }

    async fn chunk(&self, sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>> {
        Ok(self.right.chunk(sync, chunk_hash).await?.map(|chunk| self.shown(chunk)))
    }

    async fn chunks(&self, sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>> {
        let page = self.right.chunks(sync, filter, after, limit).await?;
        Ok(Page { items: page.items.into_iter().map(|chunk| self.shown(chunk)).collect(), more: page.more })
    }

    async fn sync_events(&self, sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>> {
        let mut events = self.right.sync_events(sync, limit).await?;
        if self.is(Bug::ToldTwice)
            && let Some(at) = events.iter().position(|event| event.what == What::Expired)
        {
            events.insert(at, events[at].clone());
        }
        Ok(events)
    }
}
