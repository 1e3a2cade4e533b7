//! The operations of a walk, drawn from a seed.
//!
//! Always true: an operation names jobs and claims by how recent they are, never by id, so that a list of operations
//! means something on every store and still does after some of them were deleted.

use tenure_core::queue::{Act, Retry, Status};
use tenure_core::retry::Backoff;

/// A small space, so that everything meets everything.
pub(super) const QUEUES: [&str; 3] = ["q", "r", "s.1"];
pub(super) const KINDS: [&str; 3] = ["x", "y", "z"];
/// Four workers, two of which carry the same name (A2).
pub(super) const OWNERS: [&str; 4] = ["ann", "bob", "ann", "cleo"];

/// One operation, sent through the first or the second handle of the store.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) second_handle: bool,
    pub(super) op: Op,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Enqueue(Vec<Sketch>),
    Claim {
        owner: usize,
        queues: Vec<usize>,
        kinds: Option<Vec<usize>>,
        max: u32,
        lease_ms: u64,
        shared: Option<u32>,
    },
    Start {
        from: From,
        count: u32,
    },
    Beat(Vec<(From, Beating)>),
    Finish(Vec<(From, Act)>),
    /// An ending that was sent before, word for word, the nth most recent.
    Again(usize),
    Recover {
        leases_max: u32,
    },
    Clock(Move),
    NewEpoch,
    Job(usize),
    Jobs {
        queue: Option<usize>,
        kind: Option<usize>,
        status: Option<Status>,
        before: Option<usize>,
        limit: u32,
    },
    Queues {
        after: Option<usize>,
        limit: u32,
    },
}

/// A job to enqueue.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    pub(super) queue: usize,
    pub(super) kind: usize,
    pub(super) payload: &'static str,
    pub(super) priority: i32,
    /// Microseconds from now, either way.
    pub(super) run_in: Option<i64>,
    pub(super) attempts_max: u32,
    pub(super) backoff: Option<Backoff>,
}

/// Whose claim a write presents, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    pub(super) claim: Pick,
    pub(super) twist: Twist,
}

/// The nth most recent claim among some.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pick {
    /// Those that are held.
    Held(usize),
    /// Those that ran out.
    Expired(usize),
    /// All.
    Any(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Twist {
    None,
    /// Someone else's name (which may be the same).
    Owner(usize),
    /// A token nobody was ever given.
    MadeUpToken,
    /// The token of the nth most recent claim.
    TokenOf(usize),
    /// An id that is not on record.
    NoSuchJob,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Beating {
    /// Without naming a job, if the lease is a shared one.
    pub(super) whole: bool,
    pub(super) progress: Option<u8>,
    pub(super) checkpoint: Option<u8>,
}

/// How far the clock moves; never back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Micros(i64),
    /// Exactly to the deadline of the nth most recent held claim, or some microseconds off.
    ToDeadline(usize, i64),
    /// To when the nth most recent job is due.
    ToDue(usize),
}

impl Op {
    /// The same operation with one of its parts left out, each way.
    pub(super) fn thinner(&self) -> Vec<Op> {
        fn without_one<T: Clone>(parts: &[T], op: impl Fn(Vec<T>) -> Op) -> Vec<Op> {
            let without = |i: usize| parts[..i].iter().chain(&parts[i + 1..]).cloned().collect();
            (0..parts.len()).filter(|_| parts.len() > 1).map(|i| op(without(i))).collect()
        }
        match self {
            Op::Enqueue(parts) => without_one(parts, Op::Enqueue),
            Op::Beat(parts) => without_one(parts, Op::Beat),
            Op::Finish(parts) => without_one(parts, Op::Finish),
            _ => Vec::new(),
        }
    }
}

/// A walk of `steps` operations.
pub(super) fn draw(seed: u64, steps: u32) -> Vec<Step> {
    let mut chance = Chance(seed);
    (0..steps).map(|_| Step { second_handle: chance.one_in(3), op: op(&mut chance) }).collect()
}

fn op(c: &mut Chance) -> Op {
    match c.below(200) {
        0..=17 => Op::Enqueue((0..1 + c.below(3)).map(|_| sketch(c)).collect()),
        18..=57 => claim(c),
        58..=65 => Op::Start { from: from(c), count: c.below(5) as u32 },
        66..=88 => Op::Beat((0..few(c)).map(|_| (from(c), beating(c))).collect()),
        89..=139 => Op::Finish((0..few(c)).map(|_| (from(c), act(c))).collect()),
        140..=151 => Op::Again(c.recent()),
        152..=162 => Op::Recover { leases_max: [1, 1, 2, 3, 100][c.below(5)] },
        163..=184 => Op::Clock(clock(c)),
        185 => Op::NewEpoch,
        186..=191 => Op::Job(c.recent()),
        192..=197 => Op::Jobs {
            queue: c.maybe(3, |c| c.below(3)),
            kind: c.maybe(3, |c| c.below(3)),
            status: c.maybe(2, |c| Status::ALL[c.below(4)]),
            before: c.maybe(2, |c| c.below(40)),
            limit: 1 + c.below(8) as u32,
        },
        _ => Op::Queues { after: c.maybe(2, |c| c.below(3)), limit: 1 + c.below(3) as u32 },
    }
}

fn few(c: &mut Chance) -> usize {
    [1, 1, 1, 2, 3][c.below(5)]
}

fn sketch(c: &mut Chance) -> Sketch {
    const PAYLOADS: [&str; 4] = ["{}", " [1.0,\t\"ü\\u0041\"] ", "null", "{\"b\":1,\"a\":{\"c\":[]}}"];
    const BACKOFFS: [Backoff; 3] = [
        Backoff { initial_ms: 0, factor: 1.0, max_ms: 0, jitter: 0.0 },
        Backoff { initial_ms: 700, factor: 1.7, max_ms: 2_500, jitter: 1.0 },
        Backoff { initial_ms: 333, factor: 3.0, max_ms: 60_000, jitter: 0.3 },
    ];
    Sketch {
        queue: c.below(3),
        kind: c.below(3),
        payload: PAYLOADS[c.below(4)],
        priority: [0, 0, 0, 1, 1, -1, i32::MAX, i32::MIN][c.below(8)],
        run_in: c.maybe(3, |c| [-3_600_000_000, -1, 0, 1, 500_000, 4_000_000, 9_000_001][c.below(7)]),
        attempts_max: [1, 2, 2, 3, 5][c.below(5)],
        backoff: c.maybe(3, |c| BACKOFFS[c.below(3)]),
    }
}

fn claim(c: &mut Chance) -> Op {
    let queues = match c.below(4) {
        0 => vec![c.below(3)],
        1 => vec![c.below(3), c.below(3)],
        _ => vec![2, 0, 1],
    };
    Op::Claim {
        owner: c.below(4),
        queues,
        kinds: c.maybe(4, |c| vec![c.below(3), c.below(3)]),
        max: [1, 1, 2, 3, 4][c.below(5)],
        lease_ms: [100, 1_000, 1_000, 5_000, 30_000][c.below(5)],
        shared: c.maybe(2, |c| [0, 1, 1, 2, 9][c.below(5)]),
    }
}

fn from(c: &mut Chance) -> From {
    let claim = match c.below(10) {
        0..=5 => Pick::Held(c.recent()),
        6..=7 => Pick::Expired(c.recent()),
        _ => Pick::Any(c.recent()),
    };
    let twist = match c.below(16) {
        0 => Twist::Owner(c.below(4)),
        1 => Twist::MadeUpToken,
        2 => Twist::TokenOf(c.recent()),
        3 if c.one_in(3) => Twist::NoSuchJob,
        _ => Twist::None,
    };
    From { claim, twist }
}

fn beating(c: &mut Chance) -> Beating {
    Beating {
        whole: c.one_in(2),
        progress: c.maybe(3, |c| c.below(256) as u8),
        checkpoint: c.maybe(3, |c| c.below(256) as u8),
    }
}

fn act(c: &mut Chance) -> Act {
    match c.below(12) {
        0..=3 => Act::Complete { result: c.maybe(2, |c| format!(" {{\"n\": {}}}", c.below(100))) },
        4..=7 => {
            let retry = match c.below(6) {
                0..=2 => Retry::Policy { chance: c.signed_unit() },
                3 => Retry::In { delay_ms: 0 },
                4 => Retry::In { delay_ms: [1, 250, 3_000][c.below(3)] },
                _ => Retry::Never,
            };
            Act::Fail { error: format!("broke: {}", "é".repeat(c.below(400))), retry }
        }
        8..=9 => Act::Snooze { delay_ms: [0, 1, 400, 2_500][c.below(4)] },
        _ => Act::Release,
    }
}

fn clock(c: &mut Chance) -> Move {
    match c.below(10) {
        0..=4 => Move::Micros([1, 999, 40_000, 100_000, 700_000, 1_000_000, 6_000_000, 31_000_000][c.below(8)]),
        5..=7 => Move::ToDeadline(c.recent(), [-1, 0, 0, 1][c.below(4)]),
        _ => Move::ToDue(c.recent()),
    }
}

/// Splitmix64: small, seedable, and the same everywhere.
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

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn maybe<T>(&mut self, one_in: usize, some: impl FnOnce(&mut Chance) -> T) -> Option<T> {
        self.one_in(one_in).then(|| some(self))
    }

    /// Mostly the latest, sometimes long ago.
    fn recent(&mut self) -> usize {
        match self.below(8) {
            0..=4 => self.below(3),
            5..=6 => self.below(12),
            _ => self.below(100),
        }
    }

    fn signed_unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
}
