//! Upkeep: what runs beside the work so that nothing is left behind.
//!
//! Recovery (L7) returns the work of leases that ran out. It needs no leader: any number of these loops may run, on
//! any number of machines, and claims do the same for what they need, so with all of them stopped the system is
//! slower, not wrong. Pruning beside it removes what is no longer kept, under the same rules.
//!
//! Each loop is a pure `step` ([`Recovery::step`], [`Pruning::step`]) around a thin driver, so that a simulator can run
//! the real thing.

use crate::{Result, Tenure, chance};
use std::time::Duration;
use tenure_core::bounds;
use tenure_core::queue::{Pruned, Recovered};

/// Leases returned in one transaction: small enough that a storm of expiries never holds locks for long.
const LEASES_PER_STEP: u32 = 200;
/// Time between sweeps, before jitter.
const SWEEP_EVERY: Duration = Duration::from_millis(1_000);
/// The wait of a sweep after a store failure doubles up to this.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(10);

/// Rows of each kind removed in one transaction, for the same reason.
const PRUNED_PER_STEP: u32 = 500;
/// Time between prunings, before jitter. What is removed a minute late harms nobody.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// The first pruning is not long after the start, so that a process that restarts often prunes too.
const PRUNE_FIRST: Duration = Duration::from_secs(5);
/// The breath after a full step, so that years of finished jobs are removed beside the work, not instead of it: up to
/// 25,000 rows a second, more than one store finishes.
const PRUNE_BREATH: Duration = Duration::from_millis(20);

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

/// Decides when to prune next.
#[derive(Debug, Default)]
pub struct Pruning {
    failures: u32,
}

/// What the last pruning met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// There was none yet.
    Nothing,
    /// It removed this much.
    Done(Pruned),
    /// The store did not answer.
    Failed,
}

impl Pruning {
    /// How long to wait before the next pruning; `chance` in −1 … 1 keeps many machines apart.
    pub fn step(&mut self, cleared: Cleared, chance: f64) -> Duration {
        let wait = match cleared {
            Cleared::Nothing => PRUNE_FIRST,
            // A full step of any kind means that more is waiting.
            Cleared::Done(Pruned { jobs, receipts, keys, sightings })
                if jobs.max(receipts).max(keys).max(sightings) >= PRUNED_PER_STEP =>
            {
                self.failures = 0;
                PRUNE_BREATH
            }
            Cleared::Done(_) => {
                self.failures = 0;
                PRUNE_EVERY
            }
            Cleared::Failed => {
                self.failures = self.failures.saturating_add(1).min(8);
                (PRUNE_FIRST * (1 << (self.failures - 1))).min(PRUNE_EVERY)
            }
        };
        wait.mul_f64(1.0 + 0.2 * chance)
    }
}

impl Tenure {
    /// One bounded step of recovery: returns the work of at most `leases_max` leases that ran out (L7).
    pub async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        bounds::within("leases_max", leases_max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.recover(leases_max).await?)
    }

    /// One bounded step of pruning: removes at most `max` finished jobs past their queue's retention, and as many
    /// receipts, dedup keys and workers that need no longer be remembered.
    pub async fn prune(&self, max: u32) -> Result<Pruned> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.prune(max).await?)
    }

    /// Recovers, and prunes beside it, until the future is dropped.
    pub async fn keep_recovering(&self) {
        tokio::join!(
            self.recover_on_and_on(),
            self.prune_on_and_on(),
            self.recover_domains_on_and_on(),
            self.keep_syncs()
        );
    }

    async fn recover_on_and_on(&self) {
        let mut recovery = Recovery::default();
        loop {
            let swept = match self.outage.watch("recovery", self.recover(LEASES_PER_STEP)).await {
                Ok(recovered) => {
                    if recovered.leases > 0 {
                        let Recovered { leases, requeued, failed } = recovered;
                        tracing::info!(leases, requeued, failed, "returned the work of leases that ran out");
                    }
                    Swept::Done(recovered)
                }
                Err(_) => Swept::Failed,
            };
            tokio::time::sleep(recovery.step(swept, chance::signed_unit())).await;
        }
    }

    async fn prune_on_and_on(&self) {
        let mut pruning = Pruning::default();
        let mut cleared = Cleared::Nothing;
        loop {
            tokio::time::sleep(pruning.step(cleared, chance::signed_unit())).await;
            cleared = match self.outage.watch("pruning", self.prune(PRUNED_PER_STEP)).await {
                Ok(pruned) => {
                    if pruned != Pruned::default() {
                        let Pruned { jobs, receipts, keys, sightings } = pruned;
                        tracing::debug!(jobs, receipts, keys, sightings, "removed what is no longer kept");
                    }
                    Cleared::Done(pruned)
                }
                Err(_) => Cleared::Failed,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Filter, NewJob, Time};
    use tenure_core::queue::RETENTION_MS_DEFAULT;
    use tenure_memory::MemoryStore;
    use tenure_store::Clock;

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
    #[test]
    fn i19_pruning_comes_every_minute_and_goes_on_while_its_steps_are_full() {
        let mut pruning = Pruning::default();
        assert_eq!(pruning.step(Cleared::Nothing, 0.0), PRUNE_FIRST);
        for full in [
            Pruned { jobs: PRUNED_PER_STEP, ..Pruned::default() },
            Pruned { receipts: PRUNED_PER_STEP, ..Pruned::default() },
            Pruned { keys: PRUNED_PER_STEP, ..Pruned::default() },
            Pruned { sightings: PRUNED_PER_STEP, ..Pruned::default() },
        ] {
            assert_eq!(pruning.step(Cleared::Done(full), 0.0), PRUNE_BREATH);
        }
        let few = Pruned { jobs: PRUNED_PER_STEP - 1, ..Pruned::default() };
        assert_eq!(pruning.step(Cleared::Done(few), 0.0), PRUNE_EVERY);
        assert_eq!(pruning.step(Cleared::Done(few), -1.0), PRUNE_EVERY.mul_f64(0.8));
        assert_eq!(pruning.step(Cleared::Done(few), 1.0), PRUNE_EVERY.mul_f64(1.2));
    }

    #[test]
    fn pruning_waits_for_an_absent_store_up_to_a_minute() {
        let mut pruning = Pruning::default();
        let waits: Vec<u64> = (0..6).map(|_| pruning.step(Cleared::Failed, 0.0).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        pruning.step(Cleared::Done(Pruned::default()), 0.0);
        assert_eq!(pruning.step(Cleared::Failed, 0.0), PRUNE_FIRST);
    }

    /// More finished jobs than one step removes, on a clock that stands past their retention.
    async fn long_finished(jobs: u32) -> Tenure {
        let clock = Clock::manual(Time(0));
        let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
        let job = NewJob::new("q", "k", "1");
        tenure.enqueue_all(vec![job; jobs as usize]).await.unwrap();
        tenure.operate_all(Filter::default(), Action::Cancel { reason: None, force: false }, |_| {}).await.unwrap();
        clock.set(Time(0).plus_ms(RETENTION_MS_DEFAULT));
        tenure
    }

    #[tokio::test]
    async fn i19_one_step_of_pruning_removes_no_more_than_asked() {
        let tenure = long_finished(3).await;
        assert_eq!(tenure.prune(2).await.unwrap().jobs, 2);
        assert_eq!(tenure.prune(2).await.unwrap().jobs, 1);
        assert_eq!(tenure.prune(0).await.unwrap_err().code(), "out_of_bounds");
    }

    #[tokio::test(start_paused = true)]
    async fn i19_upkeep_removes_what_is_no_longer_kept() {
        let tenure = long_finished(PRUNED_PER_STEP + 1).await;
        // The runtime's clock is moved by the runtime: nothing is slept through.
        let _ = tokio::time::timeout(2 * PRUNE_FIRST, tenure.keep_recovering()).await;
        assert!(tenure.jobs(Filter::default(), None, 1).await.unwrap().items.is_empty());
    }
}
