//! Upkeep of syncs, beside that of the queue: what ran out is written down, what is no longer kept is removed.

use crate::upkeep::{Cleared, Pruning, Recovery, Swept};
use crate::{Result, Tenure, chance};
use tenure_core::bounds;
use tenure_core::queue::{Pruned, Recovered};
use tenure_core::sync::{SyncsPruned, SyncsRecovered};

/// Leases written down in one transaction, as many as the queue's recovery takes.
const LEASES_PER_STEP: u32 = 200;
/// Rows of each kind removed in one transaction, as many as the queue's pruning takes.
const PRUNED_PER_STEP: u32 = 500;

impl Tenure {
    /// One bounded step of recovery: writes down at most `leases_max` leases of syncs and chunks that ran out (L7).
    pub async fn recover_syncs(&self, leases_max: u32) -> Result<SyncsRecovered> {
        bounds::within("leases_max", leases_max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.recover_syncs(leases_max).await?)
    }

    /// One bounded step of pruning: removes at most `max` of each kind of what is no longer kept.
    pub async fn prune_syncs(&self, max: u32) -> Result<SyncsPruned> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.prune_syncs(max).await?)
    }

    /// Recovers and prunes syncs until the future is dropped.
    pub(crate) async fn keep_syncs(&self) {
        tokio::join!(self.recover_syncs_on_and_on(), self.prune_syncs_on_and_on());
    }

    async fn recover_syncs_on_and_on(&self) {
        let mut recovery = Recovery::default();
        loop {
            // Of an outage the queue's recovery tells.
            let swept = match self.recover_syncs(LEASES_PER_STEP).await {
                Ok(SyncsRecovered { leases, failed }) => {
                    if leases > 0 {
                        tracing::info!(leases, failed, "leases of syncs or chunks ran out");
                    }
                    Swept::Done(Recovered { leases, requeued: leases - failed.min(leases), failed })
                }
                Err(_) => Swept::Failed,
            };
            tokio::time::sleep(recovery.step(swept, chance::signed_unit())).await;
        }
    }

    async fn prune_syncs_on_and_on(&self) {
        let mut pruning = Pruning::default();
        let mut cleared = Cleared::Nothing;
        loop {
            tokio::time::sleep(pruning.step(cleared, chance::signed_unit())).await;
            cleared = match self.prune_syncs(PRUNED_PER_STEP).await {
                Ok(SyncsPruned { syncs, chunks, events, receipts }) => {
                    Cleared::Done(Pruned { jobs: syncs.max(chunks), receipts, keys: events, sightings: 0 })
                }
                Err(_) => Cleared::Failed,
            };
        }
    }
}
