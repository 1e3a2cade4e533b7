//! Planning: passes, their chunks, and the one unfinished sync of a matrix.
// Each name is the claim.
#![allow(missing_docs)]

use super::Harness;
use super::tools::{World, plan};
use tenure_core::sync::{Act, ChunkClaim, NewChunk, Plan, Planned, Refused, State, SyncId};

scenarios! {
    __sync_plans = sync::plans;
    s4_a_plan_makes_its_chunks_available,
    s4_a_plan_without_chunks_waits_for_them,
    s6_an_unfinished_sync_is_named,
    s6_two_planners_have_one_winner,
    s6_after_its_end_a_matrix_is_planned_anew,
    s4_chunks_are_added_while_it_runs,
    s4_adding_a_chunk_twice_changes_nothing,
    s4_adding_to_an_ended_or_unknown_sync_is_refused,
    x_payloads_come_back_byte_for_byte,
    x_a_hundred_thousand_chunks_are_planned_at_once,
}

pub async fn s4_a_plan_makes_its_chunks_available<H: Harness>() {
    let world = World::<H>::open().await;
    let planned = world.send(plan("m", &["b", "a", "c"]).priority(-3)).await.unwrap();
    assert_eq!(planned, Planned { id: planned.id, planned: 3, added: 3, skipped: 0 });
    let sync = world.sync(planned.id).await;
    assert_eq!((sync.matrix_id.as_str(), sync.priority, sync.planned), ("m", -3, 3));
    assert_eq!((sync.state, sync.created_at, sync.standing.token), (State::Available, world.now, None));
    let chunks = world.chunks(planned.id).await;
    let told: Vec<_> = chunks.iter().map(|chunk| (chunk.chunk_hash.as_str(), chunk.ord, chunk.state)).collect();
    assert_eq!(told, [("b", 1, State::Available), ("a", 2, State::Available), ("c", 3, State::Available)]);
    assert!(chunks.iter().all(|chunk| chunk.matrix_id == "m" && chunk.attempt == 0 && chunk.attempts_max == 5));
}

pub async fn s4_a_plan_without_chunks_waits_for_them<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &[]).await;
    assert_eq!(world.chunks(sync).await, []);
    assert_eq!(world.add(sync, &["a"]).await.unwrap().planned, 1);
    assert_eq!(world.take(sync, "w").await.unit.chunk_hash.as_deref(), Some("a"));
}

pub async fn s6_an_unfinished_sync_is_named<H: Harness>() {
    let mut world = World::<H>::open().await;
    let first = world.plan("m", &["a"]).await;
    let unfinished = Err(Refused::Unfinished { id: first });
    assert_eq!(world.send(plan("m", &["b"])).await, unfinished);
    world.take_sync("w").await;
    world.take(first, "w").await;
    assert_eq!(world.send(plan("m", &["b"])).await, unfinished, "a held sync is unfinished");
    world.pass_ms(86_400_000).await;
    assert_eq!(world.send(plan("m", &["b"])).await, unfinished, "an expired sync is unfinished");
    assert_eq!(world.chunks(first).await.len(), 1);
    world.plan("another", &["a"]).await;
}

pub async fn s6_two_planners_have_one_winner<H: Harness>() {
    let world = World::<H>::open().await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let store = world.harness.another().await;
        tasks.push(tokio::spawn(async move { store.plan_sync(plan("m", &["a", "b"])).await.expect("plan_sync") }));
    }
    let (mut won, mut named) = (Vec::new(), Vec::new());
    for task in tasks {
        match task.await.unwrap() {
            Ok(planned) => won.push(planned.id),
            Err(Refused::Unfinished { id }) => named.push(id),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((won.len(), named.len()), (1, 7));
    assert!(named.iter().all(|id| *id == won[0]));
}

pub async fn s6_after_its_end_a_matrix_is_planned_anew<H: Harness>() {
    let world = World::<H>::open().await;
    let first = world.plan("m", &["a"]).await;
    world.run(first).await;
    let second = world.plan("m", &["a"]).await;
    assert!(second > first);
    world.cancel(second).await.unwrap();
    let third = world.plan("m", &["a"]).await;
    let held = world.take_sync("w").await;
    world.finish(&held, super::tools::fail()).await.unwrap();
    assert_eq!(world.sync(third).await.state, State::Failed);
    world.plan("m", &["a"]).await;
}

pub async fn s4_chunks_are_added_while_it_runs<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let held = world.take_sync("w").await;
    world.drain(sync, "w").await;
    let added = world.add(sync, &["b", "c"]).await.unwrap();
    assert_eq!(added, Planned { id: sync, planned: 3, added: 2, skipped: 0 });
    let incomplete = world.finish(&held, Act::done()).await.unwrap_err();
    assert_eq!(incomplete, tenure_core::sync::Denied::Refused(Refused::Incomplete { left: 2, failed: 0 }));
    world.drain(sync, "w").await;
    world.finish(&held, Act::done()).await.unwrap();
}

pub async fn s4_adding_a_chunk_twice_changes_nothing<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    world.take(sync, "w").await;
    let before = world.chunks(sync).await;
    let again = world.add(sync, &["a", "c", "b"]).await.unwrap();
    assert_eq!((again.planned, again.added), (3, 1));
    assert_eq!(world.chunks(sync).await[..2], before);
    assert_eq!(world.chunk(sync, "c").await.ord, 3);
}

pub async fn s4_adding_to_an_ended_or_unknown_sync_is_refused<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    world.cancel(sync).await.unwrap();
    assert_eq!(world.add(sync, &["b"]).await, Err(Refused::Terminal));
    assert_eq!(world.add(SyncId(1 << 40), &["b"]).await, Err(Refused::Absent));
    assert_eq!(world.chunks(sync).await.len(), 1);
}

pub async fn x_payloads_come_back_byte_for_byte<H: Harness>() {
    let world = World::<H>::open().await;
    let payload = " {\"b\": 1.50, \"a\":\"\\u00e9\"} ";
    let chunks = [NewChunk::new("é/1").payload(payload), NewChunk::new("2")];
    let sync = world.send(Plan::new("mätrix 7").chunks(chunks)).await.unwrap().id;
    let first = world.claim(ChunkClaim::new(sync, "w")).await.unwrap();
    assert_eq!((first.chunk_hash.as_str(), first.payload.as_str()), ("é/1", payload));
    assert_eq!(world.claim(ChunkClaim::new(sync, "w")).await.unwrap().payload, "null");
    assert_eq!(world.chunk(sync, "é/1").await.payload, payload);
}

pub async fn x_a_hundred_thousand_chunks_are_planned_at_once<H: Harness>() {
    let world = World::<H>::open().await;
    let hash = |n: u32| format!("{n:032x}");
    let chunks = (0..100_000).map(|n| NewChunk::new(hash(n)));
    let planned = world.send(Plan::new("m").chunks(chunks)).await.unwrap();
    assert_eq!((planned.planned, planned.added), (100_000, 100_000));
    assert_eq!(world.progress(planned.id).await.available, 100_000);
    assert_eq!(world.take(planned.id, "w").await.unit.chunk_hash, Some(hash(0)));
    assert_eq!(world.chunk(planned.id, &hash(99_999)).await.ord, 100_000);
}
