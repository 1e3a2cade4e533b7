//! Makes a failing list of operations short: deletes chunks, ever smaller ones, then items of single operations, while
//! what is left still fails.

use super::op::Op;
use super::run::Wrong;
use std::time::{Duration, Instant};

/// How long shrinking may take: a backend that is slow to open still reports in time.
const PATIENCE: Duration = Duration::from_secs(30);

type Failed = (usize, Wrong);

/// The shortest list found, and how it fails. `fails` replays a list on a new store.
pub(super) async fn shrink(
    mut ops: Vec<Op>,
    mut failed: Failed,
    fails: impl AsyncFn(Vec<Op>) -> Option<Failed>,
) -> (Vec<Op>, Failed) {
    let until = Instant::now() + PATIENCE;
    ops.truncate(failed.0 + 1);
    let mut chunk = ops.len().div_ceil(2);
    loop {
        let (mut at, mut shorter) = (0, false);
        while at < ops.len() && ops.len() > 1 && Instant::now() < until {
            let end = (at + chunk).min(ops.len());
            let candidate = [&ops[..at], &ops[end..]].concat();
            match fails(candidate.clone()).await {
                Some(how) => {
                    (ops, failed, shorter) = (candidate, how, true);
                    ops.truncate(failed.0 + 1);
                }
                None => at = end,
            }
        }
        if chunk == 1 && (!shorter || Instant::now() >= until) {
            break;
        }
        chunk = chunk.div_ceil(2);
    }
    let mut at = 0;
    while at < ops.len() && Instant::now() < until {
        let mut thinned = false;
        for op in ops[at].thinner() {
            let mut candidate = ops.clone();
            candidate[at] = op;
            if let Some(how) = fails(candidate.clone()).await {
                (ops, failed, thinned) = (candidate, how, true);
                ops.truncate(failed.0 + 1);
                break;
            }
        }
        at += usize::from(!thinned);
    }
    (ops, failed)
}
