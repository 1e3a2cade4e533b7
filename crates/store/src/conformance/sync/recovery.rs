//! Leases that run out: visible until claimed, told once, counted; and what is no longer kept.
// Each name is the claim.
#![allow(missing_docs)]

use super::Harness;
use super::tools::{World, fail, lost, now, plan, rows};
use tenure_core::LostReason;
use tenure_core::sync::{Act, ChunkClaim, IdleReason, RETENTION_MS, Reason, State, SyncClaim, SyncsRecovered, What};

scenarios! {
    __sync_recovery = sync::recovery;
    s1_what_ran_out_stays_visible_until_it_is_claimed,
    s1_reading_needs_no_sweeper,
    l7_a_lease_is_told_once,
    l7_a_claim_tells_what_it_takes,
    l7_recovery_is_bounded,
    l6_the_last_attempt_of_a_chunk_that_ran_out_ends_it,
    l6_a_claim_passes_over_what_crashed_out,
    l6_a_sync_heals_itself_for_ever,
    l6_a_sync_with_a_crash_limit_ends,
    l6_progress_resets_the_crashes_of_a_sync,
    l6_an_expiry_before_a_chunk_was_done_never_counts_after_it,
    i19_an_old_sync_is_removed_with_its_stale_chunks,
    i19_the_last_sync_of_a_matrix_is_kept,
}

pub async fn s1_what_ran_out_stays_visible_until_it_is_claimed<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let (held, chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    world.pass_ms(300_000).await;
    assert_eq!(world.recover(10).await, SyncsRecovered { leases: 2, failed: 0 });
    for _ in 0..2 {
        let shown = world.sync(sync).await;
        assert_eq!((shown.state, shown.standing.token), (State::Expired, Some(held.token)));
        assert_eq!(shown.standing.lease.map(|lease| lease.owner).as_deref(), Some("w"));
        let shown = world.chunk(sync, "a").await;
        assert_eq!((shown.state, shown.standing.token), (State::Expired, Some(chunk.token)));
        assert_eq!(shown.standing.lease.map(|lease| lease.owner).as_deref(), Some("w"));
        world.recover(10).await;
    }
    world.take_sync("v").await;
    world.take(sync, "v").await;
    assert_eq!(world.sync(sync).await.state, State::Running);
    assert_eq!(world.chunk(sync, "a").await.state, State::Running);
}

pub async fn s1_reading_needs_no_sweeper<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    world.take(sync, "w").await;
    world.pass_ms(119_999).await;
    assert_eq!(world.chunk(sync, "a").await.state, State::Running);
    world.pass_ms(1).await;
    assert_eq!(world.chunk(sync, "a").await.state, State::Expired);
    assert_eq!(world.progress(sync).await.expired, 1);
    assert_eq!(world.events(sync).await, [], "reading writes nothing");
}

pub async fn l7_a_lease_is_told_once<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    world.take(sync, "w").await;
    world.pass_ms(120_000).await;
    let other = world.harness.another().await;
    let leases = world.recover(10).await.leases + other.recover_syncs(10).await.unwrap().leases;
    assert_eq!(leases, 1);
    let events = world.events(sync).await;
    assert_eq!((events.len(), events[0].what, events[0].attempt), (1, What::Expired, Some(1)));
    // And the claim that follows tells it no second time.
    world.take(sync, "v").await;
    assert_eq!(world.whats(sync).await, [What::Expired]);
}

pub async fn l7_a_claim_tells_what_it_takes<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    world.take_sync("w").await;
    let chunk = world.take(sync, "w").await;
    world.pass_ms(300_000).await;
    world.take(sync, "v").await;
    world.take_sync("v").await;
    let events = world.events(sync).await;
    assert_eq!(events.iter().map(|event| event.what).collect::<Vec<_>>(), [What::Expired, What::Expired]);
    assert_eq!((events[0].chunk_hash.as_deref(), events[0].token), (Some("a"), Some(chunk.token)));
    assert_eq!((events[1].chunk_hash.as_deref(), events[1].owner.as_deref()), (None, Some("w")));
    assert_eq!(world.recover(10).await.leases, 0);
}

pub async fn l7_recovery_is_bounded<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b", "c"]).await;
    for _ in 0..3 {
        world.take(sync, "w").await;
        world.pass_ms(1).await;
    }
    world.pass_ms(120_000).await;
    assert_eq!(world.recover(2).await.leases, 2);
    let told: Vec<_> = world.events(sync).await.iter().map(|event| event.chunk_hash.clone().unwrap()).collect();
    assert_eq!(told, ["a", "b"], "oldest deadline first");
    assert_eq!(world.recover(2).await.leases, 1);
    assert_eq!(world.recover(2).await.leases, 0);
}

pub async fn l6_the_last_attempt_of_a_chunk_that_ran_out_ends_it<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a"]).attempts_max(2)).await.unwrap().id;
    world.take(sync, "w").await;
    world.pass_ms(120_000).await;
    let last = world.take(sync, "w").await;
    world.pass_ms(120_000).await;
    assert_eq!(world.recover(10).await, SyncsRecovered { leases: 1, failed: 1 });
    let chunk = world.chunk(sync, "a").await;
    assert_eq!((chunk.state, chunk.standing.reason), (State::Failed, Some(Reason::CrashLimit)));
    assert_eq!((chunk.standing.error_message.as_deref(), chunk.attempt), (Some("crash_limit"), 2));
    assert_eq!(world.finish(&last, Act::done()).await, lost(LostReason::Expired));
    assert_eq!(world.whats(sync).await[..3], [What::Expired, What::Expired, What::Failed]);
}

pub async fn l6_a_claim_passes_over_what_crashed_out<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a", "b"]).attempts_max(1)).await.unwrap().id;
    world.take(sync, "w").await;
    world.pass_ms(120_000).await;
    assert_eq!(world.take(sync, "w").await.unit.chunk_hash.as_deref(), Some("b"));
    assert_eq!(world.states(sync).await, [State::Failed, State::Running]);
    world.pass_ms(120_000).await;
    assert_eq!(world.idle(ChunkClaim::new(sync, "w").chunk_hash("b")).await, IdleReason::Done);
    assert_eq!(world.states(sync).await, [State::Failed, State::Failed]);
}

pub async fn l6_a_sync_heals_itself_for_ever<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    for crashes in 0..20 {
        assert_eq!(world.sync(sync).await.crashes, crashes);
        world.take_sync("w").await;
        world.pass_ms(300_000).await;
        world.recover(10).await;
    }
    assert_eq!(world.sync(sync).await.state, State::Expired);
}

pub async fn l6_a_sync_with_a_crash_limit_ends<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a"]).crashes_max(2)).await.unwrap().id;
    world.take_sync("w").await;
    world.pass_ms(300_000).await;
    let last = world.take_sync("w").await;
    world.pass_ms(290_000).await;
    let chunk = world.take(sync, "w").await;
    world.pass_ms(10_000).await;
    // The claim that finds it ends it, and its chunks' leases with it.
    assert!(world.claim_sync(SyncClaim::new("w")).await.is_none());
    let shown = world.sync(sync).await;
    assert_eq!((shown.state, shown.standing.reason), (State::Failed, Some(Reason::CrashLimit)));
    assert_eq!((shown.standing.error_message.as_deref(), shown.crashes), (Some("crash_limit"), 2));
    assert_eq!(world.finish(&last, Act::done()).await, lost(LostReason::Expired));
    assert_eq!(world.finish(&chunk, Act::done()).await, lost(LostReason::Cancelled));
    world.plan("m", &["a"]).await;
}

pub async fn l6_progress_resets_the_crashes_of_a_sync<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a", "b", "c"]).crashes_max(2)).await.unwrap().id;
    for left in (0..3).rev() {
        world.take_sync("w").await;
        let grip = world.take(sync, "w").await;
        world.finish(&grip, fail()).await.unwrap();
        world.pass_ms(300_000).await;
        assert_eq!(world.recover(10).await.failed, 0);
        assert_eq!(world.sync(sync).await.crashes, 1, "a failed chunk is no progress");
        let grip = world.take(sync, "w").await;
        assert_eq!(world.finish(&grip, rows(1)).await, now(State::Completed));
        assert_eq!((world.sync(sync).await.crashes, world.progress(sync).await.left()), (0, left));
    }
}

pub async fn l6_an_expiry_before_a_chunk_was_done_never_counts_after_it<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a", "b"]).crashes_max(1)).await.unwrap().id;
    for swept in [true, false] {
        world.take_sync("w").await;
        world.pass_ms(300_000).await;
        let grip = world.take(sync, "w").await;
        assert_eq!(world.finish(&grip, rows(1)).await, now(State::Completed));
        world.pass_ms(1).await;
        // Noticed by the sweep the first time, by the next claim the second.
        if swept {
            assert_eq!(world.recover(10).await, SyncsRecovered { leases: 1, failed: 0 });
            assert_eq!(world.sync(sync).await.crashes, 0);
        }
    }
    world.take_sync("w").await;
    assert_eq!(world.sync(sync).await.crashes, 0);
    let told = world.events(sync).await.iter().map(|event| (event.what, event.attempt)).collect::<Vec<_>>();
    assert_eq!(told, [(What::Expired, Some(0)); 2]);
    // What runs out after the last chunk was done counts.
    world.pass_ms(300_000).await;
    assert_eq!(world.recover(10).await, SyncsRecovered { leases: 1, failed: 1 });
    assert_eq!(world.sync(sync).await.standing.reason, Some(Reason::CrashLimit));
}

pub async fn i19_an_old_sync_is_removed_with_its_stale_chunks<H: Harness>() {
    let mut world = World::<H>::open().await;
    let first = world.plan("m", &["stale", "kept"]).await;
    world.run(first).await;
    let second = world.plan("m", &["kept"]).await;
    world.run(second).await;
    world.pass_ms(RETENTION_MS - 1).await;
    world.store.prune_syncs(100).await.unwrap();
    assert_eq!(world.sync(first).await.state, State::Completed);
    world.pass_ms(1).await;
    let pruned = world.store.prune_syncs(100).await.unwrap();
    assert_eq!((pruned.syncs, pruned.chunks), (1, 1));
    assert_eq!(world.store.sync(first).await.unwrap(), None);
    assert_eq!(world.events(first).await, []);
    assert_eq!(world.chunk(second, "kept").await.state, State::Completed);
}

pub async fn i19_the_last_sync_of_a_matrix_is_kept<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    world.run(sync).await;
    world.pass_ms(100 * RETENTION_MS).await;
    let pruned = world.store.prune_syncs(100).await.unwrap();
    assert_eq!((pruned.syncs, pruned.chunks), (0, 0));
    let next = world.plan("m", &["a"]).await;
    assert!(world.chunk(next, "a").await.last_synced_at.is_some());
}
