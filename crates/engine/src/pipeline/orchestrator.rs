//! The orchestrator: moves `NEW → READY`, releases retries, settles runs. It never does work (P2).

use super::Advanced;
use crate::{Result, Tenure, chance};
use std::time::Duration;
use tenure_core::bounds;
use tenure_store::WAKE_ORCHESTRATOR;

/// Runs looked at in one transaction: small enough that none is locked for long.
const RUNS_PER_STEP: u32 = 50;
/// How long it sleeps at most before it looks again: the floor under lost wake-ups (P5).
const LOOK_AGAIN: Duration = Duration::from_millis(1_000);
/// The wait after a store failure doubles up to this.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(10);

/// Advances runs. It has no way to claim or to finish:
///
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure, ending: tenure::pipeline::Ending) -> tenure::Result<()> {
/// tenure.orchestrator().finish(ending).await?;
/// # Ok(()) }
/// ```
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure, unit: tenure::pipeline::UnitKey) -> tenure::Result<()> {
/// tenure.orchestrator().complete(unit, "me", tenure::Token(1), None, None).await?;
/// # Ok(()) }
/// ```
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure, claim: tenure::pipeline::Claim) -> tenure::Result<()> {
/// tenure.orchestrator().claim(claim).await?;
/// # Ok(()) }
/// ```
/// ```
/// # async fn right(tenure: tenure::Tenure) -> tenure::Result<()> {
/// tenure.orchestrator().advance(10).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Orchestrator {
    tenure: Tenure,
}

impl Tenure {
    /// An orchestrator on this store. Any number of them may run.
    #[must_use]
    pub fn orchestrator(&self) -> Orchestrator {
        Orchestrator { tenure: self.clone() }
    }
}

/// Decides when the orchestrator looks next. Pure.
#[derive(Debug, Default)]
pub struct Pace {
    failures: u32,
}

impl Pace {
    /// How long to sleep after a step, unless woken; `None` is a store that did not answer. `chance` in −1 … 1 keeps many
    /// machines apart.
    pub fn step(&mut self, advanced: Option<Advanced>, chance: f64) -> Duration {
        let Some(advanced) = advanced else {
            self.failures = self.failures.saturating_add(1).min(8);
            let wait = (LOOK_AGAIN * (1 << (self.failures - 1))).min(FAILED_WAIT_MAX);
            return wait.mul_f64(1.0 + 0.2 * chance);
        };
        self.failures = 0;
        // A full step means that more is waiting.
        if advanced.runs >= RUNS_PER_STEP || advanced.retried >= RUNS_PER_STEP {
            return Duration::ZERO;
        }
        let due = advanced.again_in_ms.map_or(LOOK_AGAIN, Duration::from_millis);
        due.min(LOOK_AGAIN.mul_f64(1.0 + 0.2 * chance))
    }
}

impl Orchestrator {
    /// One bounded step: at most `max` units released to be tried again, at most `max` runs looked at.
    pub async fn advance(&self, max: u32) -> Result<Advanced> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.advance_runs(max).await?)
    }

    /// Advances runs as things happen in them, until this is dropped.
    pub async fn keep_advancing(&self) {
        let mut pace = Pace::default();
        // Listening begins before the first look, so that nothing in between is missed.
        let mut listener = self.tenure.store.signals().listen(vec![WAKE_ORCHESTRATOR.to_owned()]);
        loop {
            let advance = self.tenure.store.advance_runs(RUNS_PER_STEP);
            let advanced = self.tenure.outage.watch("the orchestrator", advance).await.ok();
            let failed = advanced.is_none();
            let wait = pace.step(advanced, chance::signed_unit());
            tokio::select! {
                // A store that does not answer is not asked more often because something happened elsewhere.
                () = listener.woken(), if !failed => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_a_full_step_is_followed_at_once_and_an_idle_one_by_the_periodic_scan() {
        let mut pace = Pace::default();
        let full = Advanced { runs: RUNS_PER_STEP, ..Advanced::default() };
        assert_eq!(pace.step(Some(full), 0.0), Duration::ZERO);
        assert_eq!(pace.step(Some(Advanced::default()), 0.0), LOOK_AGAIN);
        let due = Advanced { again_in_ms: Some(70), ..Advanced::default() };
        assert_eq!(pace.step(Some(due), 0.0), Duration::from_millis(70));
    }

    #[test]
    fn an_absent_store_is_asked_less_and_less_often() {
        let mut pace = Pace::default();
        let waits: Vec<u64> = (0..6).map(|_| pace.step(None, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    }
}
