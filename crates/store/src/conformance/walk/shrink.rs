//! Makes a failing list of operations short: deletes chunks, ever smaller ones, then parts of single operations, while
//! what is left still fails.

use super::{Failed, Step, Walk};
use std::time::{Duration, Instant};

/// How long shrinking may take: a backend that is slow to open still reports in time.
const PATIENCE: Duration = Duration::from_secs(40);

/// The shortest list found, and how it fails. `fails` replays a list on a new store.
pub(super) async fn shrink<W: Walk>(
    mut steps: Vec<Step<W::Op>>,
    failed: Failed,
    fails: impl AsyncFn(Vec<Step<W::Op>>) -> Option<Failed>,
) -> (Vec<Step<W::Op>>, Failed) {
    steps.truncate(failed.0 + 1);
    let chunk = steps.len().div_ceil(2);
    let mut shortest = Shortest::<W, _> { steps, failed, fails, until: Instant::now() + PATIENCE };
    shortest.delete_chunks(chunk).await;
    shortest.thin_out().await;
    (shortest.steps, shortest.failed)
}

struct Shortest<W: Walk, F> {
    steps: Vec<Step<W::Op>>,
    failed: Failed,
    fails: F,
    until: Instant,
}

impl<W: Walk, F: AsyncFn(Vec<Step<W::Op>>) -> Option<Failed>> Shortest<W, F> {
    async fn delete_chunks(&mut self, mut chunk: usize) {
        loop {
            let mut at = 0;
            let mut deleted = false;
            while at < self.steps.len() && self.steps.len() > 1 {
                let end = (at + chunk).min(self.steps.len());
                let shorter = self.steps[..at].iter().chain(&self.steps[end..]).cloned().collect();
                match self.accept(shorter).await {
                    Some(true) => deleted = true,
                    Some(false) => at = end,
                    None => return,
                }
            }
            match chunk {
                1 if !deleted => return,
                1 => {}
                _ => chunk = chunk.div_ceil(2),
            }
        }
    }

    async fn thin_out(&mut self) {
        let mut at = 0;
        while at < self.steps.len() {
            let mut thinned = false;
            for op in W::thinner(&self.steps[at].op) {
                let mut thinner = self.steps.clone();
                thinner[at].op = op;
                match self.accept(thinner).await {
                    Some(true) => {
                        thinned = true;
                        break;
                    }
                    Some(false) => {}
                    None => return,
                }
            }
            at += usize::from(!thinned);
        }
    }

    /// Whether `steps` still fail, and so replace the list; `None` when the time is up.
    async fn accept(&mut self, steps: Vec<Step<W::Op>>) -> Option<bool> {
        if Instant::now() > self.until {
            return None;
        }
        let Some(failed) = (self.fails)(steps.clone()).await else { return Some(false) };
        self.steps = steps;
        self.steps.truncate(failed.0 + 1);
        self.failed = failed;
        Some(true)
    }
}
