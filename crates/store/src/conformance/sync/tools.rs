//! What the scenarios share: a store on a clock that stands still, and verbs short enough to read as sentences.

use super::Harness;
use crate::{Fenced, OrRefused, Store};
use std::sync::Arc;
use tenure_core::sync::{
    Act, Beat, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, Denied, Ended, Ending, Idle, IdleReason, NewChunk, Plan,
    Planned, Progress, State, Sync, SyncClaim, SyncEvent, SyncId, SyncsRecovered, Unit, What,
};
use tenure_core::{LostReason, Time, Token};

pub(super) use crate::conformance::START;

pub(super) struct World<H> {
    pub(super) harness: H,
    pub(super) store: Arc<dyn Store>,
    pub(super) now: Time,
}

/// What a claimer needs to remember to write.
#[derive(Clone, Debug)]
pub(super) struct Grip {
    pub(super) unit: Unit,
    pub(super) owner: String,
    pub(super) token: Token,
}

impl Grip {
    pub(super) fn by(&self, owner: &str) -> Grip {
        Grip { owner: owner.to_owned(), ..self.clone() }
    }

    pub(super) fn under(&self, token: Token) -> Grip {
        Grip { token, ..self.clone() }
    }

    pub(super) fn of(&self, unit: Unit) -> Grip {
        Grip { unit, ..self.clone() }
    }
}

pub(super) fn fail() -> Act {
    Act::Fail { error: "it broke".to_owned(), retry: true }
}

pub(super) fn rows(row_count: u64) -> Act {
    Act::Complete { row_count: Some(row_count), cursor: None }
}

/// One ending of each verb.
pub(super) fn every_act() -> [Act; 3] {
    [Act::done(), fail(), Act::Release]
}

/// A plan of `matrix` with chunks of these hashes.
pub(super) fn plan(matrix: &str, hashes: &[&str]) -> Plan {
    Plan::new(matrix).chunks(hashes.iter().map(|hash| NewChunk::new(*hash)))
}

pub(super) fn now(state: State) -> Result<Ended, Denied> {
    Ok(Ended { state, already: false })
}

pub(super) fn already(state: State) -> Result<Ended, Denied> {
    Ok(Ended { state, already: true })
}

pub(super) fn lost(reason: LostReason) -> Result<Ended, Denied> {
    Err(Denied::Lost(reason))
}

impl<H: Harness> World<H> {
    pub(super) async fn open() -> World<H> {
        let harness = H::open(START).await;
        let store = harness.store();
        World { harness, store, now: START }
    }

    pub(super) async fn pass_ms(&mut self, ms: u64) {
        self.set(self.now.plus_ms(ms)).await;
    }

    pub(super) async fn set(&mut self, now: Time) {
        self.now = now;
        self.harness.set_clock(now).await;
    }

    pub(super) async fn send(&self, plan: Plan) -> OrRefused<Planned> {
        plan.check().expect("scenarios stay within bounds");
        self.store.plan_sync(plan).await.expect("plan_sync")
    }

    pub(super) async fn plan(&self, matrix: &str, hashes: &[&str]) -> SyncId {
        self.send(plan(matrix, hashes)).await.expect("nothing is unfinished").id
    }

    pub(super) async fn add(&self, sync: SyncId, hashes: &[&str]) -> OrRefused<Planned> {
        let chunks = hashes.iter().map(|hash| NewChunk::new(*hash)).collect();
        self.store.add_chunks(sync, chunks).await.expect("add_chunks")
    }

    pub(super) async fn claim_sync(&self, claim: SyncClaim) -> Option<Grip> {
        claim.check().expect("scenarios stay within bounds");
        let owner = claim.owner.clone();
        let claimed = self.store.claim_sync(claim).await.expect("claim_sync")?;
        Some(Grip { unit: Unit::sync(claimed.id), owner, token: claimed.token })
    }

    /// The next sync, for `owner` and the default lease.
    pub(super) async fn take_sync(&self, owner: &str) -> Grip {
        self.claim_sync(SyncClaim::new(owner)).await.expect("a sync waits")
    }

    pub(super) async fn claim(&self, claim: ChunkClaim) -> Result<ClaimedChunk, Idle> {
        claim.check().expect("scenarios stay within bounds");
        self.store.claim_chunk(claim).await.expect("claim_chunk")
    }

    /// The next chunk, for `owner` and the default lease.
    pub(super) async fn take(&self, sync: SyncId, owner: &str) -> Grip {
        grip(&self.claim(ChunkClaim::new(sync, owner)).await.expect("a chunk waits"), owner)
    }

    pub(super) async fn take_named(&self, sync: SyncId, owner: &str, hash: &str) -> Grip {
        grip(&self.claim(ChunkClaim::new(sync, owner).chunk_hash(hash)).await.expect("the chunk waits"), owner)
    }

    /// Why a claim takes nothing.
    pub(super) async fn idle(&self, claim: ChunkClaim) -> IdleReason {
        self.claim(claim).await.expect_err("the claim took something").reason
    }

    pub(super) async fn beat(&self, grip: &Grip) -> Fenced<Time> {
        let beat = Beat::new(grip.unit.clone(), &grip.owner, grip.token);
        self.store.heartbeat_sync(beat).await.expect("heartbeat_sync")
    }

    pub(super) async fn finish(&self, grip: &Grip, act: Act) -> Result<Ended, Denied> {
        let mut ending = Ending { unit: grip.unit.clone(), owner: grip.owner.clone(), token: grip.token, act };
        ending.check().expect("scenarios stay within bounds");
        self.store.finish_sync(ending).await.expect("finish_sync")
    }

    /// Claims and completes every chunk that is left.
    pub(super) async fn drain(&self, sync: SyncId, owner: &str) {
        while let Ok(claimed) = self.claim(ChunkClaim::new(sync, owner)).await {
            assert_eq!(self.finish(&grip(&claimed, owner), rows(1)).await, now(State::Completed));
        }
    }

    /// Claims, drains and completes a sync.
    pub(super) async fn run(&self, sync: SyncId) {
        let held = self.take_sync("runner").await;
        assert_eq!(held.unit.sync, sync, "another sync waited");
        self.drain(sync, "runner").await;
        assert_eq!(self.finish(&held, Act::done()).await, now(State::Completed));
    }

    pub(super) async fn cancel(&self, sync: SyncId) -> OrRefused<State> {
        self.store.cancel_sync(sync, Some("not needed".to_owned())).await.expect("cancel_sync")
    }

    pub(super) async fn recover(&self, max: u32) -> SyncsRecovered {
        self.store.recover_syncs(max).await.expect("recover_syncs")
    }

    pub(super) async fn sync(&self, id: SyncId) -> Sync {
        self.store.sync(id).await.expect("sync").expect("the sync is on record").sync
    }

    pub(super) async fn progress(&self, id: SyncId) -> Progress {
        self.store.sync(id).await.expect("sync").expect("the sync is on record").progress
    }

    pub(super) async fn chunk(&self, sync: SyncId, hash: &str) -> Chunk {
        self.store.chunk(sync, hash).await.expect("chunk").expect("the chunk is on record")
    }

    /// Every chunk of a sync, in the order of the plan.
    pub(super) async fn chunks(&self, sync: SyncId) -> Vec<Chunk> {
        self.store.chunks(sync, ChunkFilter::default(), 0, 1_000).await.expect("chunks").items
    }

    pub(super) async fn states(&self, sync: SyncId) -> Vec<State> {
        self.chunks(sync).await.iter().map(|chunk| chunk.state).collect()
    }

    pub(super) async fn events(&self, sync: SyncId) -> Vec<SyncEvent> {
        self.store.sync_events(sync, 1_000).await.expect("sync_events")
    }

    pub(super) async fn whats(&self, sync: SyncId) -> Vec<What> {
        self.events(sync).await.iter().map(|event| event.what).collect()
    }

    /// Every verb under `grip` is refused for `reason`, and nothing changes but what is counted as refused.
    pub(super) async fn assert_every_write_refused(&self, grip: &Grip, reason: LostReason) {
        let sync = grip.unit.sync;
        let before = (self.store.sync(sync).await.expect("sync"), self.chunks(sync).await);
        assert_eq!(self.beat(grip).await, Err(reason), "heartbeat of {:?}", grip.unit);
        for act in every_act() {
            let verb = act.verb();
            assert_eq!(self.finish(grip, act).await, lost(reason), "{verb} of {:?}", grip.unit);
        }
        let after = (self.store.sync(sync).await.expect("sync"), self.chunks(sync).await);
        assert_eq!(after, before, "a refused write changed something");
    }
}

pub(super) fn grip(claimed: &ClaimedChunk, owner: &str) -> Grip {
    let unit = Unit::chunk(claimed.sync, &claimed.chunk_hash);
    Grip { unit, owner: owner.to_owned(), token: claimed.token }
}
