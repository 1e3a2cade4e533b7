//! The operations of a walk, and how they are drawn.

use crate::conformance::walk::Chance;
use tenure_core::sync::{Act, State};

/// A small space, so that everything meets everything. The hashes are those of every matrix (I14).
pub(super) const MATRICES: [&str; 3] = ["m1", "m2", "é/3"];
pub(super) const HASHES: [&str; 6] = ["a", "b", "c", "d", "ü e", "f"];
/// Four workers, two of which carry the same name.
pub(super) const OWNERS: [&str; 4] = ["ann", "bob", "ann", "cleo"];
pub(super) const PAYLOADS: [&str; 3] = ["null", " [1.0,\t\"ü\"] ", "{\"b\":1}"];

#[derive(Clone, Debug)]
pub enum Op {
    Plan {
        matrix: usize,
        priority: i32,
        skip_ms: Option<u64>,
        attempts_max: u32,
        crashes_max: Option<u32>,
        chunks: Vec<(usize, usize)>,
    },
    Add {
        sync: usize,
        chunks: Vec<(usize, usize)>,
    },
    ClaimSync {
        owner: usize,
        lease_ms: u64,
        matrix: Option<usize>,
    },
    ClaimChunk {
        owner: usize,
        sync: usize,
        lease_ms: u64,
        hash: Option<usize>,
    },
    Beat(From),
    Finish(From, Act),
    /// An ending that was sent before, word for word, the nth most recent.
    Again(usize),
    /// The sync of a claim is completed as far as it goes: claim, complete, claim … then the sync itself.
    Drain(usize),
    Cancel(usize),
    Recover(u32),
    Prune(u32),
    Clock(Move),
    NewEpoch,
    List {
        matrix: Option<usize>,
        state: Option<State>,
        before: Option<usize>,
        limit: u32,
    },
    Chunks {
        sync: usize,
        state: Option<State>,
        after: u64,
        limit: u32,
    },
}

/// Whose claim a write presents, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct From {
    /// The nth most recent of those held, of those that are not, or of all.
    pub claim: Pick,
    pub twist: Twist,
}

#[derive(Clone, Copy, Debug)]
pub enum Pick {
    Held(usize),
    Expired(usize),
    Any(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Twist {
    None,
    Owner(usize),
    MadeUpToken,
    TokenOf(usize),
    NoSuchSync,
    /// The same hash, in the nth most recent sync.
    OtherSync(usize),
    /// Another hash of the same sync.
    OtherHash(usize),
}

/// How far the clock moves; never back.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    Micros(i64),
    /// To the deadline of the nth most recent held claim, or some microseconds off.
    ToDeadline(usize, i64),
}

pub(super) fn op(c: &mut Chance) -> Op {
    match c.below(200) {
        0..=13 => Op::Plan {
            matrix: c.below(3),
            priority: c.below(3) as i32 - 1,
            skip_ms: c.maybe(2, |c| [0, 400, 5_000][c.below(3)]),
            attempts_max: 1 + c.below(3) as u32,
            crashes_max: c.maybe(2, |c| 1 + c.below(2) as u32),
            chunks: chunks(c, 5),
        },
        14..=19 => Op::Add { sync: c.recent(), chunks: chunks(c, 3) },
        20..=33 => Op::ClaimSync { owner: c.below(4), lease_ms: lease(c), matrix: c.maybe(3, |c| c.below(3)) },
        34..=68 => {
            Op::ClaimChunk { owner: c.below(4), sync: c.recent(), lease_ms: lease(c), hash: c.maybe(4, |c| c.below(6)) }
        }
        69..=88 => Op::Beat(from(c)),
        89..=134 => Op::Finish(from(c), act(c)),
        135..=144 => Op::Again(c.recent()),
        145..=148 => Op::Drain(c.recent()),
        149..=151 => Op::Cancel(c.recent()),
        152..=160 => Op::Recover([1, 2, 100][c.below(3)]),
        161..=163 => Op::Prune([1, 2, 1_000][c.below(3)]),
        164..=184 => Op::Clock(clock(c)),
        185 => Op::NewEpoch,
        186..=191 => Op::List {
            matrix: c.maybe(3, |c| c.below(3)),
            state: c.maybe(2, |c| State::ALL[c.below(5)]),
            before: c.maybe(2, |c| c.below(10)),
            limit: 1 + c.below(4) as u32,
        },
        _ => Op::Chunks {
            sync: c.recent(),
            state: c.maybe(2, |c| State::ALL[c.below(5)]),
            after: c.below(4) as u64,
            limit: 1 + c.below(4) as u32,
        },
    }
}

/// Some of the hashes, each once.
fn chunks(c: &mut Chance, max: usize) -> Vec<(usize, usize)> {
    let mut hashes: Vec<usize> = (0..HASHES.len()).collect();
    (0..c.below(max + 1)).map(|_| (hashes.swap_remove(c.below(hashes.len())), c.below(3))).collect()
}

fn lease(c: &mut Chance) -> u64 {
    [100, 500, 500, 3_000, 60_000][c.below(5)]
}

fn from(c: &mut Chance) -> From {
    let claim = match c.below(10) {
        0..=6 => Pick::Held(c.below(4)),
        7..=8 => Pick::Expired(c.below(4)),
        _ => Pick::Any(c.recent()),
    };
    let twist = match c.below(24) {
        0 => Twist::Owner(c.below(4)),
        1 => Twist::MadeUpToken,
        2 => Twist::TokenOf(c.recent()),
        3 => Twist::NoSuchSync,
        4 => Twist::OtherSync(c.recent()),
        5 => Twist::OtherHash(c.below(6)),
        _ => Twist::None,
    };
    From { claim, twist }
}

fn act(c: &mut Chance) -> Act {
    match c.below(10) {
        0..=4 => Act::Complete {
            row_count: c.maybe(2, |c| c.below(1_000) as u64),
            cursor: c.maybe(3, |c| c.below(9).to_string()),
        },
        5..=7 => Act::Fail { error: format!("error {}", c.below(5)), retry: !c.one_in(5) },
        _ => Act::Release,
    }
}

fn clock(c: &mut Chance) -> Move {
    match c.below(20) {
        0..=7 => Move::Micros(c.below(300_000) as i64),
        8..=10 => Move::Micros(c.below(3_000_000) as i64),
        11..=17 => Move::ToDeadline(c.below(4), c.below(3) as i64 - 1),
        18 => Move::Micros(c.below(4_000_000_000) as i64),
        _ => Move::Micros(if c.one_in(2) { 604_800_000_000 } else { 3_600_000_000 }),
    }
}
