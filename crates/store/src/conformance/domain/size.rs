//! Many offsets: what is kept of those that ended, and of those that wait (D6).

use super::Harness;
use super::tools::{World, retries};
use tenure_core::domain::{Acquire, Acquired, Advance, Held, Succeeded};

scenarios! {
    __domain_size = domain::size;
    d6_contiguous_offsets_are_kept_as_ranges,
    d6_offsets_that_ended_out_of_order_are_told_apart,
    d6_a_long_backlog_keeps_its_order,
    d6_failures_between_are_told_apart,
}

/// A thousand in a row, and each is still known.
pub async fn d6_contiguous_offsets_are_kept_as_ranges<H: Harness>() {
    let world = World::<H>::open().await;
    let mut token = world.hold(0).await;
    for offset in 1..300 {
        let advanced = world.advance(Advance::new("a", token).next(offset)).await.unwrap();
        token = advanced.next.unwrap().1.unwrap().token().unwrap();
    }
    world.succeed(token).await.unwrap();
    for offset in [0, 1, 150, 299] {
        assert_eq!(world.acquire(offset).await, Ok(Acquired::AlreadyProcessed), "{offset}");
    }
    world.hold(300).await;
}

/// Holes stay holes until they are filled, whichever side they are filled from.
pub async fn d6_offsets_that_ended_out_of_order_are_told_apart<H: Harness>() {
    let world = World::<H>::open().await;
    let order = [10, 12, 11, 20, 19, 30, 28, 29, 13, 9, 18, 0, 1];
    let mut ended = Vec::new();
    for offset in order {
        world.process(offset).await;
        ended.push(offset);
        let acquires = ended.iter().map(|offset| Acquire::new("a", *offset)).collect();
        let answers = world.store.domain_acquire(acquires).await.unwrap();
        assert!(answers.iter().all(|answer| *answer == Ok(Acquired::AlreadyProcessed)), "{ended:?}: {answers:?}");
    }
    for hole in (0..32).filter(|offset| !order.contains(offset)) {
        world.process(hole).await;
    }
}

/// A thousand wait; each leaves in its turn.
pub async fn d6_a_long_backlog_keeps_its_order<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    // Descending, so that the order of arrival is not that of the numbers.
    let waiting: Vec<u64> = (2..=1_001).rev().collect();
    let acquires = waiting.iter().map(|offset| Acquire::new("a", *offset)).collect();
    world.store.domain_acquire(acquires).await.unwrap();
    assert_eq!(world.info().await.backlog_len, 1_000);
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NextHint { offset: 1_001 }));
    let mut token = world.hold(1_001).await;
    for offset in waiting.iter().skip(1).take(200) {
        let advanced = world.advance(Advance::new("a", token)).await.unwrap();
        assert_eq!(advanced.succeeded, Succeeded::NextHint { offset: *offset });
        token = advanced.next.unwrap().1.unwrap().token().unwrap();
    }
    assert_eq!(world.info().await.backlog_len, 799);
}

/// `ALREADY_PROCESSED` and `ALREADY_FAILED` stay exact inside one long range.
pub async fn d6_failures_between_are_told_apart<H: Harness>() {
    let world = World::<H>::open().await;
    world.change(retries(0)).await;
    let failing = |offset: u64| matches!(offset, 0 | 7 | 8 | 9 | 33 | 59);
    for offset in 0..60 {
        let token = world.hold(offset).await;
        let held = vec![Held::new("a", token)];
        if failing(offset) {
            assert!(world.store.domain_fail(held).await.unwrap()[0].is_ok());
        } else {
            assert!(world.store.domain_succeed(held).await.unwrap()[0].is_ok());
        }
    }
    let acquires = (0..60).map(|offset| Acquire::new("a", offset)).collect();
    let answers = world.store.domain_acquire(acquires).await.unwrap();
    for (offset, answer) in answers.iter().enumerate() {
        let ended = if failing(offset as u64) { Acquired::AlreadyFailed } else { Acquired::AlreadyProcessed };
        assert_eq!(*answer, Ok(ended), "{offset}");
    }
}
