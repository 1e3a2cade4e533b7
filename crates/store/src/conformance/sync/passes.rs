//! Passes: when a sync is complete, what a crash costs, and what the next pass keeps.
// Each name is the claim.
#![allow(missing_docs)]

use super::Harness;
use super::tools::{World, fail, now, plan, rows};
use tenure_core::sync::{Act, ChunkClaim, Denied, Reason, Refused, State, SyncClaim, What};

scenarios! {
    __sync_passes = sync::passes;
    s5_a_sync_completes_when_every_chunk_has,
    s5_a_failed_chunk_holds_the_sync_open,
    s5_a_failed_chunk_is_retried_at_once,
    s5_a_final_failure_is_not_retried,
    s5_after_a_crash_only_what_was_in_flight_is_redone,
    s4_completing_records_rows_and_cursor,
    s4_a_new_pass_keeps_what_the_last_one_left,
    s4_a_failed_chunk_begins_a_new_pass_anew,
    s4_a_changed_hash_is_a_new_chunk,
    s4_a_recently_synced_chunk_is_skipped,
    s4_an_ended_sync_keeps_its_figures,
}

pub async fn s5_a_sync_completes_when_every_chunk_has<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let held = world.take_sync("w").await;
    let incomplete = |left| Err(Denied::Refused(Refused::Incomplete { left, failed: 0 }));
    assert_eq!(world.finish(&held, Act::done()).await, incomplete(2));
    let a = world.take(sync, "w").await;
    assert_eq!(world.finish(&held, Act::done()).await, incomplete(2));
    world.finish(&a, rows(1)).await.unwrap();
    assert_eq!(world.finish(&held, Act::done()).await, incomplete(1));
    assert_eq!(world.sync(sync).await.state, State::Running, "a refused completion changes nothing");
    world.drain(sync, "w").await;
    assert_eq!(world.finish(&held, Act::done()).await, now(State::Completed));
    let shown = world.sync(sync).await;
    assert_eq!((shown.standing.completed_at, shown.standing.lease), (Some(world.now), None));
}

pub async fn s5_a_failed_chunk_holds_the_sync_open<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a", "b"]).attempts_max(1)).await.unwrap().id;
    let held = world.take_sync("w").await;
    let a = world.take(sync, "w").await;
    assert_eq!(world.finish(&a, fail()).await, now(State::Failed));
    world.drain(sync, "w").await;
    let denied = world.finish(&held, Act::done()).await;
    assert_eq!(denied, Err(Denied::Refused(Refused::Incomplete { left: 0, failed: 1 })));
    assert_eq!(world.finish(&held, fail()).await, now(State::Failed));
}

pub async fn s5_a_failed_chunk_is_retried_at_once<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    for attempt in 1..=5 {
        let claimed = world.claim(ChunkClaim::new(sync, "w")).await.unwrap();
        assert_eq!((claimed.attempt, claimed.attempts_max), (attempt, 5));
        let state = if attempt < 5 { State::Available } else { State::Failed };
        assert_eq!(world.finish(&super::tools::grip(&claimed, "w"), fail()).await, now(state));
    }
    let chunk = world.chunk(sync, "a").await;
    assert_eq!((chunk.state, chunk.standing.reason), (State::Failed, Some(Reason::AttemptsSpent)));
    assert_eq!(chunk.standing.error_message.as_deref(), Some("it broke"));
    let whats = world.whats(sync).await;
    assert_eq!(whats, [What::Retried, What::Retried, What::Retried, What::Retried, What::Failed]);
}

pub async fn s5_a_final_failure_is_not_retried<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let grip = world.take(sync, "w").await;
    let act = Act::Fail { error: "no such table".to_owned(), retry: false };
    assert_eq!(world.finish(&grip, act).await, now(State::Failed));
    assert_eq!(world.chunk(sync, "a").await.standing.reason, Some(Reason::Failed));
    assert!(world.claim(ChunkClaim::new(sync, "w")).await.is_err());
}

pub async fn s5_after_a_crash_only_what_was_in_flight_is_redone<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b", "c", "d"]).await;
    world.take_sync("dead").await;
    for _ in 0..2 {
        let grip = world.take(sync, "dead").await;
        world.finish(&grip, rows(1)).await.unwrap();
    }
    world.take(sync, "dead").await;
    world.pass_ms(300_000).await;
    // The next worker goes on.
    let held = world.take_sync("alive").await;
    let mut redone = Vec::new();
    while let Ok(claimed) = world.claim(ChunkClaim::new(sync, "alive")).await {
        redone.push((claimed.chunk_hash.clone(), claimed.attempt));
        world.finish(&super::tools::grip(&claimed, "alive"), rows(1)).await.unwrap();
    }
    assert_eq!(redone, [("c".to_owned(), 2), ("d".to_owned(), 1)]);
    assert_eq!(world.finish(&held, Act::done()).await, now(State::Completed));
}

pub async fn s4_completing_records_rows_and_cursor<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let grip = world.take(sync, "w").await;
    world.pass_ms(7).await;
    let act = Act::Complete { row_count: Some(41), cursor: Some(" {\"at\": 9}".to_owned()) };
    assert_eq!(world.finish(&grip, act).await, now(State::Completed));
    let chunk = world.chunk(sync, "a").await;
    assert_eq!((chunk.row_count, chunk.cursor.as_deref()), (Some(41), Some(" {\"at\": 9}")));
    assert_eq!((chunk.last_synced_at, chunk.standing.completed_at), (Some(world.now), Some(world.now)));
    assert_eq!((chunk.state, chunk.standing.lease, chunk.standing.token), (State::Completed, None, Some(grip.token)));
}

pub async fn s4_a_new_pass_keeps_what_the_last_one_left<H: Harness>() {
    let mut world = World::<H>::open().await;
    let first = world.plan("m", &["a", "b"]).await;
    let grip = world.take(first, "w").await;
    let act = Act::Complete { row_count: Some(41), cursor: Some("9".to_owned()) };
    world.finish(&grip, act).await.unwrap();
    let synced_at = world.now;
    world.cancel(first).await.unwrap();
    world.pass_ms(1_000).await;
    let second = world.plan("m", &["b", "a"]).await;
    let chunk = world.chunk(second, "a").await;
    assert_eq!((chunk.state, chunk.ord, chunk.attempt), (State::Available, 2, 0));
    assert_eq!(
        (chunk.last_synced_at, chunk.row_count, chunk.cursor.as_deref()),
        (Some(synced_at), Some(41), Some("9"))
    );
    assert_eq!((chunk.standing.token, chunk.standing.claimed_at), (Some(grip.token), None));
    // The cursor is handed over, and stays if the next sync leaves none.
    let claimed = world.claim(ChunkClaim::new(second, "w").chunk_hash("a")).await.unwrap();
    assert_eq!((claimed.cursor.as_deref(), claimed.row_count), (Some("9"), Some(41)));
    assert!(claimed.token > grip.token);
    world.finish(&super::tools::grip(&claimed, "w"), rows(2)).await.unwrap();
    let chunk = world.chunk(second, "a").await;
    assert_eq!((chunk.row_count, chunk.cursor.as_deref()), (Some(2), Some("9")));
    assert!(world.chunks(first).await.is_empty(), "the new pass has taken them over");
}

pub async fn s4_a_failed_chunk_begins_a_new_pass_anew<H: Harness>() {
    let world = World::<H>::open().await;
    let first = world.send(plan("m", &["a"]).attempts_max(1)).await.unwrap().id;
    let grip = world.take(first, "w").await;
    world.finish(&grip, fail()).await.unwrap();
    world.cancel(first).await.unwrap();
    let second = world.plan("m", &["a"]).await;
    let chunk = world.chunk(second, "a").await;
    assert_eq!((chunk.state, chunk.attempt, chunk.attempts_max), (State::Available, 0, 5));
    assert_eq!((chunk.standing.reason, chunk.standing.error_message, chunk.standing.failed_at), (None, None, None));
    assert!(world.take(second, "w").await.token > grip.token);
}

pub async fn s4_a_changed_hash_is_a_new_chunk<H: Harness>() {
    let world = World::<H>::open().await;
    let first = world.plan("m", &["a"]).await;
    world.run(first).await;
    let second = world.send(plan("m", &["a2"]).skip_if_synced_within_ms(1_000_000)).await.unwrap().id;
    let chunk = world.chunk(second, "a2").await;
    assert_eq!((chunk.state, chunk.last_synced_at, chunk.standing.token), (State::Available, None, None));
    assert_eq!(world.chunk(first, "a").await.state, State::Completed, "the old one is not planned any more");
}

pub async fn s4_a_recently_synced_chunk_is_skipped<H: Harness>() {
    let mut world = World::<H>::open().await;
    let first = world.plan("m", &["old"]).await;
    world.run(first).await;
    world.pass_ms(500).await;
    let second = world.plan("m", &["young"]).await;
    world.run(second).await;
    world.pass_ms(500).await;
    let third = world.send(plan("m", &["old", "young", "new"]).skip_if_synced_within_ms(1_000)).await.unwrap();
    assert_eq!((third.planned, third.added, third.skipped), (3, 3, 1));
    assert_eq!(world.states(third.id).await, [State::Available, State::Completed, State::Available]);
    let young = world.chunk(third.id, "young").await;
    assert!(young.skipped() && young.last_synced_at < young.standing.completed_at);
    assert_eq!(world.progress(third.id).await.skipped, 1);
    // The policy holds for what is added later, too.
    let fourth = world.plan("other", &["x"]).await;
    assert_eq!(world.add(fourth, &["y"]).await.unwrap().skipped, 0);
    let held = world.claim_sync(SyncClaim::new("w").matrix_id("m")).await.unwrap();
    world.drain(third.id, "w").await;
    assert_eq!(world.finish(&held, Act::done()).await, now(State::Completed));
}

pub async fn s4_an_ended_sync_keeps_its_figures<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.send(plan("m", &["a", "b", "c", "d"]).attempts_max(1)).await.unwrap().id;
    for act in [rows(10), rows(20), fail()] {
        let grip = world.take(sync, "w").await;
        world.pass_ms(1_000).await;
        world.finish(&grip, act).await.unwrap();
    }
    world.cancel(sync).await.unwrap();
    let figures = world.progress(sync).await;
    assert_eq!((figures.completed, figures.failed, figures.available, figures.rows), (2, 1, 1, 30));
    let next = world.plan("m", &["a", "b", "c", "d"]).await;
    world.drain(next, "w").await;
    assert_eq!(world.progress(sync).await, figures, "a later pass has taken the chunks over");
}
