//! Upkeep: what runs beside the work so that nothing is left behind.
//!
//! Recovery (L7) returns the work of leases that ran out. It needs no leader: any number of these loops may run, on
//! any number of machines, and claims do the same for what they need, so with all of them stopped the system is
//! slower, not wrong.
//!
//! The loop is a pure [`Recovery::step`] around a thin driver, so that a simulator can run the real thing.

use crate::{Result, Tenure, chance};
use std::time::Duration;
use tenure_core::bounds;
use tenure_core::queue::Recovered;

/// Leases returned in one transaction: small enough that a storm of expiries never holds locks for long.
const LEASES_PER_STEP: u32 = 200;
/// Time between sweeps, before jitter.
const SWEEP_EVERY: Duration = Duration::from_millis(1_000);
/// The wait after a store failure doubles up to this.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(10);

/// Decides when to sweep next.
#[derive(Debug, Default)]
pub struct Recovery {
    failures: u32,
}

/// What the last sweep met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// It returned this much.
    Done(Recovered),
    /// The store did not answer.
    Failed,
}

impl Recovery {
    /// How long to wait before the next sweep; `chance` in −1 … 1 keeps many machines apart.
    pub fn step(&mut self, swept: Swept, chance: f64) -> Duration {
        match swept {
            // A full batch means that more is waiting: go on at once.
            Swept::Done(recovered) if recovered.leases >= LEASES_PER_STEP => {
                self.failures = 0;
                Duration::ZERO
            }
            Swept::Done(_) => {
                self.failures = 0;
                SWEEP_EVERY.mul_f64(1.0 + 0.2 * chance)
            }
            Swept::Failed => {
                self.failures = self.failures.saturating_add(1).min(8);
                (SWEEP_EVERY * (1 << (self.failures - 1))).min(FAILED_WAIT_MAX).mul_f64(1.0 + 0.2 * chance)
            }
        }
    }
}

impl Tenure {
    /// One bounded step of recovery: returns the work of at most `leases_max` leases that ran out (L7).
    pub async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        bounds::within("leases_max", leases_max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.recover(leases_max).await?)
    }

    /// Recovers until the future is dropped.
    pub async fn keep_recovering(&self) {
        let mut recovery = Recovery::default();
        let mut silent_since_failure = true;
        loop {
            let swept = match self.recover(LEASES_PER_STEP).await {
                Ok(recovered) => {
                    if recovered.leases > 0 {
                        let Recovered { leases, requeued, failed } = recovered;
                        tracing::info!(leases, requeued, failed, "returned the work of leases that ran out");
                    }
                    silent_since_failure = true;
                    Swept::Done(recovered)
                }
                Err(error) => {
                    // One line per outage, not one per try.
                    if std::mem::take(&mut silent_since_failure) {
                        tracing::warn!(%error, "recovery waits for the store");
                    }
                    Swept::Failed
                }
            };
            tokio::time::sleep(recovery.step(swept, chance::signed_unit())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b3_a_full_batch_is_followed_at_once_by_the_next() {
        let mut recovery = Recovery::default();
        let full = Recovered { leases: LEASES_PER_STEP, ..Recovered::default() };
        assert_eq!(recovery.step(Swept::Done(full), 0.0), Duration::ZERO);
        assert_eq!(recovery.step(Swept::Done(Recovered::default()), 0.0), SWEEP_EVERY);
    }

    #[test]
    fn an_absent_store_is_asked_less_and_less_often() {
        let mut recovery = Recovery::default();
        let waits: Vec<u64> = (0..6).map(|_| recovery.step(Swept::Failed, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        recovery.step(Swept::Done(Recovered::default()), 0.0);
        assert_eq!(recovery.step(Swept::Failed, 0.0), SWEEP_EVERY);
    }
}
