//! Upkeep: what runs beside the work so that nothing is left behind.
//!
//! Recovery (L7) returns the work of leases that ran out. It needs no leader: any number of these loops may run, on
//! any number of machines, and claims do the same for what they need, so with all of them stopped the system is
//! slower, not wrong. Pruning beside it removes what is no longer kept, under the same rules.
//!
//! Every loop is a sweep: one bounded step after the other, at the pace of [`Pace::step`], which is pure, so that a
//! simulator can run the real thing.

use crate::{Result, Tenure, Verbs};
use std::future::Future;
use std::time::Duration;
use tenure_core::bounds;
use tenure_core::queue::{Pruned, Recovered};
use tenure_core::sync::{SyncsPruned, SyncsRecovered};
use tenure_store::Listener;

/// Leases returned in one transaction: small enough that a storm of expiries never holds locks for long.
const LEASES_PER_STEP: u32 = 200;
/// Leases of domains told in one transaction. They stay where they are, so it writes less (D4).
const DOMAINS_PER_STEP: u32 = 500;
/// Rows of each kind removed in one transaction, for the same reason.
const PRUNED_PER_STEP: u32 = 500;
/// The longest first wait for a store that does not answer: that pruning comes once a minute is no reason to wait as long.
const FAILED_WAIT: Duration = Duration::from_secs(5);
/// The wait doubles up to this, or up to the time between two steps.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(10);

/// How often a sweep takes a step.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time before the first step.
    first: Duration,
    /// Time between steps while nothing is left over, before jitter.
    every: Duration,
    /// Time after a step that was full: more is waiting.
    breath: Duration,
    failures: u32,
}

/// What a step met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// As much as one step may do: there is more.
    Full,
    /// Less than that.
    Little,
    /// Less than that, and there will be more after this long.
    DueIn(Duration),
    /// The store did not answer.
    Failed,
}

impl Met {
    /// A step that did `done` of at most `max`.
    #[must_use]
    pub fn of(done: u32, max: u32) -> Met {
        if done >= max { Met::Full } else { Met::Little }
    }
}

impl Pace {
    /// Of recovery and of whatever else must not wait: every second, and at once while there is more.
    pub const PROMPT: Pace =
        Pace { first: Duration::ZERO, every: Duration::from_secs(1), breath: Duration::ZERO, failures: 0 };

    /// Of pruning: what is removed a minute late harms nobody. The first step is not long after the start, so that a process
    /// that restarts often prunes too. The breath lets years of finished jobs be removed beside the work, not instead of
    /// it: up to 25,000 rows a second, more than one store finishes.
    pub const LEISURELY: Pace =
        Pace { first: FAILED_WAIT, every: Duration::from_secs(60), breath: Duration::from_millis(20), failures: 0 };

    /// How long to wait before the next step; `chance` in −1 … 1 keeps many machines apart.
    pub fn step(&mut self, met: Met, chance: f64) -> Duration {
        let jitter = 1.0 + 0.2 * chance;
        if met != Met::Failed {
            self.failures = 0;
        }
        match met {
            Met::Full => self.breath.mul_f64(jitter),
            Met::Little => self.every.mul_f64(jitter),
            Met::DueIn(span) => span.min(self.every.mul_f64(jitter)),
            Met::Failed => {
                let wait = self.every.min(FAILED_WAIT) * (1 << self.failures);
                self.failures = (self.failures + 1).min(8);
                wait.min(self.every.max(FAILED_WAIT_MAX)).mul_f64(jitter)
            }
        }
    }
}

/// A loop of bounded steps.
pub(crate) struct Sweep<'a> {
    tenure: &'a Tenure,
    what: &'static str,
    pace: Pace,
    /// Who tells that there may be something to do sooner.
    listener: Option<Listener>,
}

impl<'a> Sweep<'a> {
    /// A sweep of `what`, as outages are told of it.
    pub(crate) fn new(tenure: &'a Tenure, what: &'static str, pace: Pace) -> Sweep<'a> {
        Sweep { tenure, what, pace, listener: None }
    }

    /// The same, which does not sleep through a wake-up. Listening begins now, before the first look, so that nothing in
    /// between is missed.
    pub(crate) fn woken_by(mut self, name: &str) -> Sweep<'a> {
        self.listener = Some(self.tenure.store.signals().listen(vec![name.to_owned()]));
        self
    }

    /// Takes steps, each after as long a wait as what the last one met asks for, until this is dropped.
    pub(crate) async fn run<T, F: Future<Output = Result<T>>>(
        mut self,
        step: impl Fn() -> F,
        mut met: impl FnMut(T) -> Met,
    ) {
        tokio::time::sleep(self.pace.first.mul_f64(1.0 + 0.2 * self.tenure.around.chance())).await;
        loop {
            let met = self.tenure.outage.watch(self.what, step()).await.map_or(Met::Failed, &mut met);
            let wait = self.pace.step(met, self.tenure.around.chance());
            let woken = async {
                match &mut self.listener {
                    // A store that does not answer is not asked more often because something happened elsewhere.
                    Some(listener) if met != Met::Failed => listener.woken().await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}

impl Tenure {
    /// Everything that runs beside the work, until the future is dropped: recovery, schedules, the orchestrator of
    /// pipelines, and the removal of what is no longer kept.
    pub async fn upkeep(&self) {
        let verbs = self.verbs();
        let (orchestrator, pipelines) = (self.orchestrator(), self.pipeline_recovery());
        tokio::join!(
            verbs.keep_recovering(),
            verbs.keep_scheduling(),
            orchestrator.keep_advancing(),
            pipelines.keep_recovering(),
        );
    }
}

impl Verbs<'_> {
    /// One bounded step of recovery: returns the work of at most `leases_max` leases that ran out (L7).
    pub async fn recover(self, leases_max: u32) -> Result<Recovered> {
        bounds::within("leases_max", leases_max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.recover(leases_max).await?)
    }

    /// One bounded step of recovery: tells at most `max` leases that ran out. They stay until they are acquired
    /// again (D4).
    pub async fn recover_domains(self, max: u32) -> Result<crate::domain::Recovered> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.domain_recover(max).await?)
    }

    /// One bounded step of recovery: writes down at most `leases_max` leases of syncs and chunks that ran out (L7).
    pub async fn recover_syncs(self, leases_max: u32) -> Result<SyncsRecovered> {
        bounds::within("leases_max", leases_max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.recover_syncs(leases_max).await?)
    }

    /// One bounded step of pruning: removes at most `max` finished jobs past their queue's retention, and as many
    /// receipts, dedup keys and workers that need no longer be remembered.
    pub async fn prune(self, max: u32) -> Result<Pruned> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.prune(max).await?)
    }

    /// One bounded step of pruning: removes at most `max` of each kind of what is no longer kept of syncs.
    pub async fn prune_syncs(self, max: u32) -> Result<SyncsPruned> {
        bounds::within("max", max.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.prune_syncs(max).await?)
    }

    /// Recovers jobs, domains and syncs, and prunes beside it, until the future is dropped.
    pub async fn keep_recovering(self) {
        let sweep = |what, pace| Sweep::new(self.tenure, what, pace);
        let jobs = |Recovered { leases, requeued, failed }| {
            if leases > 0 {
                tracing::info!(leases, requeued, failed, "returned the work of leases that ran out");
            }
            Met::of(leases, LEASES_PER_STEP)
        };
        let domains = |crate::domain::Recovered { expired, failed }| {
            if expired > 0 {
                tracing::info!(expired, failed, "leases of domains ran out");
            }
            Met::of(expired, DOMAINS_PER_STEP)
        };
        let syncs = |SyncsRecovered { leases, failed }| {
            if leases > 0 {
                tracing::info!(leases, failed, "leases of syncs or chunks ran out");
            }
            Met::of(leases, LEASES_PER_STEP)
        };
        let pruned_syncs = |SyncsPruned { syncs, chunks, events, receipts }| {
            Met::of(syncs.max(chunks).max(events).max(receipts), PRUNED_PER_STEP)
        };
        tokio::join!(
            sweep("recovery", Pace::PROMPT).run(|| self.recover(LEASES_PER_STEP), jobs),
            sweep("recovery of domains", Pace::PROMPT).run(|| self.recover_domains(DOMAINS_PER_STEP), domains),
            sweep("recovery of syncs", Pace::PROMPT).run(|| self.recover_syncs(LEASES_PER_STEP), syncs),
            sweep("pruning", Pace::LEISURELY).run(|| self.prune(PRUNED_PER_STEP), pruned),
            sweep("pruning of syncs", Pace::LEISURELY).run(|| self.prune_syncs(PRUNED_PER_STEP), pruned_syncs),
        );
    }
}

fn pruned(pruned: Pruned) -> Met {
    let Pruned { jobs, receipts, keys, sightings } = pruned;
    if pruned != Pruned::default() {
        tracing::debug!(jobs, receipts, keys, sightings, "removed what is no longer kept");
    }
    // A full step of any kind means that more is waiting.
    Met::of(jobs.max(receipts).max(keys).max(sightings), PRUNED_PER_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Acquire, What};
    use crate::{Action, Filter, NewJob, Time};
    use tenure_core::queue::RETENTION_MS_DEFAULT;
    use tenure_memory::MemoryStore;
    use tenure_store::Clock;

    #[test]
    fn b3_a_full_batch_is_followed_at_once_by_the_next() {
        let mut pace = Pace::PROMPT;
        assert_eq!(pace.step(Met::of(LEASES_PER_STEP, LEASES_PER_STEP), 0.0), Duration::ZERO);
        assert_eq!(pace.step(Met::of(LEASES_PER_STEP - 1, LEASES_PER_STEP), 0.0), Duration::from_secs(1));
    }

    #[test]
    fn an_absent_store_is_asked_less_and_less_often() {
        let mut pace = Pace::PROMPT;
        let waits: Vec<u64> = (0..6).map(|_| pace.step(Met::Failed, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        pace.step(Met::Little, 0.0);
        assert_eq!(pace.step(Met::Failed, 0.0), Duration::from_secs(1));
        (0..100).for_each(|_| assert!(pace.step(Met::Failed, 1.0) <= FAILED_WAIT_MAX.mul_f64(1.2)));
    }

    #[test]
    fn i19_pruning_comes_every_minute_and_goes_on_while_its_steps_are_full() {
        let (mut pace, every) = (Pace::LEISURELY, Duration::from_secs(60));
        for full in [
            Pruned { jobs: PRUNED_PER_STEP, ..Pruned::default() },
            Pruned { receipts: PRUNED_PER_STEP, ..Pruned::default() },
            Pruned { keys: PRUNED_PER_STEP, ..Pruned::default() },
            Pruned { sightings: PRUNED_PER_STEP, ..Pruned::default() },
        ] {
            assert_eq!(pace.step(pruned(full), 0.0), Duration::from_millis(20));
        }
        let few = pruned(Pruned { jobs: PRUNED_PER_STEP - 1, ..Pruned::default() });
        assert_eq!(pace.step(few, 0.0), every);
        assert_eq!(pace.step(few, -1.0), every.mul_f64(0.8));
        assert_eq!(pace.step(few, 1.0), every.mul_f64(1.2));
    }

    #[test]
    fn pruning_waits_for_an_absent_store_up_to_a_minute() {
        let mut pace = Pace::LEISURELY;
        let waits: Vec<u64> = (0..6).map(|_| pace.step(Met::Failed, 0.0).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        pace.step(Met::Little, 0.0);
        assert_eq!(pace.step(Met::Failed, 0.0), FAILED_WAIT);
    }

    /// More finished jobs than one step removes, on a clock that stands past their retention.
    async fn long_finished(jobs: u32) -> Tenure {
        let clock = Clock::manual(Time(0));
        let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
        let job = NewJob::new("q", "k", "1");
        tenure.enqueue_all(vec![job; jobs as usize]).await.unwrap();
        tenure
            .verbs()
            .operate_all(Filter::default(), Action::Cancel { reason: None, force: false }, |_| {})
            .await
            .unwrap();
        clock.set(Time(0).plus_ms(RETENTION_MS_DEFAULT));
        tenure
    }

    #[tokio::test]
    async fn i19_one_step_of_pruning_removes_no_more_than_asked() {
        let tenure = long_finished(3).await;
        assert_eq!(tenure.verbs().prune(2).await.unwrap().jobs, 2);
        assert_eq!(tenure.verbs().prune(2).await.unwrap().jobs, 1);
        assert_eq!(tenure.verbs().prune(0).await.unwrap_err().code(), "out_of_bounds");
    }

    #[tokio::test(start_paused = true)]
    async fn i19_upkeep_removes_what_is_no_longer_kept() {
        let tenure = long_finished(PRUNED_PER_STEP + 1).await;
        // The runtime's clock is moved by the runtime: nothing is slept through.
        let _ = tokio::time::timeout(2 * FAILED_WAIT, tenure.verbs().keep_recovering()).await;
        assert!(tenure.verbs().jobs(Filter::default(), None, 1).await.unwrap().items.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn l7_upkeep_tells_an_expiry() {
        let clock = Clock::manual(Time(0));
        let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
        tenure.verbs().domain_acquire_all(vec![Acquire::new("a", 1).lease_ms(1_000)]).await.unwrap();
        clock.set(Time(1_000_000));
        let _ = tokio::time::timeout(Duration::from_millis(10), tenure.verbs().keep_recovering()).await;
        let told = tenure.domain("a").timeline().await.unwrap();
        assert_eq!(told.iter().map(|event| event.what).collect::<Vec<_>>(), [What::Expired]);
    }
}
