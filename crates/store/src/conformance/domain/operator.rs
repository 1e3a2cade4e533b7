//! What operators do: skip and settings (D7, D2), and what they can read about it (L8).

use super::Harness;
use super::tools::{ENQUEUED, World, retries, takeovers};
use tenure_core::domain::{
    Acquire, Acquired, Change, EVENTS_KEPT, Failed, Refused, Settings, Skipped, Succeeded, What,
};

scenarios! {
    __domain_operator = domain::operator;
    d7_a_skipped_offset_is_failed_wherever_it_stood,
    d7_skipping_the_offset_in_flight_ends_its_lease,
    d7_the_rest_keeps_its_order,
    d7_skipping_what_has_ended_says_so,
    d7_skipping_in_a_domain_never_seen_makes_it,
    x_a_change_makes_the_domain_and_touches_only_what_was_sent,
    d2_a_changed_limit_of_retries_binds_the_offset_in_flight,
    l8_events_say_what_happened,
    l8_the_last_hundred_events_are_kept,
}

/// In flight, waiting, or not yet seen.
pub async fn d7_a_skipped_offset_is_failed_wherever_it_stood<H: Harness>() {
    let world = World::<H>::open().await;
    world.hold(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    for offset in [2, 1, 3] {
        assert_eq!(world.skip(offset).await, Skipped::Skipped);
        assert_eq!(world.acquire(offset).await, Ok(Acquired::AlreadyFailed));
    }
    let info = world.info().await;
    assert_eq!((info.lease, info.backlog_len), (None, 0));
}

/// Its holder is told, and changes nothing.
pub async fn d7_skipping_the_offset_in_flight_ends_its_lease<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    world.skip(1).await;
    assert_eq!(world.succeed(token).await, Err(Refused::LeaseNotFound));
    world.hold(2).await;
    assert_eq!(world.fail(token).await, Err(Refused::TokenMismatch));
}

/// Order of the rest is kept.
pub async fn d7_the_rest_keeps_its_order<H: Harness>() {
    let world = World::<H>::open().await;
    let mut token = world.hold(1).await;
    for offset in [9, 4, 6, 2, 8] {
        assert_eq!(world.acquire(offset).await, ENQUEUED);
    }
    // From the front, the middle and the end.
    for offset in [9, 6, 8] {
        assert_eq!(world.skip(offset).await, Skipped::Skipped);
    }
    for offset in [4, 2] {
        assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset }));
        token = world.hold(offset).await;
    }
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// `ALREADY_*`.
pub async fn d7_skipping_what_has_ended_says_so<H: Harness>() {
    let world = World::<H>::open().await;
    world.process(1).await;
    assert_eq!(world.skip(1).await, Skipped::AlreadyProcessed);
    assert_eq!(world.skip(2).await, Skipped::Skipped);
    assert_eq!(world.skip(2).await, Skipped::AlreadyFailed);
    assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyProcessed), "processed stays processed");
    assert_eq!(world.whats().await, [What::Skipped]);
}

/// So that a poison offset can be skipped before it arrives.
pub async fn d7_skipping_in_a_domain_never_seen_makes_it<H: Harness>() {
    let world = World::<H>::open().await;
    assert_eq!(world.skip(5).await, Skipped::Skipped);
    assert_eq!(world.info().await.created_at, world.now);
    assert_eq!(world.acquire(5).await, Ok(Acquired::AlreadyFailed));
    world.hold(6).await;
}

/// `null` sets back to the default.
pub async fn x_a_change_makes_the_domain_and_touches_only_what_was_sent<H: Harness>() {
    let world = World::<H>::open().await;
    let made = world.change(takeovers(7)).await;
    assert_eq!(made.settings, Settings { max_retries: 3, takeovers_max: Some(7) });
    let both = world.change(retries(0)).await;
    assert_eq!(both.settings, Settings { max_retries: 0, takeovers_max: Some(7) });
    let back = world.change(Change { max_retries: Some(None), takeovers_max: Some(None) }).await;
    assert_eq!(back.settings, Settings::default());
    assert_eq!(world.change(Change::default()).await, back);
    assert_eq!(world.info().await, back);
}

/// The limit is read when it is needed.
pub async fn d2_a_changed_limit_of_retries_binds_the_offset_in_flight<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    for _ in 0..3 {
        world.fail(token).await.unwrap();
    }
    world.change(retries(5)).await;
    assert_eq!(world.fail(token).await, Ok(Failed::RetryScheduled { retry_count: 4 }));
    world.change(retries(2)).await;
    assert_eq!(world.fail(token).await, Ok(Failed::GiveUpNoBacklog));
}

/// Unit, token, holder, when, what.
pub async fn l8_events_say_what_happened<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.change(retries(1)).await;
    let token = world.hold_as(Acquire::new("a", 4).holder("bob")).await;
    world.fail(token).await.unwrap();
    world.pass_ms(10).await;
    world.fail(token).await.unwrap();
    world.pass_ms(10).await;
    world.skip(9).await;
    let events = world.events().await;
    let told: Vec<_> = events.iter().map(|e| (e.what, e.offset, e.token, e.holder.as_deref(), e.nth)).collect();
    assert_eq!(
        told,
        [
            (What::Retried, Some(4), Some(token), Some("bob"), Some(1)),
            (What::GaveUp, Some(4), Some(token), Some("bob"), Some(1)),
            (What::Skipped, Some(9), None, None, None),
        ]
    );
    assert_eq!(events[1].at.ms_since(events[0].at), 10);
    assert_eq!(events[0].message(), "try 1 of offset 4 failed at bob; the lease stays");
}

/// A domain lives for ever; its events do not.
pub async fn l8_the_last_hundred_events_are_kept<H: Harness>() {
    let world = World::<H>::open().await;
    let skips = (0..EVENTS_KEPT as u64 + 20).map(|offset| tenure_core::domain::Skip::new("a", offset)).collect();
    world.store.domain_skip(skips).await.unwrap();
    let offsets: Vec<Option<u64>> = world.events().await.iter().map(|event| event.offset).collect();
    assert_eq!(offsets, (20..EVENTS_KEPT as u64 + 20).map(Some).collect::<Vec<_>>());
}
