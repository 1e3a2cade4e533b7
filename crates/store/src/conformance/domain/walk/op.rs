//! The operations of a walk, and how they are drawn. What they name is looked up when they are applied, so that a list
//! with some taken out still makes sense.

use crate::conformance::walk::Chance;
use tenure_core::domain::{Change, State};

/// A few domains, so that calls meet; one with a name that needs quoting.
pub(super) const DOMAINS: [&str; 5] = ["a", "b", "acct/42", "ключ 'x'", "z"];
pub(super) const HOLDERS: [&str; 3] = ["bob", "eve", "host:1"];

#[derive(Clone, Debug)]
pub enum Op {
    Acquire(Vec<Ask>),
    Succeed(Vec<Write>),
    Fail(Vec<Write>),
    Beat(Vec<Write>),
    Advance(Vec<(Write, Ask)>),
    Skip(Vec<(usize, Which)>),
    Change(usize, Change),
    Recover(u32),
    Clock(Move),
    NewEpoch,
    Look(usize),
    List { after: Option<usize>, state: Option<State>, limit: u32 },
}

/// An acquire; in an advance, the offset is left out where it is `Nothing`.
#[derive(Clone, Debug)]
pub struct Ask {
    pub domain: usize,
    pub offset: Which,
    pub holder: Option<usize>,
    pub lease_ms: Option<u64>,
}

/// A write under a token.
#[derive(Clone, Debug)]
pub struct Write {
    pub domain: usize,
    pub token: Pick,
}

/// Which offset.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    Nothing,
    Head,
    InFlight,
    /// One beyond the largest ever named.
    Fresh,
    Any(u64),
}

/// Which token.
#[derive(Clone, Copy, Debug)]
pub enum Pick {
    Held,
    /// One that was told earlier in this domain, so many ago.
    Earlier(usize),
    MadeUp(i64),
}

#[derive(Clone, Copy, Debug)]
pub enum Move {
    Micros(i64),
    /// To the deadline of this domain's lease, and a little beside it.
    ToDeadline(usize, i64),
}

impl Op {
    /// The same operation with one item less.
    pub(super) fn thinner(&self) -> Vec<Op> {
        fn without<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
            if items.len() < 2 {
                return Vec::new();
            }
            let all = (0..items.len()).map(|i| [&items[..i], &items[i + 1..]].concat());
            all.collect()
        }
        match self {
            Op::Acquire(items) => without(items).into_iter().map(Op::Acquire).collect(),
            Op::Succeed(items) => without(items).into_iter().map(Op::Succeed).collect(),
            Op::Fail(items) => without(items).into_iter().map(Op::Fail).collect(),
            Op::Beat(items) => without(items).into_iter().map(Op::Beat).collect(),
            Op::Advance(items) => without(items).into_iter().map(Op::Advance).collect(),
            Op::Skip(items) => without(items).into_iter().map(Op::Skip).collect(),
            Op::Change(..) | Op::Recover(_) | Op::Clock(_) | Op::NewEpoch | Op::Look(_) | Op::List { .. } => Vec::new(),
        }
    }
}

pub(super) fn op(c: &mut Chance) -> Op {
    match c.below(100) {
        0..=35 => Op::Acquire(few(c, ask)),
        36..=50 => Op::Succeed(few(c, write)),
        51..=58 => Op::Fail(few(c, write)),
        59..=64 => Op::Beat(few(c, write)),
        65..=73 => Op::Advance(few(c, |c| (write(c), ask(c)))),
        74..=76 => Op::Skip(few(c, |c| (domain(c), which(c)))),
        77..=80 => Op::Change(domain(c), change(c)),
        81..=84 => Op::Recover([1, 1, 2, 100][c.below(4)]),
        85..=91 => Op::Clock(match c.below(3) {
            0 => Move::ToDeadline(domain(c), [-1, 0, 0, 1][c.below(4)]),
            1 => Move::Micros(c.below(200_000) as i64),
            _ => Move::Micros(c.below(3_000_000) as i64),
        }),
        92 => Op::NewEpoch,
        93..=95 => Op::Look(domain(c)),
        _ => Op::List {
            after: c.mostly(2, domain),
            state: [None, Some(State::Blocked), Some(State::Expired)][c.below(3)],
            limit: 1 + c.below(4) as u32,
        },
    }
}

fn few<T>(c: &mut Chance, item: impl Fn(&mut Chance) -> T) -> Vec<T> {
    let count = [1, 1, 1, 2, 3, 5][c.below(6)];
    (0..count).map(|_| item(c)).collect()
}

/// The first ones more often: some domains are to grow old.
fn domain(c: &mut Chance) -> usize {
    c.below(DOMAINS.len()).min(c.below(DOMAINS.len()))
}

fn ask(c: &mut Chance) -> Ask {
    Ask {
        domain: domain(c),
        offset: which(c),
        holder: c.mostly(3, |c| c.below(HOLDERS.len())),
        lease_ms: c.mostly(2, |c| [100, 1_000, 60_000][c.below(3)]),
    }
}

fn write(c: &mut Chance) -> Write {
    let token = match c.below(10) {
        0 => Pick::Earlier(c.below(5)),
        1 => Pick::MadeUp([0, 1, 7, i64::MAX][c.below(4)]),
        _ => Pick::Held,
    };
    Write { domain: domain(c), token }
}

fn which(c: &mut Chance) -> Which {
    match c.below(12) {
        0 => Which::Nothing,
        1..=3 => Which::Head,
        4 | 5 => Which::InFlight,
        6..=8 => Which::Fresh,
        _ => Which::Any(c.below(30) as u64),
    }
}

fn change(c: &mut Chance) -> Change {
    Change {
        max_retries: c.mostly(2, |c| c.mostly(1, |c| c.below(3) as u32)),
        takeovers_max: c.mostly(2, |c| c.mostly(2, |c| 1 + c.below(2) as u32)),
    }
}
