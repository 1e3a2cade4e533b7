//! The operations of a walk, and how they are drawn.

use crate::conformance::walk::Chance;

/// Names that schedules of a walk have.
pub(super) const NAMES: [&str; 3] = ["s", "s-1", "S"];
/// Definitions that a walk puts; see `run::definition`.
pub(super) const DEFINITIONS: usize = 6;

/// What a write names as the revision it saw.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    /// The one that is there.
    Current,
    /// One of an earlier look.
    Older,
    /// None.
    Nothing,
}

#[derive(Clone, Debug)]
pub enum Op {
    /// A definition; its first slot so many seconds from now, or none.
    Put {
        name: usize,
        definition: usize,
        paused: bool,
        seen: Seen,
        next_in: Option<i64>,
    },
    Remove(usize),
    /// Slots so many seconds after the cursor, each step from the last; some dropped before them.
    Fire {
        name: usize,
        seen: Seen,
        from: i64,
        steps: Vec<i64>,
        missed: u32,
        then: i64,
    },
    /// Seconds, also back.
    Clock(i64),
    Due(u32),
    List {
        after: Option<usize>,
        limit: u32,
    },
    Firings {
        name: usize,
        below: Option<i64>,
        limit: u32,
    },
}

pub(super) fn op(c: &mut Chance) -> Op {
    let name = c.below(NAMES.len());
    match c.below(100) {
        0..=17 => Op::Put {
            name,
            definition: c.below(DEFINITIONS),
            paused: c.one_in(5),
            seen: seen(c),
            next_in: (!c.one_in(20)).then(|| c.below(40) as i64 - 4),
        },
        18..=19 => Op::Remove(name),
        20..=64 => Op::Fire {
            name,
            seen: seen(c),
            from: if c.one_in(8) { c.below(5) as i64 - 3 } else { 0 },
            steps: steps_between(c),
            missed: if c.one_in(4) { c.below(5) as u32 } else { 0 },
            then: if c.one_in(12) { -(c.below(3) as i64) } else { 1 + c.below(20) as i64 },
        },
        65..=84 => Op::Clock(match c.below(8) {
            0 => -(c.below(30) as i64),
            1 => 3_600,
            _ => c.below(25) as i64,
        }),
        85..=90 => Op::Due(1 + c.below(3) as u32),
        91..=94 => Op::List { after: c.maybe(2, |c| c.below(NAMES.len())), limit: 1 + c.below(3) as u32 },
        _ => Op::Firings {
            name,
            below: c.maybe(2, |c| c.below(60) as i64),
            limit: if c.one_in(2) { 1_000 } else { 1 + c.below(5) as u32 },
        },
    }
}

fn seen(c: &mut Chance) -> Seen {
    match c.below(12) {
        0 => Seen::Older,
        1 => Seen::Nothing,
        _ => Seen::Current,
    }
}

/// Mostly one slot, sometimes many, sometimes none, sometimes not onward.
fn steps_between(c: &mut Chance) -> Vec<i64> {
    let count = [1, 1, 1, 1, 1, 0, 2, 3, 40][c.below(9)];
    let backward = c.one_in(12);
    (0..count).map(|_| if backward && c.one_in(2) { -(c.below(2) as i64) } else { 1 + c.below(3) as i64 }).collect()
}
