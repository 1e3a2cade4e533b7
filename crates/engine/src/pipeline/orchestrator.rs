//! The orchestrator: moves `NEW → READY`, releases retries, settles runs. It never does work (P2).

use super::Advanced;
use crate::upkeep::{Met, Pace, Sweep};
use crate::{Result, Tenure};
use std::time::Duration;
use tenure_core::bounds;
use tenure_store::WAKE_ORCHESTRATOR;

/// Runs looked at in one transaction: small enough that none is locked for long.
const RUNS_PER_STEP: u32 = 50;

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

impl Orchestrator {
    /// One bounded step: at most `max` units released to be tried again, at most `max` runs looked at.
    pub async fn advance(&self, max: u32) -> Result<Advanced> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.advance_runs(max).await?)
    }

    /// Advances runs as things happen in them, until this is dropped. With every wake-up lost it looks every second (P5).
    pub async fn keep_advancing(&self) {
        let sweep = Sweep::new(&self.tenure, "the orchestrator", Pace::PROMPT).woken_by(WAKE_ORCHESTRATOR);
        sweep.run(|| self.advance(RUNS_PER_STEP), met).await;
    }
}

fn met(advanced: Advanced) -> Met {
    match advanced.again_in_ms.map(Duration::from_millis) {
        // A full step means that more is waiting.
        _ if advanced.runs.max(advanced.retried) >= RUNS_PER_STEP => Met::Full,
        Some(span) => Met::DueIn(span),
        None => Met::Little,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_a_full_step_is_followed_at_once_and_an_idle_one_by_the_periodic_scan() {
        let mut pace = Pace::PROMPT;
        let full = Advanced { runs: RUNS_PER_STEP, ..Advanced::default() };
        assert_eq!(pace.step(met(full), 0.0), Duration::ZERO);
        assert_eq!(pace.step(met(Advanced::default()), 0.0), Duration::from_secs(1));
        let due = |ms| Advanced { again_in_ms: Some(ms), ..Advanced::default() };
        assert_eq!(pace.step(met(due(70)), 0.0), Duration::from_millis(70));
        assert_eq!(pace.step(met(due(7_000)), 0.0), Duration::from_secs(1));
    }
}
