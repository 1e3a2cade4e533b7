//! Leases that run out, by choice (D4), and what recovery does about them (L7).

use super::Harness;
use super::tools::{ENQUEUED, World, takeovers};
use tenure_core::LostReason;
use tenure_core::domain::{Acquire, Acquired, Advance, Beaten, Failed, Refused, Skipped, Succeeded, What};

scenarios! {
    __domain_expiry = domain::expiry;
    d4_a_lease_without_expiry_never_runs_out,
    d4_the_instant_of_expiry_is_lost,
    d4_a_heartbeat_renews,
    d4_a_heartbeat_of_a_lease_without_expiry_is_taken,
    d4_fail_does_not_renew,
    d4_an_expired_lease_refuses_every_write,
    d4_a_takeover_has_a_larger_token_and_keeps_age_and_retries,
    d4_a_takeover_without_a_lease_does_not_run_out,
    d4_a_takeover_has_the_name_of_who_took_over,
    d4_another_offset_is_told_which_one_expired,
    d4_order_is_kept_over_a_takeover,
    d4_the_takeover_beyond_the_limit_fails_the_offset,
    d4_takeovers_are_counted_for_each_offset,
    l7_recovery_tells_an_expiry_once_and_leaves_the_lease,
    l7_recovery_applies_the_limit_of_takeovers,
    l7_recovery_is_bounded_and_takes_the_longest_expired_first,
    l7_a_renewed_lease_is_not_recovered,
    a6_a_clock_that_steps_back_never_shortens_a_lease,
}

const LOST: Refused = Refused::LeaseLost(LostReason::Expired);

/// Expiry is opt-in.
pub async fn d4_a_lease_without_expiry_never_runs_out<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold(1).await;
    world.pass_ms(10 * 366 * 86_400_000).await;
    assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyAcquired { token }));
    assert_eq!(world.recover(10).await, (0, 0));
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// Held while `expires_at > now`.
pub async fn d4_the_instant_of_expiry_is_lost<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold_a_second(1).await;
    let expires_at = world.now.plus_ms(1_000);
    assert_eq!(world.lease().await.lease_expires_at, Some(expires_at));
    world.set(tenure_core::Time(expires_at.0 - 1)).await;
    assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyAcquired { token }));
    world.set(expires_at).await;
    assert_eq!(world.succeed(token).await, Err(LOST));
}

/// By the span of the acquire, from now.
pub async fn d4_a_heartbeat_renews<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold_a_second(1).await;
    for _ in 0..5 {
        world.pass_ms(999).await;
        let lease_expires_at = Some(world.now.plus_ms(1_000));
        assert_eq!(world.beat(token).await, Ok(Beaten { lease_expires_at }));
        assert_eq!(world.lease().await.lease_expires_at, lease_expires_at);
    }
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// It has nothing to renew, and that is no error.
pub async fn d4_a_heartbeat_of_a_lease_without_expiry_is_taken<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    assert_eq!(world.beat(token).await, Ok(Beaten { lease_expires_at: None }));
}

/// A try that failed did not promise to live on.
pub async fn d4_fail_does_not_renew<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold_a_second(1).await;
    let expires_at = world.now.plus_ms(1_000);
    world.pass_ms(500).await;
    assert_eq!(world.fail(token).await, Ok(Failed::RetryScheduled { retry_count: 1 }));
    assert_eq!(world.lease().await.lease_expires_at, Some(expires_at));
}

/// Not yet replaced: `lease_lost(expired)`. With another token: a mismatch all the same.
pub async fn d4_an_expired_lease_refuses_every_write<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold_a_second(1).await;
    world.pass_ms(1_000).await;
    assert_eq!(world.succeed(token).await, Err(LOST));
    assert_eq!(world.fail(token).await, Err(LOST));
    assert_eq!(world.beat(token).await, Err(LOST));
    assert_eq!(world.advance(Advance::new("a", token).next(2)).await, Err(LOST));
    assert_eq!(world.succeed(tenure_core::Token(token.0 + 1)).await, Err(Refused::TokenMismatch));
    let lease = world.lease().await;
    assert_eq!((lease.offset, lease.retry_count, lease.expired), (1, 0, true));
}

/// The old token is a mismatch from then on.
pub async fn d4_a_takeover_has_a_larger_token_and_keeps_age_and_retries<H: Harness>() {
    let mut world = World::<H>::open().await;
    let acquired_at = world.now;
    let first = world.hold_a_second(1).await;
    world.fail(first).await.unwrap();
    world.pass_ms(1_000).await;
    let second = world.hold_a_second(1).await;
    assert!(second > first);
    let lease = world.lease().await;
    assert_eq!((lease.acquired_at, lease.retry_count, lease.takeovers, lease.expired), (acquired_at, 1, 1, false));
    assert_eq!(world.succeed(first).await, Err(Refused::TokenMismatch));
    assert_eq!(world.fail(second).await, Ok(Failed::RetryScheduled { retry_count: 2 }));
}

/// Expiry is the choice of whoever acquires, each time.
pub async fn d4_a_takeover_without_a_lease_does_not_run_out<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.hold_a_second(1).await;
    world.pass_ms(1_000).await;
    let token = world.hold(1).await;
    assert_eq!(world.lease().await.lease_expires_at, None);
    world.pass_ms(86_400_000).await;
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// The one before has no say any more.
pub async fn d4_a_takeover_has_the_name_of_who_took_over<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.hold_as(Acquire::new("a", 1).holder("bob").lease_ms(1_000)).await;
    world.pass_ms(1_000).await;
    world.hold_as(Acquire::new("a", 1).holder("eve").lease_ms(1_000)).await;
    assert_eq!(world.lease().await.holder.as_deref(), Some("eve"));
    assert_eq!(world.ask(Acquire::new("a", 1).holder("bob")).await, Ok(Acquired::HeldByOther));
    world.pass_ms(1_000).await;
    world.hold(1).await;
    assert_eq!(world.lease().await.holder, None);
}

/// `ENQUEUED` with `expired_offset`.
pub async fn d4_another_offset_is_told_which_one_expired<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.hold_a_second(7).await;
    assert_eq!(world.acquire(8).await, ENQUEUED);
    world.pass_ms(1_000).await;
    let expired = Ok(Acquired::Enqueued { expired_offset: Some(7) });
    assert_eq!(world.acquire(8).await, expired);
    assert_eq!(world.acquire(9).await, expired);
    assert_eq!(world.info().await.backlog_len, 2);
}

/// The expired offset keeps its place before what waits.
pub async fn d4_order_is_kept_over_a_takeover<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.hold_a_second(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    world.pass_ms(1_000).await;
    let token = world.hold(1).await;
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset: 2 }));
    world.hold(2).await;
}

/// `ALREADY_FAILED`, by event, and the lease is cleared.
pub async fn d4_the_takeover_beyond_the_limit_fails_the_offset<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.change(takeovers(2)).await;
    world.hold_a_second(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    for _ in 0..2 {
        world.pass_ms(1_000).await;
        world.hold_a_second(1).await;
    }
    world.pass_ms(1_000).await;
    assert_eq!(world.ask(Acquire::new("a", 1).lease_ms(1_000)).await, Ok(Acquired::AlreadyFailed));
    assert_eq!(world.info().await.lease, None);
    assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyFailed));
    let events = world.events().await;
    let last = events.last().unwrap();
    assert_eq!((last.what, last.offset, last.nth), (What::TakeoversSpent, Some(1), Some(2)));
    world.hold(2).await;
}

/// The next offset begins anew.
pub async fn d4_takeovers_are_counted_for_each_offset<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.change(takeovers(1)).await;
    for offset in 1..=3 {
        world.hold_a_second(offset).await;
        world.pass_ms(1_000).await;
        let token = world.hold_a_second(offset).await;
        assert_eq!(world.lease().await.takeovers, 1);
        world.succeed(token).await.unwrap();
    }
}

/// Once per token; the lease stays for the next acquire.
pub async fn l7_recovery_tells_an_expiry_once_and_leaves_the_lease<H: Harness>() {
    let mut world = World::<H>::open().await;
    let first = world.hold_as(Acquire::new("a", 1).holder("bob").lease_ms(1_000)).await;
    assert_eq!(world.recover(10).await, (0, 0));
    world.pass_ms(1_000).await;
    assert_eq!(world.recover(10).await, (1, 0));
    assert_eq!(world.recover(10).await, (0, 0));
    assert!(world.lease().await.expired);
    let told = world.events().await;
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].what, told[0].token, told[0].holder.as_deref()), (What::Expired, Some(first), Some("bob")));
    world.hold_a_second(1).await;
    assert_eq!(world.whats().await, [What::Expired, What::TakenOver], "the acquire does not tell it again");
    world.pass_ms(1_000).await;
    assert_eq!(world.recover(10).await, (1, 0), "another token, another event");
}

/// The crash limit of domains.
pub async fn l7_recovery_applies_the_limit_of_takeovers<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.change(takeovers(1)).await;
    world.hold_a_second(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    world.pass_ms(1_000).await;
    assert_eq!(world.recover(10).await, (1, 0));
    world.hold_a_second(1).await;
    world.pass_ms(1_000).await;
    assert_eq!(world.recover(10).await, (1, 1));
    assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyFailed));
    assert_eq!(world.skip(1).await, Skipped::AlreadyFailed);
    world.hold(2).await;
}

/// Bounded batches.
pub async fn l7_recovery_is_bounded_and_takes_the_longest_expired_first<H: Harness>() {
    let mut world = World::<H>::open().await;
    for (name, lease_ms) in [("late", 3_000), ("early", 1_000), ("middle", 2_000)] {
        world.hold_as(Acquire::new(name, 1).lease_ms(lease_ms)).await;
    }
    world.pass_ms(5_000).await;
    for name in ["early", "middle", "late"] {
        assert_eq!(world.recover(1).await, (1, 0));
        assert_eq!(world.store.domain_events(name).await.unwrap().len(), 1, "{name}");
    }
    assert_eq!(world.recover(1).await, (0, 0));
}

/// Recovery believes the lease, not what it knew of it.
pub async fn l7_a_renewed_lease_is_not_recovered<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold_a_second(1).await;
    world.pass_ms(900).await;
    world.beat(token).await.unwrap();
    world.pass_ms(900).await;
    assert_eq!(world.recover(10).await, (0, 0));
    world.pass_ms(100).await;
    assert_eq!(world.recover(10).await, (1, 0));
    // A shorter lease after a longer one is noticed in time.
    let token = world.hold_as(Acquire::new("a", 1).lease_ms(86_400_000)).await;
    world.succeed(token).await.unwrap();
    world.hold_as(Acquire::new("a", 2).lease_ms(100)).await;
    world.pass_ms(100).await;
    assert_eq!(world.recover(10).await, (1, 0));
}

/// A renewal at an earlier instant leaves the deadline.
pub async fn a6_a_clock_that_steps_back_never_shortens_a_lease<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold_a_second(1).await;
    let expires_at = world.now.plus_ms(1_000);
    world.set(tenure_core::Time(world.now.0 - 60_000_000)).await;
    assert_eq!(world.beat(token).await, Ok(Beaten { lease_expires_at: Some(expires_at) }));
}
