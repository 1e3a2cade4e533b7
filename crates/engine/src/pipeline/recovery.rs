//! Recovery of pipelines: returns stages and segments whose lease ran out (L7). It does nothing else (P2).

use super::Recovered;
use crate::{Result, Tenure, chance};
use std::time::Duration;
use tenure_core::bounds;

/// Units returned in one transaction.
const UNITS_PER_STEP: u32 = 200;
/// Time between sweeps, before jitter.
const SWEEP_EVERY: Duration = Duration::from_millis(1_000);
/// The wait after a store failure.
const FAILED_WAIT: Duration = Duration::from_secs(5);
/// Sweeps between two removals of runs that are no longer kept: about a minute.
const PRUNE_EVERY: u32 = 60;
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

    /// Recovers, and now and then removes runs that are no longer kept, until this is dropped.
    pub async fn keep_recovering(&self) {
        let mut sweeps = 0u32;
        loop {
            let sweep = self.sweep(sweeps.is_multiple_of(PRUNE_EVERY));
            let wait = match self.tenure.outage.watch("recovery of pipelines", sweep).await {
                Ok(recovered) => {
                    if recovered.returned + recovered.failed >= UNITS_PER_STEP {
                        Duration::ZERO
                    } else {
                        SWEEP_EVERY
                    }
                }
                Err(_) => FAILED_WAIT,
            };
            sweeps = sweeps.wrapping_add(1);
            tokio::time::sleep(wait.mul_f64(1.0 + 0.2 * chance::signed_unit())).await;
        }
    }

    async fn sweep(&self, prune: bool) -> Result<Recovered> {
        let recovered = self.recover(UNITS_PER_STEP).await?;
        if recovered != Recovered::default() {
            let Recovered { returned, failed } = recovered;
            tracing::info!(returned, failed, "returned stages whose lease ran out");
        }
        if prune {
            self.tenure.store.prune_runs(PRUNED_PER_STEP).await?;
        }
        Ok(recovered)
    }
}
