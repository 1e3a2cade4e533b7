//! Recovery of pipelines: returns stages and segments whose lease ran out (L7). It does nothing else (P2).

use super::Recovered;
use crate::upkeep::{Met, Pace, Sweep};
use crate::{Result, Tenure};
use tenure_core::bounds;

/// Units returned in one transaction.
const UNITS_PER_STEP: u32 = 200;
/// Runs removed in one transaction.
const PRUNED_PER_STEP: u32 = 50;

/// Returns work whose lease ran out. It cannot complete anything:
///
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure, ending: tenure::pipeline::Ending) -> tenure::Result<()> {
/// tenure.pipeline_recovery().finish(ending).await?;
/// # Ok(()) }
/// ```
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure, unit: tenure::pipeline::UnitKey) -> tenure::Result<()> {
/// tenure.pipeline_recovery().complete(unit, "me", tenure::Token(1), None, None).await?;
/// # Ok(()) }
/// ```
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure) -> tenure::Result<()> {
/// tenure.pipeline_recovery().advance(1).await?;
/// # Ok(()) }
/// ```
/// ```
/// # async fn right(tenure: tenure::Tenure) -> tenure::Result<()> {
/// tenure.pipeline_recovery().recover(10).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Recovery {
    tenure: Tenure,
}

impl Tenure {
    /// Recovery of pipelines on this store. Any number of them may run; claims recover what they need without one.
    #[must_use]
    pub fn pipeline_recovery(&self) -> Recovery {
        Recovery { tenure: self.clone() }
    }
}

impl Recovery {
    /// One bounded step: returns at most `max` units whose lease ran out.
    pub async fn recover(&self, max: u32) -> Result<Recovered> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.recover_units(max).await?)
    }

    /// Recovers, and removes runs that are no longer kept, until this is dropped.
    pub async fn keep_recovering(&self) {
        let sweep = |what, pace| Sweep::new(&self.tenure, what, pace);
        let met = |Recovered { returned, failed }| {
            if returned + failed > 0 {
                tracing::info!(returned, failed, "returned stages whose lease ran out");
            }
            Met::of(returned + failed, UNITS_PER_STEP)
        };
        let prune = || async { Ok(self.tenure.store.prune_runs(PRUNED_PER_STEP).await?) };
        tokio::join!(
            sweep("recovery of pipelines", Pace::PROMPT).run(|| self.recover(UNITS_PER_STEP), met),
            sweep("pruning of pipelines", Pace::LEISURELY).run(prune, |runs| Met::of(runs, PRUNED_PER_STEP)),
        );
    }
}
