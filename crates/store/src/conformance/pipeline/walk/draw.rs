//! The operations of a walk, and how they are drawn from a seed.
//!
//! Always true: an operation names runs and claims by how recent they are, so that a list of operations still means
//! something after some of them were deleted.

use tenure_core::pipeline::{Definition, Stage};
use tenure_core::retry::Backoff;
use tenure_core::retry::Retry;

/// Four workers, two of which carry the same name (A2).
pub(super) const OWNERS: [&str; 4] = ["ann", "bob", "ann", "cleo"];

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) second_handle: bool,
    pub(super) op: Op,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
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
pub(super) struct Renewal {
    pub(super) from: From,
    pub(super) progress: bool,
    pub(super) record: Option<u8>,
}

/// Whose claim a write presents, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    /// Among those that are held, by the walk's own account, or among all.
    pub(super) held: bool,
    pub(super) nth: usize,
    pub(super) twist: Twist,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Twist {
    None,
    Owner(usize),
    MadeUpToken,
    TokenOf(usize),
    NoSuchRun,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Drawn {
    Complete { output: u8, record: Option<u8> },
    Fail(Retry),
    Release,
    Split(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    Cancel,
    Retry,
    RetryFrom(usize),
    Repair { stage: usize, segment: Option<usize>, also: Option<usize> },
    Pause,
    Resume,
}

/// How far the clock moves; never back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Micros(i64),
    /// To the deadline of the nth most recent claim, or a microsecond off.
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

/// A walk of `steps` operations. It begins with the definitions, so that the rest means something.
pub(super) fn draw(seed: u64, steps: u32) -> Vec<Step> {
    let mut chance = Chance(seed);
    let first = (0..3).map(|definition| Step { second_handle: false, op: Op::Apply(definition) });
    let rest = (3..steps).map(|_| Step { second_handle: chance.below(3) == 0, op: op(&mut chance) });
    first.chain(rest).collect()
}

fn op(c: &mut Chance) -> Op {
    match c.below(200) {
        0 => Op::Apply(c.below(4)),
        1..=9 => {
            let key = (c.below(4) == 0).then(|| (c.below(3), c.below(3)));
            Op::Start { definition: c.below(3), version: c.below(3) == 0, key }
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
            let lease_ms = (c.below(3) == 0).then(|| 100 + c.below(5_000) as u64);
            Op::Claim { pipeline, stages, owner: c.below(4), max: 1 + c.below(4) as u32, lease_ms }
        }
        65..=79 => {
            let count = if c.below(2) == 0 { 1 } else { 2 + c.below(4) };
            let one = |_| Renewal { from: from(c), progress: c.below(2) == 0, record: c.some(2) };
            Op::Beat((0..count).map(one).collect())
        }
        80..=134 => Op::Finish { from: from(c), act: act(c) },
        135..=139 => Op::Again(c.recent()),
        140..=165 => Op::Advance { max: if c.below(4) == 0 { 1 } else { 50 } },
        166..=170 => Op::Recover { max: 1 + c.below(4) as u32 },
        171..=182 => Op::Operate { run: c.recent(), action: doing(c) },
        183..=193 => Op::Clock(match c.below(20) {
            0 => Move::Retention { short: c.below(2) == 0 },
            1..=5 => Move::ToDeadline(c.recent(), c.below(3) as i64 - 1),
            6..=12 => Move::Micros(c.below(2_000_000) as i64),
            _ => Move::Micros(c.below(12_000_000) as i64),
        }),
        194 => Op::NewEpoch,
        195 => Op::Prune,
        _ => Op::List {
            pipeline: (c.below(2) == 0).then(|| c.below(2)),
            status: (c.below(2) == 0).then(|| c.below(3)),
            before: (c.below(2) == 0).then(|| c.recent()),
            limit: 1 + c.below(5) as u32,
        },
    }
}

fn from(c: &mut Chance) -> From {
    let twist = match c.below(24) {
        0 => Twist::Owner(c.below(4)),
        1 => Twist::MadeUpToken,
        2 => Twist::TokenOf(c.recent()),
        3 => Twist::NoSuchRun,
        _ => Twist::None,
    };
    From { held: c.below(6) > 0, nth: c.recent(), twist }
}

fn act(c: &mut Chance) -> Drawn {
    match c.below(20) {
        0..=9 => Drawn::Complete { output: c.below(200) as u8, record: c.some(3) },
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
        7..=10 => Doing::Repair {
            stage: c.below(5),
            segment: (c.below(2) == 0).then(|| c.below(4)),
            also: (c.below(3) == 0).then(|| c.below(5)),
        },
        11 => Doing::Pause,
        _ => Doing::Resume,
    }
}

struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn some(&mut self, one_in: usize) -> Option<u8> {
        (self.below(one_in) == 0).then(|| self.below(200) as u8)
    }

    /// Mostly the latest, sometimes long ago.
    fn recent(&mut self) -> usize {
        match self.below(8) {
            0..=4 => self.below(4),
            5..=6 => self.below(12),
            _ => self.below(60),
        }
    }
}
