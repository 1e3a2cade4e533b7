//! Syncs, everything at once (C9): six callers draw verbs from a seed over the same few matrices, some of them in
//! transactions of their own. The server counts no deadlock, what must hold holds at the end, and all of it can be ended.

use crate::support::{connect, database};
use std::sync::Arc;
use tenure_core::sync::{
    Act, Beat, ChunkClaim, ClaimedChunk, ClaimedSync, Denied, Ending, NewChunk, Plan, Refused, SyncClaim, SyncFilter,
    SyncId, Unit,
};
use tenure_postgres::PostgresStore;
use tenure_postgres::in_transaction::{chunk_held, complete_chunk};
use tenure_store::conformance::{Chance, Seed};
use tenure_store::{Place, SyncStore, TransactionError};
use tokio_postgres::Client;

const CALLERS: u64 = 6;
const CALLS: u32 = 400;

/// One of the callers, and what it holds.
struct Caller {
    store: Arc<PostgresStore>,
    own: Client,
    name: String,
    chance: Chance,
    syncs: Vec<ClaimedSync>,
    chunks: Vec<ClaimedChunk>,
}

impl Caller {
    async fn call(&mut self) {
        match self.chance.below(100) {
            0..8 => self.plan().await,
            8..18 => self.claim_sync().await,
            18..45 => self.claim_chunk().await,
            45..65 => self.finish_chunk().await,
            65..75 => self.in_own_transaction().await,
            75..80 => self.finish_sync().await,
            80..88 => self.heartbeat().await,
            88..94 => drop(self.store.recover_syncs(5).await.unwrap()),
            94..97 => drop(self.store.prune_syncs(5).await.unwrap()),
            _ => self.cancel().await,
        }
    }

    fn matrix(&mut self) -> String {
        format!("m{}", self.chance.below(3))
    }

    fn new_chunks(&mut self) -> Vec<NewChunk> {
        let (first, count) = (self.chance.below(20), 1 + self.chance.below(8));
        // Backwards as often as not: whoever locks rows as they come would meet another half-way.
        let hashes = (first..first + count).map(|n| NewChunk::new(format!("h{n:02}")));
        if self.chance.one_in(2) { hashes.rev().collect() } else { hashes.collect() }
    }

    async fn some_sync(&mut self) -> Option<SyncId> {
        let page = self.store.syncs(SyncFilter::default(), None, 4).await.unwrap();
        let at = self.chance.below(page.items.len().max(1));
        page.items.get(at).map(|sync| sync.id)
    }

    async fn plan(&mut self) {
        let mut plan = Plan::new(self.matrix()).attempts_max(3);
        plan.crashes_max = self.chance.one_in(2).then_some(2);
        let plan = plan.chunks(self.new_chunks());
        let planned = self.store.plan_sync(plan).await.unwrap();
        if let Err(Refused::Unfinished { id }) = planned {
            let more = self.new_chunks();
            let _ = self.store.add_chunks(id, more).await.unwrap();
        }
    }

    async fn claim_sync(&mut self) {
        let mut claim = SyncClaim::new(&self.name).lease_ms(self.chance.pick(&[100, 1_000]));
        claim.matrix_id = self.chance.one_in(3).then(|| self.matrix());
        self.syncs.extend(self.store.claim_sync(claim).await.unwrap());
    }

    async fn claim_chunk(&mut self) {
        let Some(sync) = self.some_sync().await else { return };
        let mut claim = ChunkClaim::new(sync, &self.name).lease_ms(self.chance.pick(&[100, 1_000]));
        claim.chunk_hash = self.chance.one_in(4).then(|| format!("h{:02}", self.chance.below(28)));
        self.chunks.extend(self.store.claim_chunk(claim).await.unwrap());
    }

    async fn finish_chunk(&mut self) {
        let Some(chunk) = self.chunks.pop() else { return };
        let act = match self.chance.below(6) {
            0 => Act::Release,
            1 => Act::Fail { error: "it broke".into(), retry: self.chance.below(4) > 0 },
            _ => Act::done(),
        };
        let unit = Unit::chunk(chunk.sync, &chunk.chunk_hash);
        let ending = Ending { unit, owner: self.name.clone(), token: chunk.token, act };
        let _ = self.store.finish_sync(ending).await.unwrap();
    }

    /// Two chunks in one transaction that takes its time.
    async fn in_own_transaction(&mut self) {
        let chunks: Vec<_> = self.chunks.drain(self.chunks.len().saturating_sub(2)..).collect();
        let place = Place::Schema("tenure".into());
        let tx = self.own.transaction().await.unwrap();
        for chunk in &chunks {
            let met = match chunk_held(&tx, &place, chunk, &self.name).await {
                Ok(()) => complete_chunk(&tx, &place, chunk, &self.name, None, None).await,
                lost => lost,
            };
            match met {
                Ok(()) => {}
                Err(TransactionError::LeaseLost(_)) => return,
                Err(met) => panic!("{met}"),
            }
        }
        tx.batch_execute("select pg_sleep(0.01)").await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn finish_sync(&mut self) {
        let Some(held) = self.syncs.pop() else { return };
        let act = match self.chance.below(6) {
            0 => Act::Release,
            1 => Act::Fail { error: "it broke".into(), retry: false },
            _ => Act::done(),
        };
        let ending = Ending { unit: Unit::sync(held.id), owner: self.name.clone(), token: held.token, act };
        let _ = self.store.finish_sync(ending).await.unwrap();
    }

    async fn heartbeat(&mut self) {
        let syncs = self.syncs.iter().map(|held| (Unit::sync(held.id), held.token));
        let chunks = self.chunks.iter().map(|held| (Unit::chunk(held.sync, &held.chunk_hash), held.token));
        for (unit, token) in syncs.chain(chunks) {
            let _ = self.store.heartbeat_sync(Beat::new(unit, &self.name, token)).await.unwrap();
        }
    }

    async fn cancel(&mut self) {
        if let Some(sync) = self.some_sync().await {
            let _ = self.store.cancel_sync(sync, None).await.unwrap();
        }
    }
}

/// What may never be found, one row for each time it is.
const WRONG: &str = "
    select 'two open passes' from tenure.sync_job where completed_at is null and failed_at is null
     group by matrix_id having count(*) > 1
    union all select 'a lease in an ended sync' from tenure.sync_job j join tenure.sync_chunk c on c.sync = j.id
     where (j.completed_at is not null or j.failed_at is not null) and c.locked_until is not null
    union all select 'completed with chunks left' from tenure.sync_job
     where completed_at is not null and (done_completed <> planned or done_available + done_failed > 0)
    union all select 'figures that do not add up' from tenure.sync_job
     where (completed_at is not null or failed_at is not null)
       and done_available + done_failed + done_completed <> planned
    union all select 'chunks that were not planned' from tenure.sync_job j
     where completed_at is null and failed_at is null
       and planned <> (select count(*) from tenure.sync_chunk c where c.sync = j.id)
    union all select 'a place given out twice' from tenure.sync_chunk group by sync, ord having count(*) > 1
    union all select 'too many attempts' from tenure.sync_chunk where attempt > attempts_max";

#[tokio::test(flavor = "multi_thread")]
async fn c9_mixed_verbs_of_syncs_at_once_meet_no_deadlock_and_all_can_be_ended() {
    let seed = Seed::or(7_000);
    let database = database().await;
    let mut callers = Vec::new();
    for n in 0..CALLERS {
        let store = Arc::new(PostgresStore::open(database.url()).await.unwrap());
        let own = connect(database.url()).await;
        let chance = seed.chance(n);
        let mut caller = Caller { store, own, name: format!("w{n}"), chance, syncs: Vec::new(), chunks: Vec::new() };
        callers.push(tokio::spawn(async move {
            for _ in 0..CALLS {
                caller.call().await;
            }
        }));
    }
    // Old passes are there to be pruned, and their chunks to be taken over at the same time.
    let aging = connect(database.url()).await;
    while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
        let age = "update tenure.sync_job set failed_at = failed_at - interval '8 days'
                    where id in (select id from tenure.sync_job where failed_at > now() - interval '7 days'
                                    for no key update skip locked)";
        aging.batch_execute(age).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    let wrong: Vec<String> = aging.query(WRONG, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(wrong, Vec::<String>::new());
    aging.batch_execute("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()").await.unwrap();
    let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
    assert_eq!(aging.query_one(deadlocks, &[]).await.unwrap().get::<_, i64>(0), 0);

    // Whatever is open can be claimed, once the leases have run out, and ended.
    let store = PostgresStore::open(database.url()).await.unwrap();
    for sync in store.syncs(SyncFilter::default(), None, 1_000).await.unwrap().items {
        while store.sync(sync.id).await.unwrap().is_some_and(|info| info.sync.standing.open()) {
            while let Ok(chunk) = store.claim_chunk(ChunkClaim::new(sync.id, "z")).await.unwrap() {
                let unit = Unit::chunk(sync.id, chunk.chunk_hash);
                let ending = Ending { unit, owner: "z".into(), token: chunk.token, act: Act::done() };
                store.finish_sync(ending).await.unwrap().unwrap();
            }
            let claim = SyncClaim::new("z").matrix_id(&sync.matrix_id);
            let Some(held) = store.claim_sync(claim).await.unwrap() else { continue };
            for act in [Act::done(), Act::Fail { error: "some chunks failed".into(), retry: false }] {
                let ending = Ending { unit: Unit::sync(held.id), owner: "z".into(), token: held.token, act };
                match store.finish_sync(ending).await.unwrap() {
                    Ok(_) => break,
                    Err(Denied::Refused(Refused::Incomplete { failed, .. })) if failed > 0 => {}
                    // A chunk is still held by one of the callers.
                    Err(Denied::Refused(_)) => {
                        let release = Ending {
                            unit: Unit::sync(held.id),
                            owner: "z".into(),
                            token: held.token,
                            act: Act::Release,
                        };
                        store.finish_sync(release).await.unwrap().unwrap();
                        break;
                    }
                    Err(Denied::Lost(reason)) => panic!("{reason}"),
                }
            }
        }
    }
}
