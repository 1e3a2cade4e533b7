//! Fenced writes: who may, who is told what, and what two matrices never do to each other.
// Each name is the claim.
#![allow(missing_docs)]

use super::Harness;
use super::tools::{World, already, every_act, fail, lost, now, rows};
use tenure_core::sync::{Act, Refused, State, SyncId, Unit, What};
use tenure_core::{LostReason, Time, Token};

scenarios! {
    __sync_fence = sync::fence;
    i14_equal_hashes_of_two_matrices_are_apart,
    l3_every_write_of_an_older_token_is_superseded,
    l3_a_made_up_token_or_owner_is_unknown,
    l3_an_id_not_on_record_is_unknown,
    l4_the_instant_of_expiry_is_lost,
    l12_an_ending_sent_again_is_answered_as_the_first_time,
    l12_a_receipt_outlives_the_next_pass,
    l12_after_the_hour_it_is_unknown,
    l8_refusals_are_counted_into_one_event,
    l8_another_tokens_refusal_is_another_event,
    l8_a_late_write_of_an_earlier_pass_is_an_event_of_that_pass,
    l3_a_heartbeat_renews_from_now,
    s6_failing_a_sync_ends_its_chunk_leases,
    s6_cancel_is_immediate_and_told_to_every_holder,
    s6_cancelling_an_ended_or_unknown_sync_is_refused,
    s6_what_ran_out_before_the_cancel_stays_expired,
    s2_a_released_sync_is_claimable_at_once,
    i5_a_completion_and_a_cancel_have_one_winner,
}

pub async fn i14_equal_hashes_of_two_matrices_are_apart<H: Harness>() {
    let mut world = World::<H>::open().await;
    let (one, two) = (world.plan("one", &["h", "g"]).await, world.plan("two", &["h", "g"]).await);
    let ours = world.take_named(one, "w", "h").await;
    let theirs = world.take_named(two, "w", "h").await;
    world.pass_ms(1_000).await;
    // Everything that can be done to the one chunk, by the very same owner: the other row stays as it was.
    let before = world.chunks(two).await;
    world.beat(&ours).await.unwrap();
    assert_eq!(world.chunks(two).await, before, "heartbeat");
    assert_eq!(world.finish(&ours, rows(7)).await, now(State::Completed));
    assert_eq!(world.chunks(two).await, before, "complete");
    let g = world.take(one, "w").await;
    assert_eq!(world.finish(&g, fail()).await, now(State::Available));
    let g = world.take(one, "w").await;
    assert_eq!(world.finish(&g, Act::Release).await, now(State::Available));
    world.take(one, "w").await;
    assert_eq!(world.chunks(two).await, before, "claim, fail, release");
    world.cancel(one).await.unwrap();
    world.plan("one", &["h", "g"]).await;
    assert_eq!(world.chunks(two).await, before, "cancel, plan");
    // The other's token opens nothing here, and the other is still held.
    world.assert_every_write_refused(&theirs.of(Unit::chunk(one, "h")), LostReason::Unknown).await;
    assert_eq!(world.finish(&theirs, rows(9)).await, now(State::Completed));
    assert_eq!(world.chunk(two, "h").await.row_count, Some(9));
}

pub async fn l3_every_write_of_an_older_token_is_superseded<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let (old_sync, old_chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    world.pass_ms(300_000).await;
    // The same owner's name: only the token tells them apart.
    let (new_sync, new_chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    world.assert_every_write_refused(&old_sync, LostReason::Superseded).await;
    world.assert_every_write_refused(&old_chunk, LostReason::Superseded).await;
    assert_eq!(world.finish(&new_chunk, Act::done()).await, now(State::Completed));
    assert_eq!(world.finish(&new_sync, Act::done()).await, now(State::Completed));
    world.assert_every_write_refused(&old_chunk, LostReason::Superseded).await;
}

pub async fn l3_a_made_up_token_or_owner_is_unknown<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let (held, chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    for grip in [&held, &chunk] {
        world.assert_every_write_refused(&grip.by("v"), LostReason::Unknown).await;
        world.assert_every_write_refused(&grip.under(Token(1 << 50)), LostReason::Unknown).await;
    }
    world.assert_every_write_refused(&held.under(chunk.token), LostReason::Unknown).await;
    world.assert_every_write_refused(&chunk.of(Unit::chunk(sync, "b")), LostReason::Unknown).await;
    world.assert_every_write_refused(&chunk.of(Unit::chunk(sync, "never")), LostReason::Unknown).await;
}

pub async fn l3_an_id_not_on_record_is_unknown<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let chunk = world.take(sync, "w").await;
    for unit in [Unit::sync(SyncId(1 << 40)), Unit::chunk(SyncId(1 << 40), "a")] {
        let grip = chunk.of(unit);
        assert_eq!(world.beat(&grip).await, Err(LostReason::Unknown));
        for act in every_act() {
            assert_eq!(world.finish(&grip, act).await, lost(LostReason::Unknown));
        }
    }
}

pub async fn l4_the_instant_of_expiry_is_lost<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let (a, b) = (world.take(sync, "w").await, world.take(sync, "w").await);
    let deadline = world.now.plus_ms(120_000);
    world.set(Time(deadline.0 - 1)).await;
    assert_eq!(world.finish(&a, Act::done()).await, now(State::Completed));
    world.set(deadline).await;
    world.assert_every_write_refused(&b, LostReason::Expired).await;
    world.recover(10).await;
    world.assert_every_write_refused(&b, LostReason::Expired).await;
}

pub async fn l12_an_ending_sent_again_is_answered_as_the_first_time<H: Harness>() {
    let world = World::<H>::open().await;
    for (i, act) in every_act().into_iter().enumerate() {
        let sync = world.plan(&format!("m{i}"), &["a"]).await;
        let grip = world.take(sync, "w").await;
        let first = world.finish(&grip, act.clone()).await.unwrap();
        let again = world.finish(&grip, act.clone()).await;
        assert_eq!(again, already(first.state), "{act:?}");
        for other in every_act().into_iter().filter(|other| other.verb() != act.verb()) {
            assert_eq!(world.finish(&grip, other).await, lost(LostReason::Finished));
        }
        assert_eq!(world.beat(&grip).await, Err(LostReason::Finished));
        assert_eq!(world.finish(&grip.by("v"), act.clone()).await, lost(LostReason::Unknown));
        // Claimed again, it is still answered.
        if first.state == State::Available {
            world.take(sync, "v").await;
            assert_eq!(world.finish(&grip, act).await, already(first.state));
        }
    }
    // The same for syncs.
    let sync = world.plan("s", &[]).await;
    let mine = tenure_core::sync::SyncClaim::new("w").matrix_id("s");
    let held = world.claim_sync(mine.clone()).await.unwrap();
    assert_eq!(world.finish(&held, Act::Release).await, now(State::Available));
    assert_eq!(world.finish(&held, Act::Release).await, already(State::Available));
    let held = world.claim_sync(mine).await.unwrap();
    assert_eq!(world.finish(&held, Act::done()).await, now(State::Completed));
    assert_eq!(world.finish(&held, Act::done()).await, already(State::Completed));
    assert_eq!(world.finish(&held, fail()).await, lost(LostReason::Finished));
    assert_eq!(world.sync(sync).await.state, State::Completed);
}

pub async fn l12_a_receipt_outlives_the_next_pass<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let (a, b) = (world.take(sync, "w").await, world.take(sync, "w").await);
    world.finish(&a, rows(1)).await.unwrap();
    world.cancel(sync).await.unwrap();
    let next = world.plan("m", &["a", "b"]).await;
    world.take(next, "w").await;
    assert_eq!(world.finish(&a, rows(2)).await, already(State::Completed));
    assert_eq!(world.finish(&b, rows(2)).await, lost(LostReason::Cancelled));
    assert_eq!(world.chunk(next, "a").await.row_count, Some(1));
    assert_eq!(world.states(next).await, [State::Running, State::Available]);
}

pub async fn l12_after_the_hour_it_is_unknown<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let a = world.take(sync, "w").await;
    world.finish(&a, rows(1)).await.unwrap();
    world.pass_ms(3_599_999).await;
    world.store.prune_syncs(100).await.unwrap();
    assert_eq!(world.finish(&a, rows(1)).await, already(State::Completed));
    world.pass_ms(1).await;
    assert_eq!(world.store.prune_syncs(100).await.unwrap().receipts, 1);
    assert_eq!(world.finish(&a, rows(1)).await, lost(LostReason::Unknown));
    assert_eq!(world.chunk(sync, "a").await.state, State::Completed);
}

pub async fn l8_refusals_are_counted_into_one_event<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let grip = world.take(sync, "w").await;
    for _ in 0..3 {
        world.pass_ms(1).await;
        let _ = world.beat(&grip.by("v")).await;
    }
    let _ = world.finish(&grip.of(Unit::chunk(sync, "b")), Act::Release).await;
    let events = world.events(sync).await;
    let told: Vec<_> = events.iter().map(|event| (event.chunk_hash.as_deref(), event.count, event.lost)).collect();
    assert_eq!(told, [(Some("a"), 3, Some(LostReason::Unknown)), (Some("b"), 1, Some(LostReason::Unknown))]);
    assert_eq!((events[0].at, events[0].owner.as_deref()), (world.now, Some("v")));
    assert_eq!((events[0].first_at, events[1].first_at), (Some(Time(world.now.0 - 2_000)), None));
}

pub async fn l8_another_tokens_refusal_is_another_event<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let mut stale = Vec::new();
    for _ in 0..2 {
        stale.push((world.take_sync("w").await, world.take(sync, "w").await));
        world.pass_ms(300_000).await;
    }
    world.take_sync("w").await;
    world.take(sync, "w").await;
    for (of_sync, of_chunk) in &stale {
        for grip in [of_sync, of_chunk] {
            assert_eq!(world.beat(grip).await, Err(LostReason::Superseded));
            assert_eq!(world.finish(grip, Act::done()).await, lost(LostReason::Superseded));
        }
    }
    let events = world.events(sync).await;
    let refused = events.iter().filter(|event| event.what == What::Refused);
    let told: Vec<_> = refused.map(|event| (event.token, event.count)).collect();
    let tokens = stale.iter().flat_map(|(of_sync, of_chunk)| [of_sync.token, of_chunk.token]);
    assert_eq!(told, tokens.map(|token| (Some(token), 2)).collect::<Vec<_>>());
}

/// A chunk belongs to the pass that planned it last; who held it in an earlier one is told of in that one's timeline.
pub async fn l8_a_late_write_of_an_earlier_pass_is_an_event_of_that_pass<H: Harness>() {
    let mut world = World::<H>::open().await;
    let first = world.plan("m", &["a", "b"]).await;
    let (held, chunk) = (world.take_sync("w").await, world.take(first, "w").await);
    assert_eq!(world.finish(&held, Act::Fail { error: "no".to_owned(), retry: false }).await, now(State::Failed));
    let second = world.plan("m", &["a", "b"]).await;
    for _ in 0..2 {
        world.pass_ms(1).await;
        assert_eq!(world.finish(&chunk, Act::done()).await, lost(LostReason::Cancelled));
    }
    // A claim that never was of that pass leaves nothing.
    assert_eq!(world.finish(&chunk.by("v"), Act::done()).await, lost(LostReason::Unknown));
    let events = world.events(first).await;
    let refused = events.iter().filter(|event| event.what == What::Refused);
    let told: Vec<_> =
        refused.map(|event| (event.chunk_hash.as_deref(), event.token, event.lost, event.count)).collect();
    assert_eq!(told, [(Some("a"), Some(chunk.token), Some(LostReason::Cancelled), 2)]);
    assert_eq!(world.events(second).await, []);
}

pub async fn l3_a_heartbeat_renews_from_now<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let (held, chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    for _ in 0..10 {
        world.pass_ms(100_000).await;
        assert_eq!(world.beat(&held).await, Ok(world.now.plus_ms(300_000)));
        assert_eq!(world.beat(&chunk).await, Ok(world.now.plus_ms(120_000)));
    }
    let lease = world.chunk(sync, "a").await.standing.lease.unwrap();
    assert_eq!((lease.pulse.beats, lease.pulse.longest_gap_ms), (10, 100_000));
    assert_eq!(world.chunk(sync, "a").await.attempt, 1);
    assert_eq!(world.events(sync).await, []);
}

pub async fn s6_failing_a_sync_ends_its_chunk_leases<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b", "c"]).await;
    let held = world.take_sync("w").await;
    let done = world.take(sync, "v").await;
    world.finish(&done, rows(3)).await.unwrap();
    let chunk = world.take(sync, "v").await;
    let failed = Act::Fail { error: "the source is gone".to_owned(), retry: true };
    assert_eq!(world.finish(&held, failed).await, now(State::Failed));
    world.assert_every_write_refused(&chunk, LostReason::Cancelled).await;
    let shown = world.sync(sync).await;
    assert_eq!((shown.state, shown.standing.failed_at), (State::Failed, Some(world.now)));
    assert_eq!(shown.standing.error_message.as_deref(), Some("the source is gone"));
    assert_eq!(world.states(sync).await, [State::Completed, State::Available, State::Available]);
    assert_eq!(world.whats(sync).await[..2], [What::Failed, What::Cancelled]);
}

pub async fn s6_cancel_is_immediate_and_told_to_every_holder<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a", "b"]).await;
    let (held, a, b) = (world.take_sync("w").await, world.take(sync, "x").await, world.take(sync, "y").await);
    assert_eq!(world.cancel(sync).await, Ok(State::Failed));
    for grip in [held, a, b] {
        world.assert_every_write_refused(&grip, LostReason::Cancelled).await;
    }
    let shown = world.sync(sync).await;
    assert_eq!(shown.standing.error_message.as_deref(), Some("cancelled"));
    assert_eq!(shown.standing.lease, None);
    let events = world.events(sync).await;
    assert_eq!((events[0].what, events[0].error.as_deref()), (What::Cancelled, Some("not needed")));
}

pub async fn s6_cancelling_an_ended_or_unknown_sync_is_refused<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    world.run(sync).await;
    assert_eq!(world.cancel(sync).await, Err(Refused::Terminal));
    assert_eq!(world.cancel(SyncId(1 << 40)).await, Err(Refused::Absent));
    assert_eq!(world.sync(sync).await.state, State::Completed);
}

pub async fn s6_what_ran_out_before_the_cancel_stays_expired<H: Harness>() {
    let mut world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let (held, chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    world.pass_ms(300_000).await;
    world.cancel(sync).await.unwrap();
    world.assert_every_write_refused(&held, LostReason::Expired).await;
    world.assert_every_write_refused(&chunk, LostReason::Expired).await;
    assert_eq!(world.whats(sync).await[..3], [What::Expired, What::Cancelled, What::Expired]);
}

pub async fn s2_a_released_sync_is_claimable_at_once<H: Harness>() {
    let world = World::<H>::open().await;
    let sync = world.plan("m", &["a"]).await;
    let (held, chunk) = (world.take_sync("w").await, world.take(sync, "w").await);
    assert_eq!(world.finish(&held, Act::Release).await, now(State::Available));
    assert!(world.beat(&chunk).await.is_ok(), "chunks are held by themselves");
    let next = world.take_sync("v").await;
    assert!(next.token > held.token);
    world.assert_every_write_refused(&held.under(Token(held.token.0 + 1_000)), LostReason::Unknown).await;
}

pub async fn i5_a_completion_and_a_cancel_have_one_winner<H: Harness>() {
    let world = World::<H>::open().await;
    for round in 0..10 {
        let sync = world.plan(&format!("m{round}"), &["a"]).await;
        let grip = world.take(sync, "w").await;
        let (store, other) = (world.store.clone(), world.harness.another().await);
        let cancelled = tokio::spawn(async move { store.cancel_sync(sync, None).await.expect("cancel") });
        let ending = tenure_core::sync::Ending {
            unit: grip.unit.clone(),
            owner: grip.owner.clone(),
            token: grip.token,
            act: rows(1),
        };
        let completed = other.finish_sync(ending).await.expect("finish");
        assert_eq!(cancelled.await.unwrap(), Ok(State::Failed));
        let state = world.chunk(sync, "a").await.state;
        match completed {
            Ok(ended) => assert_eq!((ended.state, state), (State::Completed, State::Completed)),
            Err(denied) => {
                assert_eq!(denied, tenure_core::sync::Denied::Lost(LostReason::Cancelled));
                assert_eq!(state, State::Available);
            }
        }
        let progress = world.progress(sync).await;
        assert_eq!(progress.completed + progress.available, 1);
    }
}
