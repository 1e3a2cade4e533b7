//! Can what many callers saw at once be explained by one order? A small checker in the manner of Wing and Gong.
//!
//! The calls on one domain, each with when it began and when it was answered, are put into every order that respects
//! these times, until one is found in which core gives the same answers. States already tried are not tried again.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use tenure_core::domain::rules::Asker;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Domain, Failed, Held, Skip, Skipped, Succeeded,
};
use tenure_core::{Actor, Time, Token};

/// What was asked, and what was answered.
#[derive(Clone, Debug)]
pub enum Did {
    /// `tryAcquire`.
    Acquire(Acquire, Answer<Acquired>),
    /// `succeed`.
    Succeed(Held, Answer<Succeeded>),
    /// `fail`.
    Fail(Held, Answer<Failed>),
    /// A heartbeat.
    Beat(Held, Answer<Beaten>),
    /// `succeed`, then `tryAcquire`.
    Advance(Advance, Answer<Advanced>),
    /// An operator's skip.
    Skip(Skip, Skipped),
}

/// One call, on the time line of all callers.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it was asked.
    pub asked: u64,
    /// When it was answered.
    pub answered: u64,
    /// What the store's clock showed all the while.
    pub now: Time,
    /// What was asked and answered.
    pub did: Did,
}

/// How far an explanation got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Calls that were explained.
    pub calls: usize,
    /// Orders that were tried and given up.
    pub given_up: u64,
}

/// Explains `calls` on one domain that was empty before, in the epoch with this base. The longest beginning of an order that agrees, and
/// the calls that could not follow it, if there is no whole one.
pub fn explain(mut calls: Vec<Call>, base: Token) -> Result<Done, (usize, Vec<Call>)> {
    calls.sort_by_key(|call| call.asked);
    let start = calls.first().map_or(Time(0), |call| call.now);
    let mut seen: HashSet<(Vec<u64>, u64)> = HashSet::new();
    let mut stack = vec![Frame::new(Placed::none(calls.len()), None, &calls)];
    let (mut best, mut stuck, mut given_up) = (0, Vec::new(), 0);
    while let Some(frame) = stack.last_mut() {
        let Some(next) = frame.candidates.pop() else {
            stack.pop();
            given_up += 1;
            continue;
        };
        // A domain is made by the first call that makes it, at that call's instant.
        let mut domain = frame.domain.clone();
        if !apply(&mut domain, &calls[next], start, base) {
            continue;
        }
        let placed = frame.placed.with(next);
        if placed.count == calls.len() {
            return Ok(Done { calls: calls.len(), given_up });
        }
        if placed.count > best {
            best = placed.count;
            stuck = minimal(&placed, &calls).iter().map(|i| calls[*i].clone()).collect();
        }
        if seen.insert((placed.bits.clone(), digest(domain.as_ref()))) {
            stack.push(Frame::new(placed, domain, &calls));
        }
    }
    if calls.is_empty() { Ok(Done { calls: 0, given_up }) } else { Err((best, stuck)) }
}

struct Frame {
    placed: Placed,
    domain: Option<Domain>,
    candidates: Vec<usize>,
}

impl Frame {
    fn new(placed: Placed, domain: Option<Domain>, calls: &[Call]) -> Frame {
        let mut candidates = minimal(&placed, calls);
        // Taken from the end: what was answered first is the likeliest to have happened first.
        candidates.sort_by_key(|i| std::cmp::Reverse(calls[*i].answered));
        Frame { placed, domain, candidates }
    }
}

/// Which calls are in the order already.
#[derive(Clone)]
struct Placed {
    bits: Vec<u64>,
    count: usize,
    /// All calls before this one are placed.
    from: usize,
}

impl Placed {
    fn none(calls: usize) -> Placed {
        Placed { bits: vec![0; calls.div_ceil(64)], count: 0, from: 0 }
    }

    fn has(&self, i: usize) -> bool {
        self.bits[i / 64] >> (i % 64) & 1 == 1
    }

    fn with(&self, i: usize) -> Placed {
        let mut placed = self.clone();
        placed.bits[i / 64] |= 1 << (i % 64);
        placed.count += 1;
        while placed.from < placed.bits.len() * 64 && placed.has(placed.from) {
            placed.from += 1;
        }
        placed
    }
}

/// The calls that may come next: those that were asked before any other of the rest was answered.
fn minimal(placed: &Placed, calls: &[Call]) -> Vec<usize> {
    let mut first_answer = u64::MAX;
    let mut next = Vec::new();
    for (i, call) in calls.iter().enumerate().skip(placed.from) {
        if call.asked > first_answer {
            break;
        }
        if !placed.has(i) {
            first_answer = first_answer.min(call.answered);
            next.push(i);
        }
    }
    next.retain(|i| calls[*i].asked < first_answer);
    next
}

/// Does a call, and says whether core answers the same.
fn apply(domain: &mut Option<Domain>, call: &Call, start: Time, base: Token) -> bool {
    let now = call.now;
    let asker = |holder, lease_ms| Asker { holder, lease_ms, base };
    match &call.did {
        Did::Acquire(it, answer) => {
            let domain = domain.get_or_insert_with(|| Domain::new(start));
            domain.acquire(it.offset, asker(it.holder.as_ref(), it.lease_ms), now) == *answer
        }
        Did::Skip(it, answer) => {
            domain.get_or_insert_with(|| Domain::new(start)).skip(it.offset, &Actor::default(), now) == *answer
        }
        Did::Succeed(held, answer) => known(domain, |domain| domain.succeed(held.token, now)) == *answer,
        Did::Fail(held, answer) => known(domain, |domain| domain.fail(held.token, now)) == *answer,
        Did::Beat(held, answer) => known(domain, |domain| domain.heartbeat(held.token, now)) == *answer,
        Did::Advance(it, answer) => {
            let asker = asker(it.holder.as_ref(), it.lease_ms);
            known(domain, |domain| domain.advance(it.token, it.next, asker, now)) == *answer
        }
    }
}

fn known<T>(domain: &mut Option<Domain>, verb: impl FnOnce(&mut Domain) -> Answer<T>) -> Answer<T> {
    domain.as_mut().map_or(Err(tenure_core::domain::Refused::LeaseNotFound), verb)
}

/// What later answers depend on: everything but the events.
fn digest(domain: Option<&Domain>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(Domain { record, book }) = domain {
        format!("{record:?}").hash(&mut hasher);
        book.ended.all().hash(&mut hasher);
        book.failed.as_ref().map(|failed| failed.all()).hash(&mut hasher);
        let waiting = book.backlog.as_ref().map_or_else(Vec::new, |backlog| backlog.all());
        waiting.iter().for_each(|(offset, since)| (offset, since.0).hash(&mut hasher));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(asked: u64, answered: u64, did: Did) -> Call {
        Call { asked, answered, now: Time(0), did }
    }

    fn acquire(asked: u64, answered: u64, offset: u64, answer: Acquired) -> Call {
        call(asked, answered, Did::Acquire(Acquire::new("a", offset), Ok(answer)))
    }

    const FIRST: Acquired = Acquired::Acquired { token: Token(1) };
    const WAITS: Acquired = Acquired::Enqueued { expired_offset: None };

    #[test]
    fn i21_calls_that_overlap_may_have_happened_in_either_order() {
        let calls = vec![acquire(0, 9, 1, WAITS), acquire(1, 8, 2, FIRST)];
        assert_eq!(explain(calls, Token(0)).unwrap().calls, 2);
    }

    #[test]
    fn i21_calls_that_do_not_overlap_happened_one_after_the_other() {
        let calls = vec![acquire(0, 1, 1, WAITS), acquire(2, 3, 2, FIRST)];
        assert!(explain(calls, Token(0)).is_err());
    }

    #[test]
    fn i21_two_holders_at_once_cannot_be_explained() {
        let calls = vec![acquire(0, 9, 1, FIRST), acquire(1, 8, 2, Acquired::Acquired { token: Token(2) })];
        assert!(explain(calls, Token(0)).is_err());
    }

    #[test]
    fn i21_a_hint_that_was_popped_cannot_be_explained() {
        let succeed = |asked, answer| call(asked, asked + 1, Did::Succeed(Held::new("a", Token(1)), Ok(answer)));
        let calls = |answer| {
            vec![acquire(0, 1, 1, FIRST), acquire(2, 3, 2, WAITS), succeed(4, answer), acquire(6, 7, 3, WAITS)]
        };
        assert!(explain(calls(Succeeded::NoBacklog), Token(0)).is_err());
        let (explained, stuck) = explain(calls(Succeeded::NextHint { offset: 2 }), Token(0)).unwrap_err();
        assert_eq!((explained, stuck.len()), (3, 1), "only the last call has no place");
    }
}
