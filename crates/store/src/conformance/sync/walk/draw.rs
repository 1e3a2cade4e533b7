//! The operations of a walk, and how they are drawn.

use crate::conformance::walk::{Chance, From};
use tenure_core::sync::{Act, State};

/// A small space, so that everything meets everything. The hashes are those of every matrix (I14).
pub(super) const MATRICES: [&str; 3] = ["m1", "m2", "é/3"];
pub(super) const HASHES: [&str; 6] = ["a", "b", "c", "d", "ü e", "f"];
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
    Beat(From, Option<Elsewhere>),
    Finish(From, Option<Elsewhere>, Act),
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

/// Another unit than the one that was claimed.
#[derive(Clone, Copy, Debug)]
pub enum Elsewhere {
    /// The same hash, in a sync that is not on record.
    NoSync,
    /// The same hash, in the nth most recent sync.
    Sync(usize),
    /// Another hash of the same sync.
    Hash(usize),
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
        69..=88 => Op::Beat(From::draw(c), elsewhere(c)),
        89..=134 => Op::Finish(From::draw(c), elsewhere(c), act(c)),
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

fn elsewhere(c: &mut Chance) -> Option<Elsewhere> {
    c.maybe(10, |c| match c.below(3) {
        0 => Elsewhere::NoSync,
        1 => Elsewhere::Sync(c.recent()),
        _ => Elsewhere::Hash(c.below(6)),
    })
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
