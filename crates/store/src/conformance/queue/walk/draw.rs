//! Draws the operations of a walk from a seed.

use super::op::{Beating, KEYS, LANES, Move, Op, PAYLOADS, Sketch, TENANTS, Target};
use crate::conformance::walk::{Chance, From};
use tenure_core::queue::{Act, Action, Change, LaneOnFailure, Rate, Status};
use tenure_core::retry::Backoff;
use tenure_core::retry::Retry;

pub(super) fn op(c: &mut Chance) -> Op {
    match c.below(243) {
        0..=17 => Op::Enqueue((0..1 + c.below(3)).map(|_| sketch(c)).collect()),
        18..=57 => claim(c),
        58..=65 => Op::Start { from: From::draw(c), count: c.below(5) as u32 },
        66..=88 => Op::Beat((0..few(c)).map(|_| (From::draw(c), beating(c))).collect()),
        89..=139 => Op::Finish((0..few(c)).map(|_| (From::draw(c), act(c))).collect()),
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
        198..=199 => Op::Queues { after: c.maybe(2, |c| c.below(3)), limit: 1 + c.below(3) as u32 },
        200..=210 => Op::Change { queue: c.below(3), change: change(c) },
        211..=214 => Op::Limit(c.maybe(2, |c| 1 + c.below(6) as u32)),
        215..=227 => Op::Operate((0..few(c)).map(|_| operation(c)).collect()),
        228..=231 => Op::Prune { max: [1, 2, 1_000][c.below(3)] },
        232..=239 => Op::Explain(c.recent()),
        _ => Op::Workers { after: c.maybe(2, |c| c.below(4)), limit: 1 + c.below(3) as u32 },
    }
}

/// Mostly open, so that walks get somewhere; never more than a few settings at once.
fn change(c: &mut Chance) -> Change {
    // One period for each kind of rate: what a change of the period does to the one under way is nobody's promise.
    let rate = |c: &mut Chance, period_ms| Rate { max: 1 + c.below(3) as u32, period_ms };
    let mut change = Change::default();
    for _ in 0..1 + c.below(3) {
        match c.below(8) {
            0 => change.paused = Some(c.one_in(4)),
            1 => change.max_running = Some(c.maybe(2, |c| 1 + c.below(4) as u32)),
            2 | 3 => change.max_running_per_key = Some(c.maybe(2, |c| 1 + c.below(2) as u32)),
            4 => change.lane_on_failure = Some(c.maybe(2, |_| LaneOnFailure::Block)),
            5 => change.retention_ms = Some(c.maybe(2, |c| [0, 0, 1_500, 20_000][c.below(4)])),
            6 => change.rate_limit = Some(c.maybe(3, |c| rate(c, 2_000))),
            _ => change.rate_limit_per_key = Some(c.maybe(3, |c| rate(c, 5_000))),
        }
    }
    // A pause ends as soon as anything else is changed.
    change.paused = change.paused.or(Some(false));
    change
}

/// What an operator would mostly do to such a job, and sometimes what makes no sense.
fn operation(c: &mut Chance) -> (Target, Action) {
    let asked = |c: &mut Chance| Action::Cancel { reason: c.maybe(2, |c| "ö".repeat(c.below(300))), force: false };
    let forced = |c: &mut Chance| Action::Cancel { reason: c.maybe(2, |_| "now".to_owned()), force: true };
    let any = |c: &mut Chance| match c.below(3) {
        0 => asked(c),
        1 => forced(c),
        _ => Action::Retry,
    };
    match c.below(16) {
        0..=1 => (Target::In(Status::Queued, c.recent()), asked(c)),
        2..=7 => (Target::In(Status::Running, c.recent()), asked(c)),
        8 => (Target::In(Status::Running, c.recent()), forced(c)),
        9..=12 => (Target::In(Status::Failed, c.recent()), Action::Retry),
        13..=14 => (Target::Any(c.recent()), any(c)),
        _ => (Target::NoSuchJob, any(c)),
    }
}

fn few(c: &mut Chance) -> usize {
    [1, 1, 1, 2, 3][c.below(5)]
}

fn sketch(c: &mut Chance) -> Sketch {
    const BACKOFFS: [Backoff; 3] = [
        Backoff { initial_ms: 0, factor: 1.0, max_ms: 0, jitter: 0.0 },
        Backoff { initial_ms: 700, factor: 1.7, max_ms: 2_500, jitter: 1.0 },
        Backoff { initial_ms: 333, factor: 3.0, max_ms: 60_000, jitter: 0.3 },
    ];
    let key = c.maybe(3, |c| c.below(KEYS.len()));
    // Under one key mostly the same body, in one of its spellings.
    let (kind, payload) = match key {
        Some(key) => {
            let kind = if c.one_in(8) { c.below(3) } else { key % 3 };
            let spellings = [key % 2, 4 + key % 2];
            (kind, if c.one_in(8) { c.below(PAYLOADS.len()) } else { spellings[c.below(2)] })
        }
        None => (c.below(3), c.below(PAYLOADS.len())),
    };
    Sketch {
        queue: c.below(3),
        kind,
        payload,
        priority: [0, 0, 0, 1, 1, -1, i32::MAX, i32::MIN][c.below(8)],
        run_in: c.maybe(3, |c| [-3_600_000_000, -1, 0, 1, 500_000, 4_000_000, 9_000_001][c.below(7)]),
        attempts_max: [1, 2, 2, 3, 5][c.below(5)],
        backoff: c.maybe(3, |c| BACKOFFS[c.below(3)]),
        timeout_ms: c.maybe(5, |c| [1, 500, 2_000, 40_000][c.below(4)]),
        key,
        key_window_ms: key.and_then(|_| c.maybe(2, |c| [1, 3_000, 20_000][c.below(3)])),
        lane: c.maybe(3, |c| c.below(LANES.len())),
        tenant: c.maybe(3, |c| c.below(TENANTS.len())),
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
            let retry = match c.below(8) {
                6 => Retry::TimedOut { chance: c.signed_unit() },
                7 => Retry::Cancel,
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
        // Beyond the day that workers are remembered, and the hour that receipts are kept.
        0 if c.one_in(12) => Move::Micros(90_000_000_000),
        0 if c.one_in(3) => Move::Micros(3_600_000_000),
        0..=4 => {
            // A minute exactly, at which a sighting is written again.
            let spans = [1, 999, 40_000, 100_000, 700_000, 1_000_000, 6_000_000, 31_000_000, 60_000_000];
            Move::Micros(spans[c.below(9)])
        }
        5..=7 => Move::ToDeadline(c.recent(), [-1, 0, 0, 1][c.below(4)]),
        _ => Move::ToDue(c.recent()),
    }
}
