//! The operations of a walk, and how they are drawn.

use crate::conformance::walk::{Chance, From};
use tenure_core::pipeline::{Definition, Stage};
use tenure_core::retry::Backoff;
use tenure_core::retry::Retry;

#[derive(Clone, Debug)]
pub enum Op {
    Apply(usize),
    Start {
        definition: usize,
        version: bool,
        /// A key, and one of the inputs that go with keys.
        key: Option<(usize, usize)>,
    },
    Claim {
        pipeline: usize,
        stages: Vec<usize>,
        owner: usize,
        max: u32,
        lease_ms: Option<u64>,
    },
    /// Heartbeats in one call; the same unit may be among them twice.
    Beat(Vec<Renewal>),
    Finish {
        from: From,
        act: Drawn,
    },
    /// An ending that was sent before, word for word, the nth most recent.
    Again(usize),
    Advance {
        max: u32,
    },
    Recover {
        max: u32,
    },
    Operate {
        run: usize,
        action: Doing,
    },
    Clock(Move),
    NewEpoch,
    Prune,
    List {
        pipeline: Option<usize>,
        status: Option<usize>,
        before: Option<usize>,
        limit: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Renewal {
    pub from: From,
    pub progress: bool,
    pub record: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
pub enum Drawn {
    Complete { output: u8, record: Option<u8> },
    Fail(Retry),
    Release,
    Split(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Doing {
    Cancel,
    Retry,
    RetryFrom(usize),
    Repair { stage: usize, segment: Option<usize>, also: Option<usize> },
    Pause,
    Resume,
}

/// How far the clock moves; never back.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    Micros(i64),
    /// To the deadline of the nth most recent held claim, or a microsecond off.
    ToDeadline(usize, i64),
    /// The time that a settled run is kept, or an hour less.
    Retention {
        short: bool,
    },
}

/// A small space, so that everything meets everything. The fourth contradicts the first.
pub(super) fn definitions() -> [Definition; 4] {
    let slow = Backoff { initial_ms: 700, factor: 3.0, max_ms: 5_000, jitter: 0.5 };
    let first = Definition::new("p")
        .stage(Stage::new("a").attempts_max(2).backoff(slow))
        .stage(Stage::new("b").needs(["a"]).segmented().attempts_max(2).lease_ms(2_000))
        .stage(Stage::new("c").needs(["a"]).attempts_max(1))
        .stage(Stage::new("d").needs(["b", "c"]));
    let second = Definition::new("p")
        .version(2)
        .stage(Stage::new("a"))
        .stage(Stage::new("b").needs(["a"]).segmented().priority(3).attempts_max(3))
        .stage(Stage::new("e").needs(["b"]).priority(-1));
    let third = Definition::new("q")
        .stage(Stage::new("a").attempts_max(1))
        .stage(Stage::new("b").segmented().attempts_max(1))
        .stage(Stage::new("d").needs(["b", "a"]).segmented().attempts_max(2));
    let against = Definition::new("p").stage(Stage::new("a"));
    [first, second, third, against]
}

/// The inputs of runs with a key: the first two are one value, written otherwise.
pub(super) const KEYED_INPUTS: [&str; 3] = [r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, "[]"];

/// The stages that operations name; not every pipeline has each.
pub(super) const STAGES: [&str; 6] = ["a", "b", "c", "d", "e", "z"];

pub(super) fn op(c: &mut Chance) -> Op {
    match c.below(200) {
        0 => Op::Apply(c.below(4)),
        1..=9 => {
            let key = c.maybe(4, |c| (c.below(3), c.below(3)));
            Op::Start { definition: c.below(3), version: c.one_in(3), key }
        }
        10..=64 => {
            // Mostly what the pipeline has: `q` knows no `c` and no `e`, and nobody knows the last.
            let pipeline = c.below(2);
            let known: &[usize] = if pipeline == 0 { &[0, 1, 2, 3, 4] } else { &[0, 1, 3] };
            let stages = (0..1 + c.below(4)).map(|_| match c.below(40) {
                0 => c.below(6),
                n => known[n % known.len()],
            });
            let stages = stages.collect();
            let lease_ms = c.maybe(3, |c| 100 + c.below(5_000) as u64);
            Op::Claim { pipeline, stages, owner: c.below(4), max: 1 + c.below(4) as u32, lease_ms }
        }
        65..=79 => {
            let count = if c.one_in(2) { 1 } else { 2 + c.below(4) };
            let one = |_| Renewal { from: From::draw(c), progress: c.one_in(2), record: c.maybe(2, small) };
            Op::Beat((0..count).map(one).collect())
        }
        80..=134 => Op::Finish { from: From::draw(c), act: act(c) },
        135..=139 => Op::Again(c.recent()),
        140..=165 => Op::Advance { max: if c.one_in(4) { 1 } else { 50 } },
        166..=170 => Op::Recover { max: 1 + c.below(4) as u32 },
        171..=182 => Op::Operate { run: c.recent(), action: doing(c) },
        183..=193 => Op::Clock(match c.below(20) {
            0 => Move::Retention { short: c.one_in(2) },
            1..=5 => Move::ToDeadline(c.recent(), c.below(3) as i64 - 1),
            6..=12 => Move::Micros(c.below(2_000_000) as i64),
            _ => Move::Micros(c.below(12_000_000) as i64),
        }),
        194 => Op::NewEpoch,
        195 => Op::Prune,
        _ => Op::List {
            pipeline: c.maybe(2, |c| c.below(2)),
            status: c.maybe(2, |c| c.below(3)),
            before: c.maybe(2, |c| c.recent()),
            limit: 1 + c.below(5) as u32,
        },
    }
}

fn act(c: &mut Chance) -> Drawn {
    match c.below(20) {
        0..=9 => Drawn::Complete { output: small(c), record: c.maybe(3, small) },
        10 => Drawn::Release,
        11..=13 => Drawn::Split(1 + c.below(3)),
        14 => Drawn::Fail(Retry::Never),
        15 => Drawn::Fail(Retry::Cancel),
        16 => Drawn::Fail(Retry::In { delay_ms: c.below(3_000) as u64 }),
        _ => Drawn::Fail(Retry::Policy { chance: c.below(2_001) as f64 / 1_000.0 - 1.0 }),
    }
}

fn doing(c: &mut Chance) -> Doing {
    match c.below(14) {
        0 => Doing::Cancel,
        1..=4 => Doing::Retry,
        5..=6 => Doing::RetryFrom(c.below(6)),
        7..=10 => {
            Doing::Repair { stage: c.below(5), segment: c.maybe(2, |c| c.below(4)), also: c.maybe(3, |c| c.below(5)) }
        }
        11 => Doing::Pause,
        _ => Doing::Resume,
    }
}

fn small(c: &mut Chance) -> u8 {
    c.below(200) as u8
}
