//! Whether the store keeps what this software promises, and what to do where it does not.

use crate::clock::wall;
use crate::{Result, Tenure};
use tenure_store::{Finding, Level};

/// A clock that is off by more than this surprises people: leases are judged by the store's alone (L5), but `run_at`
/// is usually written by looking at another.
const CLOCK_OFF_MS: u64 = 2_000;

impl Tenure {
    /// Looks at everything that could hurt: durability, room, clocks, whoever holds things up. Changes nothing.
    pub async fn doctor(&self) -> Result<Vec<Finding>> {
        let mut findings = self.store.examine().await?;
        let before = wall();
        let store = self.store.now().await?;
        let after = wall();
        findings.push(clock(store.ms_since(after).max(before.ms_since(store)), store > after));
        Ok(findings)
    }
}

fn clock(off_ms: u64, ahead: bool) -> Finding {
    if off_ms <= CLOCK_OFF_MS {
        return Finding::fine("clock", "this machine and the store agree");
    }
    let found =
        format!("the store's clock is {off_ms} ms {} this machine's", if ahead { "ahead of" } else { "behind" });
    let advice =
        "leases are safe, the store's clock alone judges them; set both by NTP so that `run_at` means what you think";
    Finding::advise("clock", Level::Warning, found, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestEngine;

    #[tokio::test]
    async fn a5_a_clock_that_is_off_is_told_with_its_direction() {
        let engine = TestEngine::new();
        let findings = engine.doctor().await.unwrap();
        let clock = findings.iter().find(|finding| finding.topic == "clock").unwrap();
        assert_eq!(clock.level, Level::Warning);
        assert!(clock.found.contains("behind") || clock.found.contains("ahead"), "{}", clock.found);
        let agreeing = Tenure::open("memory:").await.unwrap().doctor().await.unwrap();
        assert!(agreeing.iter().any(|finding| finding.topic == "clock" && finding.level == Level::Fine));
    }
}
