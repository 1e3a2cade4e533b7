//! Tokens and names: who may write, and who is told (D1, D3, D5, L2, L8).

use super::Harness;
use super::tools::{ENQUEUED, World};
use tenure_core::domain::{Acquire, Acquired, Advance, Advanced, Event, Refused, Succeeded, Verb, What, token_of};
use tenure_core::{Time, Token};

scenarios! {
    __domain_fence = domain::fence;
    d1_a_domain_never_seen_has_no_lease,
    d1_a_refused_write_changes_nothing_but_its_event,
    d1_the_token_of_an_ended_lease_is_refused,
    d3_a_named_lease_is_told_to_its_holder_alone,
    d3_an_unnamed_lease_is_told_to_anyone,
    d3_a_name_does_not_guard_the_writes,
    d5_tokens_grow_within_a_domain,
    d5_what_is_no_token_is_a_mismatch,
    l2_tokens_grow_over_a_raised_epoch,
    l8_refused_writes_are_counted_into_one_event,
    l8_each_refused_token_has_an_event_of_its_own,
    l8_refused_tokens_are_bounded,
    d8_an_advance_is_a_succeed_and_an_acquire,
    d8_an_advance_prefers_what_waits,
    d8_a_refused_advance_acquires_nothing,
}

/// `lease_not_found`, and the domain is not made by it.
pub async fn d1_a_domain_never_seen_has_no_lease<H: Harness>() {
    let world = World::<H>::open().await;
    assert_eq!(world.succeed(Token(1)).await, Err(Refused::LeaseNotFound));
    assert_eq!(world.fail(Token(1)).await, Err(Refused::LeaseNotFound));
    assert_eq!(world.beat(Token(1)).await, Err(Refused::LeaseNotFound));
    assert_eq!(world.advance(Advance::new("a", Token(1)).next(4)).await, Err(Refused::LeaseNotFound));
    assert_eq!(world.store.domain("a").await.unwrap(), None);
}

/// A refusal is told, and that is all it does.
pub async fn d1_a_refused_write_changes_nothing_but_its_event<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    assert_eq!(world.acquire(2).await, ENQUEUED);
    let before = world.info().await;
    let wrong = Token(token.0 + 1);
    assert_eq!(world.succeed(wrong).await, Err(Refused::TokenMismatch));
    assert_eq!(world.fail(wrong).await, Err(Refused::TokenMismatch));
    assert_eq!(world.beat(wrong).await, Err(Refused::TokenMismatch));
    assert_eq!(world.info().await, before);
    assert_eq!(world.whats().await, [What::Refused]);
}

/// A succeed sent twice is a bug of the caller's (D1 stands instead of L12).
pub async fn d1_the_token_of_an_ended_lease_is_refused<H: Harness>() {
    let world = World::<H>::open().await;
    let first = world.hold(1).await;
    world.succeed(first).await.unwrap();
    assert_eq!(world.succeed(first).await, Err(Refused::LeaseNotFound));
    world.hold(2).await;
    assert_eq!(world.succeed(first).await, Err(Refused::TokenMismatch));
    assert_eq!(world.lease().await.offset, 2);
}

/// Any other, named or not, is told `HELD_BY_OTHER`.
pub async fn d3_a_named_lease_is_told_to_its_holder_alone<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold_as(Acquire::new("a", 1).holder("bob")).await;
    let already = Ok(Acquired::AlreadyAcquired { token });
    assert_eq!(world.ask(Acquire::new("a", 1).holder("bob")).await, already);
    assert_eq!(world.ask(Acquire::new("a", 1).holder("eve")).await, Ok(Acquired::HeldByOther));
    assert_eq!(world.acquire(1).await, Ok(Acquired::HeldByOther));
    assert_eq!(world.lease().await.holder.as_deref(), Some("bob"));
}

/// Without names the document's behaviour stands; a named caller on an unnamed lease gets the token.
pub async fn d3_an_unnamed_lease_is_told_to_anyone<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    let already = Ok(Acquired::AlreadyAcquired { token });
    assert_eq!(world.ask(Acquire::new("a", 1).holder("eve")).await, already);
    assert_eq!(world.acquire(1).await, already);
    assert_eq!(world.lease().await.holder, None, "asking does not make it hers");
}

/// What counts is the token.
pub async fn d3_a_name_does_not_guard_the_writes<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold_as(Acquire::new("a", 1).holder("bob")).await;
    assert_eq!(world.succeed(token).await, Ok(Succeeded::NoBacklog));
}

/// Strictly, whatever ended the lease before.
pub async fn d5_tokens_grow_within_a_domain<H: Harness>() {
    let mut world = World::<H>::open().await;
    let mut last = Token(0);
    for offset in 0..5 {
        let token = world.hold_a_second(offset).await;
        assert!(token > last);
        world.pass_ms(1_000).await;
        let taken_over = world.hold(offset).await;
        assert!(taken_over > token);
        match offset {
            0 | 1 => drop(world.succeed(taken_over).await.unwrap().hint()),
            2 => drop(world.skip(offset).await.as_str()),
            _ => {
                for _ in 0..4 {
                    world.fail(taken_over).await.unwrap();
                }
            }
        }
        last = taken_over;
    }
}

/// On the wire a token is a decimal string; anything else was never drawn.
pub async fn d5_what_is_no_token_is_a_mismatch<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    for text in ["", "abc", "0", "-1", " 1", "1e3"] {
        assert_eq!(world.succeed(token_of(text)).await, Err(Refused::TokenMismatch), "{text:?}");
    }
    assert_eq!(world.succeed(token_of(&token.to_string())).await, Ok(Succeeded::NoBacklog));
}

/// Every later token outranks every earlier one.
pub async fn l2_tokens_grow_over_a_raised_epoch<H: Harness>() {
    let world = World::<H>::open().await;
    let first = world.hold(1).await;
    world.succeed(first).await.unwrap();
    let epoch = world.store.new_epoch().await.expect("a new epoch");
    let second = world.hold(2).await;
    assert!(epoch.base > first);
    assert_eq!(second, epoch.base);
    assert_eq!(world.succeed(second).await, Ok(Succeeded::NoBacklog));
    assert_eq!(world.hold(3).await, Token(second.0 + 1));
}

/// One event for each token and kind of refusal, with the last of them.
pub async fn l8_refused_writes_are_counted_into_one_event<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold(1).await;
    for _ in 0..5 {
        assert!(world.succeed(Token(token.0 + 7)).await.is_err());
        world.pass_ms(1).await;
    }
    assert!(world.fail(Token(0)).await.is_err());
    let at = world.now;
    world.succeed(token).await.unwrap();
    assert!(world.beat(token).await.is_err());
    let events = world.events().await;
    assert_eq!(events.len(), 3, "{events:?}");
    let told = |i: usize| (events[i].refused, events[i].verb, events[i].token, events[i].count, events[i].at);
    let first = |i: usize| events[i].first_at;
    assert_eq!((first(0), first(1), first(2)), (Some(Time(at.0 - 5_000)), None, None));
    let last = Time(at.0 - 1_000);
    assert_eq!(told(0), (Some("token_mismatch"), Some(Verb::Succeed), Some(Token(token.0 + 7)), 5, last));
    assert_eq!(told(1), (Some("lease_not_found"), Some(Verb::Heartbeat), Some(token), 1, at));
    assert_eq!(told(2), (Some("token_mismatch"), Some(Verb::Fail), None, 1, at));
}

/// The second zombie does not erase the first: another token's refusal is another event.
pub async fn l8_each_refused_token_has_an_event_of_its_own<H: Harness>() {
    let mut world = World::<H>::open().await;
    let mut zombies = Vec::new();
    for takeover in 0..3 {
        let acquire = Acquire::new("a", 1).holder(format!("worker-{takeover}")).lease_ms(100);
        let Ok(Acquired::Acquired { token }) = world.ask(acquire).await else { panic!("no takeover {takeover}") };
        zombies.push(token);
        world.pass_ms(100).await;
    }
    let alive = zombies.pop().unwrap();
    for zombie in [zombies[0], zombies[1], zombies[0]] {
        assert_eq!(world.succeed(zombie).await, Err(Refused::TokenMismatch));
    }
    assert!(world.succeed(alive).await.is_err());
    let refused = |event: &Event| event.refused.map(|code| (code, event.token.unwrap(), event.count));
    let told: Vec<_> = world.events().await.iter().filter_map(refused).collect();
    assert_eq!(told, [("lease_lost", alive, 1), ("token_mismatch", zombies[0], 2), ("token_mismatch", zombies[1], 1)]);
}

/// Whoever makes tokens up fills no store: those refused the longest ago give way.
pub async fn l8_refused_tokens_are_bounded<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold(1).await;
    for n in 1..=105 {
        assert!(world.succeed(Token(token.0 + n)).await.is_err());
        world.pass_ms(1).await;
    }
    // Refused once more, the eldest of those left is the youngest.
    assert!(world.succeed(Token(token.0 + 6)).await.is_err());
    assert!(world.succeed(Token(token.0 + 106)).await.is_err());
    let told: Vec<i64> = world.events().await.iter().map(|event| event.token.unwrap().0 - token.0).collect();
    let mut left: Vec<i64> = (8..=105).chain([6, 106]).collect();
    left.sort_by_key(|n| (*n == 6 || *n == 106, *n));
    assert_eq!(told, left);
}

/// Two verbs in one step.
pub async fn d8_an_advance_is_a_succeed_and_an_acquire<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    let advanced = world.advance(Advance::new("a", token).next(2).holder("bob").lease_ms(500)).await.unwrap();
    assert_eq!(advanced.succeeded, Succeeded::NoBacklog);
    let Some((2, Ok(Acquired::Acquired { token: next }))) = advanced.next else { panic!("{advanced:?}") };
    assert!(next > token);
    let lease = world.lease().await;
    assert_eq!((lease.offset, lease.holder.as_deref(), lease.lease_ms), (2, Some("bob"), Some(500)));
    assert_eq!(world.acquire(1).await, Ok(Acquired::AlreadyProcessed));
    let last = world.advance(Advance::new("a", next)).await;
    assert_eq!(last, Ok(Advanced { succeeded: Succeeded::NoBacklog, next: None }));
    assert_eq!(world.info().await.lease, None);
}

/// The named offset is for an empty backlog.
pub async fn d8_an_advance_prefers_what_waits<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    assert_eq!(world.acquire(5).await, ENQUEUED);
    let advanced = world.advance(Advance::new("a", token).next(2)).await.unwrap();
    assert_eq!(advanced.succeeded, Succeeded::NextHint { offset: 5 });
    let Some((5, Ok(Acquired::Acquired { token }))) = advanced.next else { panic!("{advanced:?}") };
    assert_eq!(world.info().await.backlog_len, 0, "the other offset was not asked for");
    // The offset that just ended may be named: it has ended.
    let advanced = world.advance(Advance::new("a", token).next(5)).await.unwrap();
    assert_eq!(advanced.next, Some((5, Ok(Acquired::AlreadyProcessed))));
}

/// All or nothing.
pub async fn d8_a_refused_advance_acquires_nothing<H: Harness>() {
    let world = World::<H>::open().await;
    let token = world.hold(1).await;
    let before = world.info().await;
    let refused = world.advance(Advance::new("a", Token(token.0 + 1)).next(2)).await;
    assert_eq!(refused, Err(Refused::TokenMismatch));
    assert_eq!(world.info().await, before);
}
