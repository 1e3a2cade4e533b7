//! The operations of a walk.

use crate::conformance::walk::From;
use tenure_core::queue::{Act, Action, Change, Status};
use tenure_core::retry::Backoff;

/// A small space, so that everything meets everything.
pub(super) const QUEUES: [&str; 3] = ["q", "r", "s.1"];
pub(super) const KINDS: [&str; 3] = ["x", "y", "z"];
/// Dedup keys, lanes and tenants; some names serve as two of them, and mean nothing to each other.
pub(super) const KEYS: [&str; 4] = ["k1", "k2", "é/3", "one"];
pub(super) const LANES: [&str; 3] = ["l1", "l2", "one"];
pub(super) const TENANTS: [&str; 3] = ["t1", "t2", "one"];
/// Payloads, each with the number of its value: those of one number are the same body (Q7).
pub(super) const PAYLOADS: [(&str, usize); 7] = [
    ("{}", 0),
    (" [1.0,\t\"ü\\u0041\"] ", 1),
    ("null", 2),
    ("{\"b\":1,\"a\":{\"c\":[]}}", 3),
    ("{ }", 0),
    ("[1, \"\\u00fcA\"]", 1),
    ("{\"a\":{\"c\":[]},\"b\":10e-1}", 3),
];

/// One operation.
#[derive(Clone, Debug)]
pub enum Op {
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
    Change {
        queue: usize,
        change: Change,
    },
    Limit(Option<u32>),
    Operate(Vec<(Target, Action)>),
    /// Step by step, at most so many at a time, until nothing is left to remove.
    Prune {
        max: u32,
    },
    /// Why the nth most recent job is not running.
    Explain(usize),
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
    Workers {
        after: Option<usize>,
        limit: u32,
    },
}

/// A job to enqueue.
#[derive(Clone, Debug)]
pub struct Sketch {
    pub queue: usize,
    pub kind: usize,
    /// Which of [`PAYLOADS`].
    pub payload: usize,
    pub priority: i32,
    /// Microseconds from now, either way.
    pub run_in: Option<i64>,
    pub attempts_max: u32,
    pub backoff: Option<Backoff>,
    pub timeout_ms: Option<u64>,
    pub key: Option<usize>,
    pub key_window_ms: Option<u64>,
    pub lane: Option<usize>,
    pub tenant: Option<usize>,
}

/// The job an operator means.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The nth most recent that waits, is claimed, or has ended.
    In(Status, usize),
    /// The nth most recent.
    Any(usize),
    /// An id that is not on record.
    NoSuchJob,
}

#[derive(Clone, Copy, Debug)]
pub struct Beating {
    /// Without naming a job, if the lease is a shared one.
    pub whole: bool,
    pub progress: Option<u8>,
    pub checkpoint: Option<u8>,
}

/// How far the clock moves; never back.
#[derive(Clone, Copy, Debug)]
pub enum Move {
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
            Op::Operate(parts) => without_one(parts, Op::Operate),
            _ => Vec::new(),
        }
    }
}
