//! Recovery of domains: tells leases that ran out, so that they are seen (L7). Nothing depends on it.

use crate::{Tenure, chance};
use std::time::Duration;

/// Leases told in one step.
const PER_STEP: u32 = 500;
/// Between two looks while nothing is left over.
const EVERY: Duration = Duration::from_secs(1);
/// The longest wait for a store that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait after a step that told so many, or after the `failures`th that got no answer.
fn wait(told: Option<u32>, failures: u32, chance: f64) -> Duration {
    let wait = match told {
        Some(told) if told >= PER_STEP => Duration::ZERO,
        Some(_) => EVERY,
        None => (EVERY * 2_u32.saturating_pow(failures.saturating_sub(1).min(8))).min(PATIENCE),
    };
    wait.mul_f64(1.0 + 0.2 * chance)
}

impl Tenure {
    pub(crate) async fn recover_domains_on_and_on(&self) {
        let mut failures = 0;
        loop {
            let told = match self.outage.watch("recovery of domains", self.recover_domains(PER_STEP)).await {
                Ok(recovered) => {
                    if recovered.expired > 0 {
                        let crate::domain::Recovered { expired, failed } = recovered;
                        tracing::info!(expired, failed, "leases of domains ran out");
                    }
                    failures = 0;
                    Some(recovered.expired)
                }
                Err(_) => {
                    failures += 1;
                    None
                }
            };
            tokio::time::sleep(wait(told, failures, chance::signed_unit())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Acquire, What};
    use tenure_core::Time;
    use tenure_memory::MemoryStore;
    use tenure_store::Clock;

    #[test]
    fn l7_full_steps_follow_at_once_and_an_absent_store_is_asked_less_and_less() {
        assert_eq!(wait(Some(PER_STEP), 0, 0.0), Duration::ZERO);
        assert_eq!(wait(Some(1), 0, 0.0), EVERY);
        let waits: Vec<u64> = (1..=6).map(|failures| wait(None, failures, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn l7_upkeep_tells_an_expiry() {
        let clock = Clock::manual(Time(0));
        let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
        tenure.domain_acquire_all(vec![Acquire::new("a", 1).lease_ms(1_000)]).await.unwrap();
        clock.set(Time(1_000_000));
        let _ = tokio::time::timeout(Duration::from_millis(10), tenure.keep_recovering()).await;
        let told = tenure.domain("a").timeline().await.unwrap().unwrap();
        assert_eq!(told.iter().map(|event| event.what).collect::<Vec<_>>(), [What::Expired]);
    }
}
