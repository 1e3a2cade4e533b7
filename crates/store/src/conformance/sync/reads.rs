//! Reading: states as of one instant, pages, progress, events.
// Each name is the claim.
#![allow(missing_docs)]

use super::Harness;
use super::tools::{World, fail, plan, rows};
use tenure_core::sync::{Act, ChunkClaim, ChunkFilter, State, SyncFilter, SyncId};

scenarios! {
    __sync_reads = sync::reads;
    s1_every_state_is_derived_at_the_instant_of_reading,
    x_lists_are_paged,
    x_an_unknown_id_is_nothing,
    y_progress_tells_the_pace,
    l8_events_are_the_latest_and_in_order,
}

pub async fn s1_every_state_is_derived_at_the_instant_of_reading<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync =
        world.send(plan("m", &["done", "failed", "expired", "running", "waits"]).attempts_max(1)).await.unwrap().id;
    let done = world.take(sync, "w").await;
    world.finish(&done, rows(1)).await.unwrap();
    let failed = world.take(sync, "w").await;
    world.finish(&failed, fail()).await.unwrap();
    world.claim(ChunkClaim::new(sync, "w").lease_ms(100)).await.unwrap();
    world.take(sync, "w").await;
    world.pass_ms(100).await;
    let states = [State::Completed, State::Failed, State::Expired, State::Running, State::Available];
    assert_eq!(world.states(sync).await, states);
    let progress = world.progress(sync).await;
    let counts = (progress.completed, progress.failed, progress.expired, progress.running, progress.available);
    assert_eq!((counts, progress.planned()), ((1, 1, 1, 1, 1), 5));
    for state in states {
        let page = world.store.chunks(sync, ChunkFilter { state: Some(state) }, 0, 10).await.unwrap();
        assert_eq!(page.items.iter().map(|chunk| chunk.state).collect::<Vec<_>>(), [state]);
    }
}

pub async fn x_lists_are_paged<H: Harness>() {
    let world = World::<H>::open().await;
    let mut ids = Vec::new();
    for matrix in ["a", "b", "c"] {
        ids.push(world.plan(matrix, &["1", "2", "3"]).await);
    }
    world.cancel(ids[1]).await.unwrap();
    let list = async |filter: SyncFilter, before, limit| {
        let page = world.store.syncs(filter, before, limit).await.unwrap();
        (page.items.iter().map(|sync| sync.id).collect::<Vec<_>>(), page.more)
    };
    let all = SyncFilter::default;
    assert_eq!(list(all(), None, 2).await, (vec![ids[2], ids[1]], true));
    assert_eq!(list(all(), Some(ids[1]), 2).await, (vec![ids[0]], false));
    assert_eq!(list(SyncFilter { matrix_id: Some("b".to_owned()), ..all() }, None, 2).await, (vec![ids[1]], false));
    let waiting = SyncFilter { state: Some(State::Available), ..all() };
    assert_eq!(list(waiting, None, 9).await, (vec![ids[2], ids[0]], false));

    let chunks = async |after, limit| {
        let page = world.store.chunks(ids[0], ChunkFilter::default(), after, limit).await.unwrap();
        (page.items.iter().map(|chunk| chunk.ord).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(chunks(0, 2).await, (vec![1, 2], true));
    assert_eq!(chunks(2, 2).await, (vec![3], false));
}

pub async fn x_an_unknown_id_is_nothing<H: Harness>() {
    let world = World::<H>::open().await;
    let none = SyncId(1 << 40);
    assert_eq!(world.store.sync(none).await.unwrap(), None);
    assert_eq!(world.store.chunk(none, "a").await.unwrap(), None);
    assert!(world.store.chunks(none, ChunkFilter::default(), 0, 9).await.unwrap().items.is_empty());
    assert!(world.events(none).await.is_empty());
    let sync = world.plan("m", &["a"]).await;
    assert_eq!(world.store.chunk(sync, "b").await.unwrap(), None);
}

pub async fn y_progress_tells_the_pace<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b", "c", "d", "e"]).await;
    assert_eq!(world.progress(sync).await.eta_ms(), None);
    for n in 1..=2 {
        let grip = world.take(sync, "w").await;
        world.pass_ms(1_000).await;
        world.finish(&grip, rows(n)).await.unwrap();
    }
    let progress = world.progress(sync).await;
    assert_eq!((progress.rows, progress.left(), progress.eta_ms()), (3, 3, Some(3_000)));
    assert_eq!(progress.began_at.zip(progress.last_done_at).map(|(a, b)| b.ms_since(a)), Some(2_000));
}

pub async fn l8_events_are_the_latest_and_in_order<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b", "c"]).await;
    for _ in 0..3 {
        let grip = world.take(sync, "w").await;
        let act = Act::Fail { error: "x".repeat(300), retry: false };
        world.finish(&grip, act).await.unwrap();
    }
    let latest = world.store.sync_events(sync, 2).await.unwrap();
    let hashes: Vec<_> = latest.iter().map(|event| event.chunk_hash.as_deref().unwrap()).collect();
    assert_eq!(hashes, ["b", "c"]);
    assert_eq!(latest[0].error.as_ref().map(String::len), Some(200));
    assert!(latest[0].message().contains("w failed chunk b for good"), "{}", latest[0].message());
}
