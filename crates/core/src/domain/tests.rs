//! The document's six sanity scenarios and six invariants, by name, and the rules that were added to it.

use super::rules::Asker;
use super::*;
use crate::actor::Actor;
use crate::lease::{LostReason, Token};
use crate::time::Time;
use std::sync::Arc;

const NOW: Time = Time(1_000_000);

fn domain() -> Domain {
    Domain::new(NOW)
}

fn unnamed() -> Asker<'static> {
    Asker { holder: None, lease_ms: None, base: Token(0) }
}

fn acquired(domain: &mut Domain, offset: u64) -> Token {
    match domain.acquire(offset, unnamed(), NOW) {
        Ok(Acquired::Acquired { token }) => token,
        other => panic!("{other:?}"),
    }
}

const ENQUEUED: Answer<Acquired> = Ok(Acquired::Enqueued { expired_offset: None });

#[test]
fn scenario_1_happy_path() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    assert_eq!(a.succeed(token, NOW), Ok(Succeeded::NoBacklog));
}

#[test]
fn scenario_2_queue_then_orchestrated_hand_off() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    assert_eq!(a.acquire(2, unnamed(), NOW), ENQUEUED);
    assert_eq!(a.succeed(token, NOW), Ok(Succeeded::NextHint { offset: 2 }));
    acquired(&mut a, 2);
    assert_eq!(a.book.backlog.as_ref().unwrap().len(), 0, "the head was popped");
}

#[test]
fn scenario_3_out_of_order_acquire_is_a_hard_bug() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    assert_eq!(a.acquire(2, unnamed(), NOW), ENQUEUED);
    assert_eq!(a.succeed(token, NOW), Ok(Succeeded::NextHint { offset: 2 }));
    let before = a.clone();
    assert_eq!(a.acquire(3, unnamed(), NOW), Err(Refused::BacklogOrdering { expected: 2, got: 3 }));
    assert_eq!(a, before, "a refused acquire changes nothing");
}

#[test]
fn scenario_4_retry() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    for n in 1..=3 {
        assert_eq!(a.fail(token, Time(NOW.0 + i64::from(n))), Ok(Failed::RetryScheduled { retry_count: n }));
        let flight = a.record.in_flight.as_ref().unwrap();
        assert_eq!((flight.acquired_at, flight.lease.token, flight.retry_count), (NOW, token, n));
    }
}

#[test]
fn scenario_5_final_give_up() {
    for (waits, answer) in [(false, Failed::GiveUpNoBacklog), (true, Failed::GiveUpNextHint { offset: 2 })] {
        let mut a = domain();
        let token = acquired(&mut a, 1);
        if waits {
            assert_eq!(a.acquire(2, unnamed(), NOW), ENQUEUED);
        }
        for _ in 0..3 {
            a.fail(token, NOW).unwrap();
        }
        assert_eq!(a.fail(token, NOW), Ok(answer));
        assert_eq!(a.record.in_flight, None);
        assert_eq!(a.acquire(1, unnamed(), NOW), Ok(Acquired::AlreadyFailed));
    }
}

#[test]
fn scenario_6_idempotence() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    a.succeed(token, NOW).unwrap();
    for waiting in [false, true] {
        if waiting {
            acquired(&mut a, 9);
        }
        assert_eq!(a.acquire(1, unnamed(), NOW), Ok(Acquired::AlreadyProcessed));
        assert!(a.book.backlog.as_ref().is_none_or(|backlog| backlog.is_empty()), "it was not enqueued again");
    }
}

/// Every invariant is looked at after each of many random steps.
fn walk(mut each: impl FnMut(&Domain, &Domain, u64)) {
    let mut draw = 7_u64;
    let mut chance = move |below: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) % below
    };
    for _ in 0..60 {
        let mut it = domain();
        it.record.settings.takeovers_max = [None, Some(2)][chance(2) as usize];
        it.record.settings.max_retries = chance(3) as u32;
        let mut now = NOW;
        for _ in 0..400 {
            let before = it.clone();
            now = Time(now.0 + chance(60_000) as i64);
            let offset = chance(40);
            let token = it
                .record
                .in_flight
                .as_ref()
                .map_or(Token(5), |flight| Token(flight.lease.token.0 - chance(8) as i64 / 7));
            let holder: Option<Arc<str>> = [None, Some("a".into()), Some("b".into())][chance(3) as usize].clone();
            let lease_ms = [None, Some(100)][chance(2) as usize];
            let asker = Asker { holder: holder.as_ref(), lease_ms, base: Token(0) };
            match chance(12) {
                0..=4 => done(it.acquire(offset, asker, now)),
                5 => {
                    let head = it.book.backlog.as_ref().and_then(|backlog| backlog.head());
                    done(it.acquire(head.map_or(offset, |(offset, _)| offset), asker, now));
                }
                6 | 7 => done(it.succeed(token, now)),
                8 => done(it.fail(token, now)),
                9 => done(it.heartbeat(token, now)),
                10 => done(it.advance(token, Some(offset), asker, now)),
                _ if chance(4) == 0 => done(it.skip(offset, &Actor::default(), now)),
                _ => done(it.expire(now)),
            }
            each(&before, &it, offset);
            assert_eq!(it.broken_invariant(), None);
        }
    }
}

/// Its answer is looked at elsewhere.
fn done<T>(_: T) {}

fn waiting(domain: &Domain) -> Vec<u64> {
    domain.book.backlog.as_ref().map_or_else(Vec::new, |it| it.all().iter().map(|(offset, _)| *offset).collect())
}

#[test]
fn invariant_1_single_in_flight_unit() {
    // The type has room for one lease; what changes hands does so only through "none".
    walk(|before, after, _| {
        if let (Some(old), Some(new)) = (&before.record.in_flight, &after.record.in_flight)
            && old.offset != new.offset
        {
            assert!(after.book.ended.contains(old.offset), "an offset was pushed aside");
        }
    });
}

#[test]
fn invariant_2_disjointness() {
    let mut met = 0;
    walk(|_, after, _| {
        let waits = waiting(after);
        met += waits.len();
        assert!(waits.iter().all(|offset| !after.book.ended.contains(*offset)));
        if let Some(flight) = &after.record.in_flight {
            assert!(!waits.contains(&flight.offset) && !after.book.ended.contains(flight.offset));
        }
    });
    assert!(met > 10_000, "the walk met only {met} waiting offsets");
}

#[test]
fn invariant_3_fifo_discipline() {
    walk(|before, after, _| {
        let (was, is) = (waiting(before), waiting(after));
        let kept: Vec<u64> = was.iter().copied().filter(|offset| is.contains(offset)).collect();
        assert!(is.starts_with(&kept), "what waits changed its order: {was:?} then {is:?}");
        let left: Vec<u64> = was.iter().copied().filter(|offset| !is.contains(offset)).collect();
        let in_flight = after.record.in_flight.as_ref().map(|flight| flight.offset);
        for offset in left {
            let skipped = after.book.failed.as_ref().is_some_and(|failed| failed.contains(offset));
            let acquired = in_flight == Some(offset) && was.first() == Some(&offset);
            assert!(skipped || acquired, "{offset} left the backlog otherwise than as its head");
        }
    });
}

#[test]
fn invariant_4_idempotence() {
    let mut met = 0;
    walk(|before, after, offset| {
        if before.book.ended.contains(offset) {
            met += 1;
            assert!(after.book.ended.contains(offset));
            assert!(!waiting(after).contains(&offset));
            assert!(after.record.in_flight.as_ref().is_none_or(|flight| flight.offset != offset));
        }
    });
    assert!(met > 1_000);
}

#[test]
fn invariant_5_token_fencing() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    let before = a.clone();
    let other = Token(token.0 + 1);
    assert_eq!(a.succeed(other, NOW), Err(Refused::TokenMismatch));
    assert_eq!(a.fail(other, NOW), Err(Refused::TokenMismatch));
    assert_eq!(a.heartbeat(other, NOW), Err(Refused::TokenMismatch));
    assert_eq!((a.record.clone(), a.book.ended.clone()), (before.record, before.book.ended));
    a.succeed(token, NOW).unwrap();
    assert_eq!(a.succeed(token, NOW), Err(Refused::LeaseNotFound));
    assert_eq!(a.fail(token, NOW), Err(Refused::LeaseNotFound));
}

#[test]
fn invariant_6_stable_monitor() {
    // The lock is the store's; what it locks is one value that is never replaced, whatever was asked of it.
    let mut all = Domains::new(Token(0));
    all.change(&"a".into(), &Change { max_retries: Some(Some(9)), ..Change::default() }, NOW);
    for offset in 0..50 {
        let token = all.acquire(&Acquire::new("a", offset), NOW).unwrap().token().unwrap();
        all.succeed(&Held::new("a", token), Time(NOW.0 + 5)).unwrap();
    }
    let record = &all.get("a").unwrap().record;
    assert_eq!((record.created_at, record.settings.max_retries, record.last_token), (NOW, 9, Token(50)));
}

#[test]
fn d1_a_domain_never_seen_has_no_lease_and_is_not_made_by_a_refusal() {
    let mut all = Domains::new(Token(0));
    assert_eq!(all.succeed(&Held::new("a", Token(1)), NOW), Err(Refused::LeaseNotFound));
    assert_eq!(all.domain("a", NOW), None);
}

#[test]
fn d3_a_named_lease_is_told_to_its_holder_alone() {
    let (bob, eve): (Arc<str>, Arc<str>) = ("bob".into(), "eve".into());
    let named = |holder| Asker { holder, ..unnamed() };
    let mut a = domain();
    let token = a.acquire(1, named(Some(&bob)), NOW).unwrap().token().unwrap();
    assert_eq!(a.acquire(1, named(Some(&bob)), NOW), Ok(Acquired::AlreadyAcquired { token }));
    assert_eq!(a.acquire(1, named(Some(&eve)), NOW), Ok(Acquired::HeldByOther));
    assert_eq!(a.acquire(1, unnamed(), NOW), Ok(Acquired::HeldByOther));
    // A named caller on an unnamed lease gets the token.
    let mut b = domain();
    let token = acquired(&mut b, 1);
    assert_eq!(b.acquire(1, named(Some(&eve)), NOW), Ok(Acquired::AlreadyAcquired { token }));
}

#[test]
fn d4_a_takeover_keeps_place_age_and_retries() {
    let short = Asker { lease_ms: Some(100), ..unnamed() };
    let mut a = domain();
    let first = a.acquire(1, short, NOW).unwrap().token().unwrap();
    a.fail(first, NOW).unwrap();
    let late = NOW.plus_ms(100);
    assert_eq!(a.succeed(first, late), Err(Refused::LeaseLost(LostReason::Expired)));
    assert_eq!(a.heartbeat(first, late), Err(Refused::LeaseLost(LostReason::Expired)));
    assert_eq!(a.acquire(2, unnamed(), late), Ok(Acquired::Enqueued { expired_offset: Some(1) }));
    let second = a.acquire(1, unnamed(), late).unwrap().token().unwrap();
    assert!(second > first);
    let flight = a.record.in_flight.clone().unwrap();
    assert_eq!((flight.acquired_at, flight.retry_count, flight.lease.deadline()), (NOW, 1, None));
    assert_eq!(a.fail(first, late), Err(Refused::TokenMismatch));
    assert_eq!(a.succeed(second, late), Ok(Succeeded::NextHint { offset: 2 }));
}

#[test]
fn d4_the_takeover_beyond_the_limit_fails_the_offset() {
    let short = Asker { lease_ms: Some(100), ..unnamed() };
    let mut a = domain();
    a.record.settings.takeovers_max = Some(1);
    a.acquire(1, short, NOW).unwrap();
    a.acquire(1, short, NOW.plus_ms(100)).unwrap();
    assert_eq!(a.acquire(1, short, NOW.plus_ms(200)), Ok(Acquired::AlreadyFailed));
    assert_eq!(a.record.in_flight, None);
    let whats: Vec<What> = a.events().iter().map(|event| event.what).collect();
    assert_eq!(whats, [What::Expired, What::TakenOver, What::Expired, What::TakeoversSpent]);
}

#[test]
fn l2_tokens_grow_over_epochs() {
    let mut a = domain();
    let first = acquired(&mut a, 1);
    a.succeed(first, NOW).unwrap();
    let raised = Asker { base: Token(3_000), ..unnamed() };
    let second = a.acquire(2, raised, NOW).unwrap().token().unwrap();
    assert_eq!((first, second), (Token(1), Token(3_000)));
    a.succeed(second, NOW).unwrap();
    assert_eq!(a.acquire(3, raised, NOW).unwrap().token(), Some(Token(3_001)));
}

#[test]
fn d7_a_skipped_offset_is_failed_wherever_it_stood() {
    let mut a = domain();
    let token = acquired(&mut a, 1);
    for offset in 2..=4 {
        assert_eq!(a.acquire(offset, unnamed(), NOW), ENQUEUED);
    }
    assert_eq!(
        [a.skip(3, &Actor::default(), NOW), a.skip(3, &Actor::default(), NOW)],
        [Skipped::Skipped, Skipped::AlreadyFailed]
    );
    assert_eq!(waiting(&a), [2, 4]);
    assert_eq!(a.skip(1, &Actor::default(), NOW), Skipped::Skipped);
    assert_eq!(a.succeed(token, NOW), Err(Refused::LeaseNotFound));
    assert_eq!(a.skip(77, &Actor::default(), NOW), Skipped::Skipped);
    assert_eq!(a.acquire(77, unnamed(), NOW), Ok(Acquired::AlreadyFailed));
    acquired(&mut a, 2);
}

#[test]
fn l8_refusals_are_counted_and_the_rest_is_bounded() {
    let mut a = domain();
    a.record.settings.max_retries = 1_000;
    let token = acquired(&mut a, 1);
    for n in 0..500 {
        a.fail(token, Time(NOW.0 + n)).unwrap();
        assert!(a.succeed(Token(0), Time(NOW.0 + n)).is_err());
    }
    let events = a.events();
    assert_eq!(events.len(), 101);
    let refused = events.iter().find(|event| event.what == What::Refused).unwrap();
    assert_eq!((refused.count, refused.token), (500, None));
    assert!(refused.message().contains("(500 times)"), "{}", refused.message());
}

#[test]
fn d6_a_failure_now_and_then_leaves_the_long_range_whole() {
    let mut a = domain();
    a.record.settings.max_retries = 0;
    for offset in 0..10_000 {
        let token = acquired(&mut a, offset);
        if offset % 100 == 7 { done(a.fail(token, NOW)) } else { done(a.succeed(token, NOW)) }
    }
    assert_eq!((a.book.ended.count(), a.book.failed.as_ref().unwrap().count()), (1, 100));
    assert_eq!(a.acquire(107, unnamed(), NOW), Ok(Acquired::AlreadyFailed));
    assert_eq!(a.acquire(108, unnamed(), NOW), Ok(Acquired::AlreadyProcessed));
}
