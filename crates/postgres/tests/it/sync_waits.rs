//! A caller's own open transaction, and who waits for it: its chunk, and what must exclude it by meaning; nobody else
//! (L10). Each test opens such a transaction and asks everybody else for an answer.

use crate::support::{Postgres, blocked, connect};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::sync::{
    Act, Beat, ChunkClaim, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, IdleReason, NewChunk, Plan, Reason,
    Refused, State, SyncClaim, SyncId, Unit,
};
use tenure_core::{LostReason, Time};
use tenure_postgres::in_transaction::{chunk_held, complete_chunk};
use tenure_store::conformance::Harness;
use tenure_store::{Place, Store, TransactionError};
use tokio_postgres::{Client, Transaction};

const START: Time = Time(1_800_000_000_000_000);
const LEASE_MS: u64 = 10_000;
/// Longer than any test moves the clock.
const LONG_MS: u64 = 3_600_000;

/// A store on a clock that stands still, and a connection for the caller's own transaction.
async fn open() -> (Postgres, Arc<dyn Store>, Client) {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    let hand = connect(postgres.database.url()).await;
    (postgres, store, hand)
}

fn place() -> Place {
    Place::Schema("tenure".into())
}

fn chunks(hashes: &[&str]) -> Vec<NewChunk> {
    hashes.iter().map(|hash| NewChunk::new(*hash)).collect()
}

async fn plan(store: &dyn Store, plan: Plan) -> SyncId {
    store.plan_sync(plan).await.unwrap().unwrap().id
}

async fn take_sync(store: &dyn Store, owner: &str, matrix: &str, lease_ms: u64) -> ClaimedSync {
    let claim = SyncClaim::new(owner).matrix_id(matrix).lease_ms(lease_ms);
    store.claim_sync(claim).await.unwrap().expect("the sync waits")
}

async fn take(store: &dyn Store, sync: SyncId, owner: &str, hash: &str) -> ClaimedChunk {
    store.claim_chunk(ChunkClaim::new(sync, owner).chunk_hash(hash).lease_ms(LONG_MS)).await.unwrap().unwrap()
}

fn beat_sync(held: &ClaimedSync, owner: &str) -> Beat {
    Beat::new(Unit::sync(held.id), owner, held.token)
}

fn end_sync(held: &ClaimedSync, owner: &str, act: Act) -> Ending {
    Ending { unit: Unit::sync(held.id), owner: owner.into(), token: held.token, act }
}

fn unit(chunk: &ClaimedChunk) -> Unit {
    Unit::chunk(chunk.sync, &chunk.chunk_hash)
}

fn completion(chunk: &ClaimedChunk, owner: &str) -> Ending {
    Ending { unit: unit(chunk), owner: owner.into(), token: chunk.token, act: Act::done() }
}

fn done() -> Result<Ended, Denied> {
    Ok(Ended { state: State::Completed, already: false })
}

/// Completes a chunk in the caller's transaction, which stays open.
async fn complete_in(tx: &Transaction<'_>, chunk: &ClaimedChunk, owner: &str) {
    complete_chunk(tx, &place(), chunk, owner, Some(1), None).await.unwrap();
}

/// The answer of one who may not be made to wait.
async fn at_once<T>(who: &str, call: impl Future<Output = tenure_store::Result<T>>) -> T {
    let answer = tokio::time::timeout(Duration::from_secs(20), call).await;
    answer.unwrap_or_else(|_| panic!("{who} waits")).unwrap()
}

/// Two syncs, of which `m` has seen one crash; both leases run out at `START` + 3 × `LEASE_MS`.
async fn two_syncs(postgres: &Postgres, store: &dyn Store) -> (ClaimedSync, ClaimedSync) {
    plan(store, Plan::new("m").priority(9).chunks(chunks(&["x", "y", "z"]))).await;
    plan(store, Plan::new("other").chunks(chunks(&["x"]))).await;
    take_sync(store, "w0", "m", LEASE_MS).await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    assert_eq!(store.recover_syncs(10).await.unwrap().leases, 1);
    let m = take_sync(store, "w1", "m", 2 * LEASE_MS).await;
    (m, take_sync(store, "v", "other", 2 * LEASE_MS).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_chunk_that_an_open_transaction_completed_is_beaten_without_waiting() {
    let (postgres, store, mut hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x"]))).await;
    let x = take(&*store, sync, "w", "x").await;
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w").await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    let beat = || Beat::new(unit(&x), "w", x.token);
    let kept = at_once("its heartbeat", store.heartbeat_sync(beat())).await;
    assert_eq!(kept, Ok(START.plus_ms(LONG_MS)), "held, and not renewed: the transaction has the row");
    let stale = at_once("a stale heartbeat", store.heartbeat_sync(Beat::new(unit(&x), "thief", x.token))).await;
    assert_eq!(stale, Err(LostReason::Unknown));
    tx.rollback().await.unwrap();
    assert_eq!(store.heartbeat_sync(beat()).await.unwrap(), Ok(START.plus_ms(LEASE_MS + LONG_MS)));
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_an_open_completion_stops_no_other_chunk_no_heartbeat_and_no_recovery() {
    let (postgres, store, mut hand) = open().await;
    let (m, _) = two_syncs(&postgres, &*store).await;
    let (x, y) = (take(&*store, m.id, "w1", "x").await, take(&*store, m.id, "w2", "y").await);
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w1").await;

    let ended = at_once("the completion of another chunk", store.finish_sync(completion(&y, "w2"))).await;
    assert_eq!(ended, done());
    let beat = at_once("the heartbeat of the sync", store.heartbeat_sync(beat_sync(&m, "w1"))).await;
    assert_eq!(beat, Ok(START.plus_ms(3 * LEASE_MS)));
    let named = ChunkClaim::new(m.id, "w3").chunk_hash("x");
    let idle = at_once("the claim of that chunk", store.claim_chunk(named)).await.unwrap_err();
    assert_eq!(idle.reason, IdleReason::Held);
    assert_eq!(at_once("another claim", store.claim_chunk(ChunkClaim::new(m.id, "w3"))).await.unwrap().chunk_hash, "z");
    at_once("an addition", store.add_chunks(m.id, chunks(&["more"]))).await.unwrap();
    let incomplete = at_once("completing the sync", store.finish_sync(end_sync(&m, "w1", Act::done()))).await;
    assert_eq!(incomplete, Err(Denied::Refused(Refused::Incomplete { left: 3, failed: 0 })));
    postgres.set_clock(START.plus_ms(3 * LEASE_MS)).await;
    assert_eq!(at_once("recovery", store.recover_syncs(10)).await.leases, 2, "both syncs ran out");
    tx.commit().await.unwrap();
    assert_eq!(store.sync(m.id).await.unwrap().unwrap().progress.completed, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_an_open_completion_stops_no_claim_of_a_sync() {
    let (postgres, store, mut hand) = open().await;
    let (m, other) = two_syncs(&postgres, &*store).await;
    let x = take(&*store, m.id, "w1", "x").await;
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w1").await;
    postgres.set_clock(START.plus_ms(3 * LEASE_MS)).await;
    for expected in [m.id, other.id] {
        let claimed = at_once("a claim", store.claim_sync(SyncClaim::new("w9"))).await;
        assert_eq!(claimed.map(|claimed| claimed.id), Some(expected));
    }
    tx.rollback().await.unwrap();
}

/// A sync that may crash twice and has once; its second lease has run out while `x` was being completed in between.
async fn last_crash_beside_a_completion(postgres: &Postgres, store: &dyn Store) -> (SyncId, ClaimedChunk) {
    let sync = plan(store, Plan::new("m").crashes_max(2).chunks(chunks(&["x", "y"]))).await;
    take_sync(store, "w0", "m", LEASE_MS).await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    assert_eq!(store.recover_syncs(10).await.unwrap().leases, 1);
    assert_eq!(store.sync(sync).await.unwrap().unwrap().sync.crashes, 1);
    take_sync(store, "w1", "m", LEASE_MS).await;
    (sync, take(store, sync, "w2", "x").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn l6_a_sync_is_not_given_up_while_a_chunk_of_it_is_being_completed() {
    let (postgres, store, mut hand) = open().await;
    let (sync, x) = last_crash_beside_a_completion(&postgres, &*store).await;
    let other = plan(&*store, Plan::new("other").chunks(chunks(&["x"]))).await;
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w2").await;
    postgres.set_clock(START.plus_ms(2 * LEASE_MS)).await;
    assert_eq!(at_once("recovery", store.recover_syncs(10)).await.failed, 0);
    let claimed = at_once("a claim", store.claim_sync(SyncClaim::new("w9"))).await;
    assert_eq!(claimed.map(|claimed| claimed.id), Some(other), "what cannot be judged yet is passed over");
    let named = at_once("a claim by name", store.claim_sync(SyncClaim::new("w9").matrix_id("m"))).await;
    assert_eq!(named, None);
    tx.commit().await.unwrap();
    // The chunk was done after the first crash: only the second counts.
    assert_eq!(store.recover_syncs(10).await.unwrap().failed, 0);
    let shown = store.sync(sync).await.unwrap().unwrap().sync;
    assert_eq!((shown.state, shown.crashes), (State::Expired, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn l6_a_completion_that_was_rolled_back_is_no_progress() {
    let (postgres, store, mut hand) = open().await;
    let (sync, x) = last_crash_beside_a_completion(&postgres, &*store).await;
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w2").await;
    postgres.set_clock(START.plus_ms(2 * LEASE_MS)).await;
    tx.rollback().await.unwrap();
    assert_eq!(store.recover_syncs(10).await.unwrap().failed, 1);
    let shown = store.sync(sync).await.unwrap().unwrap().sync;
    assert_eq!((shown.standing.reason, shown.crashes), (Some(Reason::CrashLimit), 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_nothing_is_done_while_its_only_chunk_is_being_claimed() {
    const ROUNDS: usize = 300;
    const CLAIMERS: usize = 4;
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    let mut syncs = Vec::new();
    for round in 0..ROUNDS {
        syncs.push(plan(&*store, Plan::new(format!("m{round}")).chunks(chunks(&["x"]))).await);
    }
    let start = Arc::new(tokio::sync::Barrier::new(CLAIMERS));
    let mut claimers = Vec::new();
    for _ in 0..CLAIMERS {
        let (store, syncs, start) = (postgres.another().await, syncs.clone(), start.clone());
        claimers.push(tokio::spawn(async move {
            let mut told = BTreeMap::new();
            for sync in syncs {
                start.wait().await;
                let answer = match store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap() {
                    Ok(_) => "claimed",
                    Err(idle) => idle.reason.as_str(),
                };
                *told.entry(answer).or_insert(0) += 1;
            }
            told
        }));
    }
    let mut told = BTreeMap::new();
    for claimer in claimers {
        for (answer, count) in claimer.await.unwrap() {
            *told.entry(answer).or_insert(0) += count;
        }
    }
    assert_eq!(told, BTreeMap::from([("claimed", ROUNDS), ("held", ROUNDS * (CLAIMERS - 1))]));
}

#[tokio::test(flavor = "multi_thread")]
async fn l12_a_callers_transaction_is_answered_after_the_next_plan_as_before_it() {
    let (_postgres, store, mut hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x", "y"]))).await;
    let (x, y) = (take(&*store, sync, "w1", "x").await, take(&*store, sync, "w2", "y").await);
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w1").await;
    tx.commit().await.unwrap();
    store.cancel_sync(sync, None).await.unwrap().unwrap();
    for planned in [false, true] {
        if planned {
            plan(&*store, Plan::new("m").chunks(chunks(&["x", "y"]))).await;
        }
        let tx = hand.transaction().await.unwrap();
        complete_in(&tx, &x, "w1").await;
        tx.commit().await.unwrap();
        let tx = hand.transaction().await.unwrap();
        let lost = complete_chunk(&tx, &place(), &y, "w2", None, None).await.unwrap_err();
        assert!(matches!(lost, TransactionError::LeaseLost(LostReason::Cancelled)), "planned {planned}: {lost}");
        drop(tx);
        let tx = hand.transaction().await.unwrap();
        let lost = chunk_held(&tx, &place(), &y, "w2").await.unwrap_err();
        assert!(matches!(lost, TransactionError::LeaseLost(LostReason::Cancelled)), "planned {planned}: {lost}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l12_an_ending_answered_again_in_an_open_transaction_holds_up_nobody() {
    let (_postgres, store, mut hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x"]))).await;
    let x = take(&*store, sync, "w1", "x").await;
    assert_eq!(store.finish_sync(completion(&x, "w1")).await.unwrap(), done());
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w1").await;
    at_once("a cancel", store.cancel_sync(sync, None)).await.unwrap();
    let next = at_once("the next plan", store.plan_sync(Plan::new("m").chunks(chunks(&["x"])))).await.unwrap();
    assert!(at_once("a claim", store.claim_chunk(ChunkClaim::new(next.id, "w2"))).await.is_ok());
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_cancel_that_waits_for_an_open_completion_holds_up_nobody() {
    let (postgres, store, mut hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x", "y", "z"]))).await;
    let boss = take_sync(&*store, "boss", "m", LONG_MS).await;
    let (x, y) = (take(&*store, sync, "w1", "x").await, take(&*store, sync, "w2", "y").await);
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &y, "w2").await;
    let operator = postgres.another().await;
    let cancel = tokio::spawn(async move { operator.cancel_sync(sync, None).await.unwrap() });
    blocked(&connect(postgres.database.url()).await).await;

    let beat = Beat::new(unit(&x), "w1", x.token);
    assert!(at_once("the heartbeat of another chunk", store.heartbeat_sync(beat)).await.is_ok());
    assert!(at_once("the heartbeat of the sync", store.heartbeat_sync(beat_sync(&boss, "boss"))).await.is_ok());
    let z = at_once("a claim", store.claim_chunk(ChunkClaim::new(sync, "w3"))).await.unwrap();
    assert_eq!(at_once("another completion", store.finish_sync(completion(&z, "w3"))).await, done());
    at_once("recovery", store.recover_syncs(10)).await;
    tx.commit().await.unwrap();
    assert_eq!(cancel.await.unwrap(), Ok(State::Failed));
    assert_eq!(store.chunk(sync, "y").await.unwrap().unwrap().state, State::Completed, "it was there first");
    let lost = store.finish_sync(completion(&x, "w1")).await.unwrap();
    assert_eq!(lost, Err(Denied::Lost(LostReason::Cancelled)));
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_a_cancel_gets_through_a_crowd_at_work() {
    const CHUNKS: usize = 2_000;
    let (postgres, store, _hand) = open().await;
    let hashes: Vec<String> = (0..CHUNKS).map(|n| format!("h{n:04}")).collect();
    let plan_of_all = Plan::new("m").chunks(hashes.iter().map(NewChunk::new));
    let sync = plan(&*store, plan_of_all).await;
    let mut crowd = Vec::new();
    for _ in 0..8 {
        let store = postgres.another().await;
        crowd.push(tokio::spawn(async move {
            loop {
                match store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap() {
                    Ok(chunk) => drop(store.finish_sync(completion(&chunk, "w")).await.unwrap()),
                    Err(idle) if idle.reason == IdleReason::Held => {}
                    Err(_) => return,
                }
            }
        }));
    }
    while store.sync(sync).await.unwrap().unwrap().progress.completed < 50 {}
    assert_eq!(store.cancel_sync(sync, None).await.unwrap(), Ok(State::Failed));
    for worker in crowd {
        worker.await.unwrap();
    }
    let left = store.sync(sync).await.unwrap().unwrap().progress.available;
    assert!(left > 0, "the cancel had to wait until all was done");
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_chunk_held_in_an_open_transaction_stops_no_plan() {
    let (_postgres, store, mut hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x", "y"]))).await;
    let x = take(&*store, sync, "w1", "x").await;
    let tx = hand.transaction().await.unwrap();
    chunk_held(&tx, &place(), &x, "w1").await.unwrap();
    at_once("a cancel", store.cancel_sync(sync, None)).await.unwrap();
    let next = at_once("the next plan", store.plan_sync(Plan::new("m").chunks(chunks(&["x"])))).await.unwrap();
    at_once("a cancel", store.cancel_sync(next.id, None)).await.unwrap();
    let next = plan(&*store, Plan::new("m").chunks(chunks(&["y"]))).await;
    assert_eq!(at_once("an addition", store.add_chunks(next, chunks(&["x"]))).await.unwrap().added, 1);
    assert_eq!(at_once("a claim", store.claim_chunk(ChunkClaim::new(next, "w2"))).await.unwrap().chunk_hash, "y");
    let kept = at_once("a claim", store.claim_chunk(ChunkClaim::new(next, "w2"))).await.unwrap_err();
    assert_eq!(kept.reason, IdleReason::Held, "the chunk that is held is kept from others");
    tx.rollback().await.unwrap();
    assert_eq!(store.claim_chunk(ChunkClaim::new(next, "w2")).await.unwrap().unwrap().chunk_hash, "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn l4_a_sync_that_waited_past_its_lease_to_fail_is_refused() {
    let (postgres, store, mut hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x"]))).await;
    let boss = take_sync(&*store, "boss", "m", LEASE_MS).await;
    let x = take(&*store, sync, "w1", "x").await;
    let tx = hand.transaction().await.unwrap();
    complete_in(&tx, &x, "w1").await;
    let failing = postgres.another().await;
    let ending = end_sync(&boss, "boss", Act::Fail { error: "it broke".into(), retry: false });
    let failing = tokio::spawn(async move { failing.finish_sync(ending).await.unwrap() });
    blocked(&connect(postgres.database.url()).await).await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    tx.commit().await.unwrap();
    assert_eq!(failing.await.unwrap(), Err(Denied::Lost(LostReason::Expired)));
    assert_eq!(store.sync(sync).await.unwrap().unwrap().sync.state, State::Expired);
}

#[tokio::test(flavor = "multi_thread")]
async fn l4_a_chunk_that_waited_past_its_lease_to_be_completed_is_refused() {
    let (postgres, store, hand) = open().await;
    let sync = plan(&*store, Plan::new("m").chunks(chunks(&["x"]))).await;
    let x = take(&*store, sync, "w1", "x").await;
    // Whatever of the sync or the chunk the completion needs is in another's hands.
    for rows in ["sync_chunk", "sync_job"] {
        postgres.set_clock(START).await;
        let mut theirs = connect(postgres.database.url()).await;
        let url = postgres.database.url().to_owned();
        hand.batch_execute(&format!("begin; select 1 from tenure.{rows} for update")).await.unwrap();
        let chunk = x.clone();
        let completing = tokio::spawn(async move {
            let tx = theirs.transaction().await.unwrap();
            complete_chunk(&tx, &place(), &chunk, "w1", None, None).await
        });
        let rival = connect(&url).await;
        let waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while rival.query(waiting, &[]).await.unwrap().is_empty() && !completing.is_finished() {}
        postgres.set_clock(START.plus_ms(LONG_MS)).await;
        hand.batch_execute("rollback").await.unwrap();
        let lost = completing.await.unwrap().unwrap_err();
        assert!(matches!(lost, TransactionError::LeaseLost(LostReason::Expired)), "{rows}: {lost}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_rows_that_cannot_be_recovered_never_stop_the_others() {
    let (postgres, store, hand) = open().await;
    let bad = plan(&*store, Plan::new("bad").chunks(chunks(&["x"]))).await;
    let good = plan(&*store, Plan::new("good").chunks(chunks(&["x"]))).await;
    // The bad ones run out first, and stand at the head of every sweep.
    for (matrix, sync, ms) in [("bad", bad, 1), ("good", good, 2)] {
        take_sync(&*store, "w", matrix, ms * LEASE_MS).await;
        let claim = ChunkClaim::new(sync, "w").lease_ms(ms * LEASE_MS);
        store.claim_chunk(claim).await.unwrap().unwrap();
    }
    for table in ["sync_job", "sync_chunk"] {
        let poison = format!("alter table tenure.{table} add constraint poison check (matrix_id <> 'bad' or not told)");
        hand.batch_execute(&poison).await.unwrap();
    }
    postgres.set_clock(START.plus_ms(2 * LEASE_MS)).await;
    assert_eq!(store.recover_syncs(1).await.unwrap().leases, 1);
    assert_eq!(store.recover_syncs(1).await.unwrap().leases, 1);
    assert_eq!(store.recover_syncs(1).await.unwrap().leases, 0);
    assert_eq!(store.sync_events(good, 10).await.unwrap().len(), 2, "the sync's and the chunk's");
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_rows_that_cannot_be_recovered_never_stop_the_claims_of_others() {
    let (postgres, store, hand) = open().await;
    plan(&*store, Plan::new("bad").priority(9)).await;
    let good = plan(&*store, Plan::new("good").chunks(chunks(&["x", "y"]))).await;
    take_sync(&*store, "w", "bad", LEASE_MS).await;
    take_sync(&*store, "w", "good", LEASE_MS).await;
    for _ in ["x", "y"] {
        store.claim_chunk(ChunkClaim::new(good, "w").lease_ms(LEASE_MS)).await.unwrap().unwrap();
    }
    let poison = "alter table tenure.sync_job add constraint poison check (matrix_id <> 'bad' or not told);
                  alter table tenure.sync_chunk add constraint poison check (chunk_hash <> 'x' or not told)";
    hand.batch_execute(poison).await.unwrap();
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    let claimed = store.claim_sync(SyncClaim::new("v")).await.unwrap();
    assert_eq!(claimed.map(|claimed| claimed.id), Some(good));
    assert_eq!(store.claim_chunk(ChunkClaim::new(good, "v")).await.unwrap().unwrap().chunk_hash, "y");
    let idle = store.claim_chunk(ChunkClaim::new(good, "v")).await.unwrap().unwrap_err();
    assert_eq!(idle.reason, IdleReason::Held, "it is not done");
    assert!(store.claim_chunk(ChunkClaim::new(good, "v").chunk_hash("x")).await.is_err(), "who asks for it is told");
}
