//! Claims: of syncs by priority and age, of chunks in the order of the plan or by name.
// Each name is the claim.
#![allow(missing_docs)]

use super::Harness;
use super::tools::{World, fail, plan};
use std::collections::BTreeSet;
use tenure_core::sync::{Act, ChunkClaim, IdleReason, State, SyncClaim, SyncId};

scenarios! {
    __sync_claims = sync::claims;
    s2_syncs_come_by_priority_age_and_id,
    s2_a_claim_may_name_its_matrix,
    s2_a_held_sync_is_not_claimed_again,
    s3_chunks_come_in_the_order_of_the_plan,
    s3_a_chunk_claim_needs_no_lease_on_the_sync,
    s3_a_named_chunk_is_claimed,
    s3_an_unknown_hash_is_nothing,
    s3_what_is_held_or_done_is_nothing,
    s3_an_ended_sync_has_nothing_to_claim,
    s3_a_chunk_of_another_matrix_is_not_this_one,
    s3_many_claimers_never_share_a_chunk,
    l2_tokens_grow_over_passes_and_epochs,
    l4_an_expired_chunk_is_claimed_first,
    l6_a_released_chunk_has_its_attempt_back,
    l5_default_leases_are_those_of_the_document,
}

pub async fn s2_syncs_come_by_priority_age_and_id<H: Harness>() {
    let mut world = World::<H>::open().await;
    let mut planned = Vec::new();
    for (matrix, priority) in [("a", 0), ("b", 5), ("c", 0), ("d", 5)] {
        planned.push(world.send(plan(matrix, &[]).priority(priority)).await.unwrap().id);
    }
    world.pass_ms(1).await;
    planned.push(world.send(plan("e", &[]).priority(5)).await.unwrap().id);
    let mut taken = Vec::new();
    while let Some(grip) = world.claim_sync(SyncClaim::new("w")).await {
        taken.push(grip.unit.sync);
    }
    assert_eq!(taken, [1, 3, 4, 0, 2].map(|i: usize| planned[i]));
}

pub async fn s2_a_claim_may_name_its_matrix<H: Harness>() {
    let world = World::<H>::open().await;
    world.send(plan("a", &[]).priority(9)).await.unwrap();
    let b = world.plan("b", &[]).await;
    let of = |matrix: &str| SyncClaim::new("w").matrix_id(matrix);
    assert_eq!(world.claim_sync(of("b")).await.unwrap().unit.sync, b);
    assert!(world.claim_sync(of("b")).await.is_none());
    assert!(world.claim_sync(of("never planned")).await.is_none());
}

pub async fn s2_a_held_sync_is_not_claimed_again<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let first = world.take_sync("w").await;
    assert!(world.claim_sync(SyncClaim::new("v")).await.is_none());
    let shown = world.sync(sync).await;
    assert_eq!((shown.state, shown.standing.token), (State::Running, Some(first.token)));
    assert_eq!(shown.standing.lease.map(|lease| lease.owner), Some("w".to_owned()));
    world.pass_ms(300_000).await;
    let second = world.take_sync("v").await;
    assert!(second.token > first.token);
}

pub async fn s3_chunks_come_in_the_order_of_the_plan<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["c", "a", "b"]).await;
    let first = world.take(sync, "w").await;
    assert_eq!(first.unit.chunk_hash.as_deref(), Some("c"));
    assert_eq!(world.take(sync, "w").await.unit.chunk_hash.as_deref(), Some("a"));
    // What comes back stands at its old place.
    world.finish(&first, fail()).await.unwrap();
    assert_eq!(world.take(sync, "w").await.unit.chunk_hash.as_deref(), Some("c"));
    assert_eq!(world.take(sync, "w").await.unit.chunk_hash.as_deref(), Some("b"));
}

pub async fn s3_a_chunk_claim_needs_no_lease_on_the_sync<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    world.take(sync, "nobody-special").await;
    assert_eq!(world.sync(sync).await.state, State::Available);
    let held = world.take_sync("w").await;
    world.take(sync, "someone-else").await;
    assert!(world.beat(&held).await.is_ok());
}

pub async fn s3_a_named_chunk_is_claimed<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b", "c"]).await;
    assert_eq!(world.take_named(sync, "w", "b").await.unit.chunk_hash.as_deref(), Some("b"));
    assert_eq!(world.states(sync).await, [State::Available, State::Running, State::Available]);
}

pub async fn s3_an_unknown_hash_is_nothing<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    assert_eq!(world.idle(ChunkClaim::new(sync, "w").chunk_hash("z")).await, IdleReason::Unknown);
    assert_eq!(world.idle(ChunkClaim::new(SyncId(1 << 40), "w")).await, IdleReason::Unknown);
}

pub async fn s3_what_is_held_or_done_is_nothing<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let held = world.take(sync, "w").await;
    let idle = world.claim(ChunkClaim::new(sync, "v")).await.unwrap_err();
    assert_eq!((idle.reason, idle.again_in_ms), (IdleReason::Held, Some(120_000)));
    let idle = world.claim(ChunkClaim::new(sync, "v").chunk_hash("a")).await.unwrap_err();
    assert_eq!((idle.reason, idle.again_in_ms), (IdleReason::Held, Some(120_000)));
    world.finish(&held, Act::done()).await.unwrap();
    assert_eq!(world.idle(ChunkClaim::new(sync, "v")).await, IdleReason::Done);
    assert_eq!(world.idle(ChunkClaim::new(sync, "v").chunk_hash("a")).await, IdleReason::Done);
}

pub async fn s3_an_ended_sync_has_nothing_to_claim<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    world.cancel(sync).await.unwrap();
    assert_eq!(world.idle(ChunkClaim::new(sync, "w")).await, IdleReason::Ended);
    assert_eq!(world.idle(ChunkClaim::new(sync, "w").chunk_hash("a")).await, IdleReason::Ended);
    assert!(world.claim_sync(SyncClaim::new("w")).await.is_none());
}

pub async fn s3_a_chunk_of_another_matrix_is_not_this_one<H: Harness>() {
    let world = World::<H>::open().await;
    let (one, two) = (world.plan("one", &["a"]).await, world.plan("two", &["b"]).await);
    assert_eq!(world.idle(ChunkClaim::new(one, "w").chunk_hash("b")).await, IdleReason::Unknown);
    world.take(one, "w").await;
    assert_eq!(world.idle(ChunkClaim::new(one, "w")).await, IdleReason::Held);
    assert_eq!(world.states(two).await, [State::Available]);
}

pub async fn s3_many_claimers_never_share_a_chunk<H: Harness>() {
    let world = World::<H>::open().await;
    let hashes: Vec<String> = (0..64).map(|n| format!("h{n}")).collect();
    let sync = world.plan("m", &hashes.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut tasks = Vec::new();
    for n in 0..16 {
        let store = if n % 2 == 0 { world.store.clone() } else { world.harness.another().await };
        tasks.push(tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Ok(chunk) = store.claim_chunk(ChunkClaim::new(sync, format!("w{n}"))).await.expect("claim") {
                taken.push((chunk.chunk_hash, chunk.token));
            }
            taken
        }));
    }
    let mut taken = Vec::new();
    for task in tasks {
        taken.extend(task.await.unwrap());
    }
    let (hashes, tokens): (BTreeSet<_>, BTreeSet<_>) = taken.iter().cloned().unzip();
    assert_eq!((taken.len(), hashes.len(), tokens.len()), (64, 64, 64));
}

pub async fn l2_tokens_grow_over_passes_and_epochs<H: Harness>() {
    let mut world = World::<H>::open().await;
    let (mut of_chunk, mut of_sync) = (Vec::new(), Vec::new());
    for round in 0..4 {
        let sync = world.plan("m", &["a"]).await;
        of_sync.push(world.take_sync("w").await.token);
        for _ in 0..2 {
            let grip = world.take(sync, "w").await;
            of_chunk.push(grip.token);
            world.finish(&grip, Act::Release).await.unwrap();
        }
        of_chunk.push(world.take(sync, "w").await.token);
        world.pass_ms(120_000).await;
        of_chunk.push(world.take(sync, "w").await.token);
        world.cancel(sync).await.unwrap();
        if round == 1 {
            let epoch = world.store.new_epoch().await.expect("a new epoch");
            assert!(*of_chunk.last().unwrap() < epoch.base);
            of_chunk.push(epoch.base);
            of_sync.push(epoch.base);
        }
    }
    assert!(of_chunk.is_sorted_by(|a, b| a < b), "{of_chunk:?}");
    assert!(of_sync.is_sorted_by(|a, b| a < b), "{of_sync:?}");
}

pub async fn l4_an_expired_chunk_is_claimed_first<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let stale = world.take(sync, "w").await;
    world.pass_ms(120_000).await;
    let next = world.claim(ChunkClaim::new(sync, "v")).await.unwrap();
    assert_eq!((next.chunk_hash.as_str(), next.attempt), ("a", 2));
    assert!(next.token > stale.token);
}

pub async fn l6_a_released_chunk_has_its_attempt_back<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a"]).attempts_max(1)).await.unwrap().id;
    for _ in 0..3 {
        let grip = world.take(sync, "w").await;
        assert_eq!(world.finish(&grip, Act::Release).await, super::tools::now(State::Available));
    }
    assert_eq!(world.chunk(sync, "a").await.attempt, 0);
    assert_eq!(world.claim(ChunkClaim::new(sync, "w")).await.unwrap().attempt, 1);
}

pub async fn l5_default_leases_are_those_of_the_document<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let claimed = world.store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    assert_eq!(claimed.lease_expires_at, world.now.plus_ms(300_000));
    let chunk = world.claim(ChunkClaim::new(sync, "w")).await.unwrap();
    assert_eq!(chunk.lease_expires_at, world.now.plus_ms(120_000));
}
