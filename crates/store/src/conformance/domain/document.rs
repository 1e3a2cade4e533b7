//! The document's six sanity scenarios and six invariants, by name, and its method contracts (D1, D2, D8).

use super::Harness;
use super::tools::{ENQUEUED, World, retries};
use tenure_core::Token;
use tenure_core::domain::{Acquire, Acquired, Failed, Held, OFFSET_MAX, Refused, Succeeded};

scenarios! {
    __domain_document = domain::document;
    scenario_1_happy_path,
    scenario_2_queue_then_orchestrated_hand_off,
    scenario_3_out_of_order_acquire_is_a_hard_bug,
    scenario_4_retry,
    scenario_5_final_give_up,
    scenario_6_idempotence,
    invariant_1_single_in_flight_unit,
    invariant_2_disjointness,
    invariant_3_fifo_discipline,
    invariant_4_idempotence,
    invariant_5_token_fencing,
    invariant_6_stable_monitor,
    d1_a_second_acquire_of_the_offset_in_flight_is_told_the_token,
    d1_an_offset_waits_once_however_often_it_is_asked_for,
    d1_succeed_and_fail_leave_the_backlog_alone,
    d1_an_offset_that_waits_is_not_acquired_before_its_turn,
    d1_offsets_need_no_order_of_their_own,
    d1_the_largest_offset_is_an_offset,
    d2_the_age_of_an_offset_is_that_of_its_first_acquisition,
    d2_without_retries_the_first_failure_is_final,
    d8_each_item_of_a_call_is_answered_on_its_own,
    d8_items_of_one_domain_happen_in_the_order_of_the_call,
}

/// Sanity scenario 1.
pub async fn scenario_1_happy_path<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// Sanity scenario 2.
pub async fn scenario_2_queue_then_orchestrated_hand_off<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset: 2 }));
    let info = world.info().await;
    assert_eq!((info.lease, info.backlog_head), (None, Some(2)), "nothing was handed over");
    world.hold(2).await;
    assert_eq!(world.info().await.backlog_len, 0, "the head was popped");
}

/// Sanity scenario 3: after the hint, before 2 is acquired.
pub async fn scenario_3_out_of_order_acquire_is_a_hard_bug<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset: 2 }));
    let before = world.info().await;
    assert_eq!(world.acquire(3).await, Err(Refused::BacklogOrdering { expected: 2, got: 3 }));
    assert_eq!(world.info().await, before, "a refused acquire changes nothing");
    world.hold(2).await;
}

/// Sanity scenario 4.
pub async fn scenario_4_retry<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold(1).await;
    let acquired_at = world.now;
    for retry_count in 1..=3 {
        world.pass_ms(10).await;
        assert_eq!(world.fail(token).await, Ok(Failed::RetryScheduled { retry_count }));
        let lease = world.lease().await;
        assert_eq!((lease.offset, lease.acquired_at, lease.retry_count), (1, acquired_at, retry_count));
    }
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog), "the lease was retained");
}

/// Sanity scenario 5.
pub async fn scenario_5_final_give_up<H: Harness>() {
    let world = World::<H>::open().await;
    for (offset, waits) in [(1, false), (2, true)] {
        let token = world.hold(offset).await;
        if waits {
            assert_eq!(world.acquire(3).await, ENQUEUED);
        }
        for _ in 0..3 {
            world.fail(token).await.unwrap();
        }
        let expected = if waits { Failed::GiveUpNextHint { offset: 3 } } else { Failed::GiveUpNoBacklog };
        assert_eq!(world.fail(token).await, Ok(expected));
        assert_eq!(world.info().await.lease, None, "the lease is cleared");
        assert_eq!(world.acquire(offset).await, Ok(Acquired::AlreadyFailed));
    }
}

/// Sanity scenario 6.
pub async fn scenario_6_idempotence<H: Harness>() {
    let world = World::<H>::open().await;
    world.process(1).await;
    world.change(retries(0)).await;
    let token = world.hold(2).await;
    assert_eq!(world.fail(token).await, Ok(Failed::GiveUpNoBacklog));
    for in_flight in [false, true] {
        if in_flight {
            world.hold(3).await;
        }
        assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyProcessed));
        assert_eq!(world.acquire(2).await, Ok(Acquired::AlreadyFailed));
        assert_eq!(world.info().await.backlog_len, 0, "nothing was enqueued again");
    }
}

/// Invariant 1.
pub async fn invariant_1_single_in_flight_unit<H: Harness>() {
    let world = World::<H>::open().await;
    world.hold(1).await;
    for offset in 2..=5 {
        assert_eq!(world.acquire(offset).await, ENQUEUED);
        assert_eq!(world.lease().await.offset, 1);
    }
}

/// Invariant 2.
pub async fn invariant_2_disjointness<H: Harness>() {
    let world = World::<H>::open().await;
    world.process(1).await;
    let token = world.hold(2).await;
    // In flight: asked for again, it does not wait.
    world.acquire(2).await.unwrap();
    world.acquire(1).await.unwrap();
    assert_eq!(world.info().await.backlog_len, 0);
    assert_eq!(world.acquire(3).await, ENQUEUED);
    world.succeed(token).await.unwrap();
    let token = world.hold(3).await;
    assert_eq!(world.info().await.backlog_len, 0, "in flight and waiting");
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// Invariant 3.
pub async fn invariant_3_fifo_discipline<H: Harness>() {
    let world = World::<H>::open().await;
    let mut token = world.hold(10).await;
    let order = [7, 3, 9, 1];
    for offset in order {
        assert_eq!(world.acquire(offset).await, ENQUEUED);
    }
    for offset in order {
        assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset }));
        token = world.hold(offset).await;
    }
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// Invariant 4.
pub async fn invariant_4_idempotence<H: Harness>() {
    let world = World::<H>::open().await;
    for offset in [5, 1, 3] {
        world.process(offset).await;
    }
    for offset in [1, 3, 5] {
        assert_eq!(world.acquire(offset).await, Ok(Acquired::AlreadyProcessed));
    }
    assert_eq!(world.info().await.lease, None);
}

/// Invariant 5.
pub async fn invariant_5_token_fencing<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    for wrong in [Token(token.0 + 1), Token(token.0 - 1), Token(i64::MAX)] {
        assert_eq!(world.succeed(wrong).await, Err(Refused::TokenMismatch));
        assert_eq!(world.fail(wrong).await, Err(Refused::TokenMismatch));
        assert_eq!(world.beat(wrong).await, Err(Refused::TokenMismatch));
    }
    assert_eq!(world.lease().await.retry_count, 0);
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// Invariant 6: what a domain is survives whatever was asked of it, through every handle.
pub async fn invariant_6_stable_monitor<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.change(retries(9)).await;
    let made_at = world.now;
    let other = world.harness.another().await;
    for offset in 0..10 {
        world.pass_ms(1).await;
        let answers = other.domain_acquire(vec![Acquire::new("a", offset)]).await.unwrap();
        let token = answers[0].unwrap().token().unwrap();
        world.succeed(token).await.unwrap();
    }
    let info = world.info().await;
    assert_eq!((info.created_at, info.settings.max_retries), (made_at, 9));
    assert_eq!(Some(info), other.domain("a").await.unwrap());
}

/// The document gives the live token to any caller.
pub async fn d1_a_second_acquire_of_the_offset_in_flight_is_told_the_token<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    for _ in 0..2 {
        assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyAcquired { token }));
    }
}

/// The backlog has no duplicates.
pub async fn d1_an_offset_waits_once_however_often_it_is_asked_for<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.hold(1).await;
    let since = world.now;
    for _ in 0..3 {
        assert_eq!(world.acquire(2).await, ENQUEUED);
        world.pass_ms(5).await;
    }
    let info = world.info().await;
    assert_eq!((info.backlog_len, info.backlog_head, info.backlog_oldest_at), (1, Some(2), Some(since)));
}

/// Nothing is handed over.
pub async fn d1_succeed_and_fail_leave_the_backlog_alone<H: Harness>() {
    let world = World::<H>::open().await;
    world.change(retries(1)).await;
    let token = world.hold(1).await;
    for offset in [2, 3] {
        assert_eq!(world.acquire(offset).await, ENQUEUED);
    }
    world.fail(token).await.unwrap();
    assert_eq!(world.info().await.backlog_len, 2);
    assert_eq!(world.fail(token).await, Ok(Failed::GiveUpNextHint { offset: 2 }));
    assert_eq!(world.info().await.backlog_len, 2);
    let token = world.hold(2).await;
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset: 3 }));
    assert_eq!(world.info().await.backlog_len, 1);
}

/// Not even one that waits may pass the head.
pub async fn d1_an_offset_that_waits_is_not_acquired_before_its_turn<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    for offset in [2, 3] {
        assert_eq!(world.acquire(offset).await, ENQUEUED);
    }
    world.succeed(token).await.unwrap();
    assert_eq!(world.acquire(3).await, Err(Refused::BacklogOrdering { expected: 2, got: 3 }));
    assert_eq!(world.info().await.backlog_len, 2);
}

/// First in is first out, whatever the numbers.
pub async fn d1_offsets_need_no_order_of_their_own<H: Harness>() {
    let world = World::<H>::open().await;
    for offset in [900, 0, 17] {
        world.process(offset).await;
    }
}

/// Offsets reach to 2^63 − 1.
pub async fn d1_the_largest_offset_is_an_offset<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(OFFSET_MAX).await;
    assert_eq!(world.acquire(OFFSET_MAX - 1).await, ENQUEUED);
    assert_eq!(world.acquire(0).await, ENQUEUED);
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset: OFFSET_MAX - 1 }));
    world.process(OFFSET_MAX - 1).await;
    world.process(0).await;
    for offset in [OFFSET_MAX, OFFSET_MAX - 1, 0] {
        assert_eq!(world.acquire(offset).await, Ok(Acquired::AlreadyProcessed));
    }
    world.hold(1).await;
}

/// `acquired_at` is set once for each offset.
pub async fn d2_the_age_of_an_offset_is_that_of_its_first_acquisition<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold(1).await;
    world.succeed(token).await.unwrap();
    world.pass_ms(7).await;
    let token = world.hold(2).await;
    let acquired_at = world.now;
    world.pass_ms(9).await;
    world.acquire(2).await.unwrap();
    world.fail(token).await.unwrap();
    assert_eq!(world.lease().await.acquired_at, acquired_at);
}

/// `max_retries` 0.
pub async fn d2_without_retries_the_first_failure_is_final<H: Harness>() {
    let world = World::<H>::open().await;
    world.change(retries(0)).await;
    let token = world.hold(1).await;
    assert_eq!(world.fail(token).await, Ok(Failed::GiveUpNoBacklog));
    assert_eq!(world.fail(token).await, Err(Refused::LeaseNotFound));
}

/// A refusal in a batch does not touch its neighbours.
pub async fn d8_each_item_of_a_call_is_answered_on_its_own<H: Harness>() {
    let world = World::<H>::open().await;
    let names = ["zebra", "a", "m", "ключ"];
    let acquires = names.iter().map(|name| Acquire::new(*name, 1)).collect();
    let answers = world.store.domain_acquire(acquires).await.unwrap();
    let tokens: Vec<Token> = answers.iter().map(|answer| answer.unwrap().token().unwrap()).collect();
    let mut writes: Vec<Held> = names.iter().zip(&tokens).map(|(name, token)| Held::new(*name, *token)).collect();
    writes[1].token = Token(99);
    writes.push(Held::new("never seen", Token(1)));
    let answers = world.store.domain_succeed(writes).await.unwrap();
    let done = Ok(Succeeded::NoBacklog);
    assert_eq!(answers, [done, Err(Refused::TokenMismatch), done, done, Err(Refused::LeaseNotFound)]);
}

/// Also when a domain is named more than once.
pub async fn d8_items_of_one_domain_happen_in_the_order_of_the_call<H: Harness>() {
    let world = World::<H>::open().await;
    let asked = [("b", 5), ("a", 3), ("b", 4), ("a", 2), ("a", 3)];
    let acquires = asked.iter().map(|(name, offset)| Acquire::new(*name, *offset)).collect();
    let answers = world.store.domain_acquire(acquires).await.unwrap();
    let words: Vec<&str> = answers.iter().map(|answer| answer.as_ref().unwrap().as_str()).collect();
    assert_eq!(words, ["ACQUIRED", "ACQUIRED", "ENQUEUED", "ENQUEUED", "ALREADY_ACQUIRED"]);
    let token = answers[1].unwrap().token().unwrap();
    let twice = vec![Held::new("a", token), Held::new("a", token)];
    let answers = world.store.domain_succeed(twice).await.unwrap();
    assert_eq!(answers, [Ok(Succeeded::NextHint { offset: 2 }), Err(Refused::LeaseNotFound)]);
}
