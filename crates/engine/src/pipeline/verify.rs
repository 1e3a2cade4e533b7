//! Whether the artifacts of a run are still what was recorded of them, and what to do if not (P7).

use super::artifacts::{ArtifactStore, Validity, validate};
use super::{Artifact, RunAction, RunId, RunStatus, Status, Unit, UnitKey};
use crate::{Error, Result, Tenure};
use std::collections::BTreeSet;
use tenure_core::bounds;

/// What is wrong with an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not there.
    Missing,
    /// It is there, and is not what was recorded.
    Corrupt,
}

impl Fault {
    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::Missing => "missing",
            Fault::Corrupt => "corrupt",
        }
    }
}

/// An artifact of a `DONE` unit that is not what its completion recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The unit that made it.
    pub unit: UnitKey,
    /// What was recorded.
    pub artifact: Artifact,
    /// What is wrong.
    pub fault: Fault,
}

impl Tenure {
    /// Compares every artifact that the `DONE` stages and segments of a run recorded with what is there. Answers how many
    /// were looked at, and those that are missing or corrupt.
    pub async fn verify_run(&self, id: RunId, artifacts: &dyn ArtifactStore) -> Result<(u64, Vec<Finding>)> {
        let found = self.run(id).await?.ok_or_else(|| Error::Absent(format!("run {id}")))?;
        let mut looked_at = 0;
        let mut findings = Vec::new();
        for stage in found.1 {
            let name = stage.unit.stage.clone();
            looked_at += check(&stage.unit, artifacts, &mut findings).await?;
            let (mut after, mut more) = (None, stage.segments.all > 0);
            while more {
                let page = self.segments(id, &name, after, bounds::LIST_MAX as u32).await?;
                for segment in &page.items {
                    looked_at += check(segment, artifacts, &mut findings).await?;
                }
                (after, more) = (page.items.last().map(|unit| unit.id), page.more);
            }
        }
        Ok((looked_at, findings))
    }

    /// Has exactly the units of these findings done again; where the run stands then.
    pub async fn repair_run(&self, id: RunId, findings: &[Finding]) -> Result<RunStatus> {
        let units: BTreeSet<_> =
            findings.iter().map(|finding| (finding.unit.stage.clone(), finding.unit.segment.clone())).collect();
        self.operate_run(id, RunAction::Repair { units: units.into_iter().collect() }).await
    }
}

async fn check(unit: &Unit, artifacts: &dyn ArtifactStore, findings: &mut Vec<Finding>) -> Result<u64> {
    if unit.status != Status::Done {
        return Ok(0);
    }
    let recorded = unit.record.as_ref().map(|record| record.artifacts.as_slice()).unwrap_or_default();
    for artifact in recorded {
        let fault = match validate(artifacts, artifact).await? {
            Validity::Valid => continue,
            Validity::Missing => Fault::Missing,
            Validity::Corrupt => Fault::Corrupt,
        };
        let key = UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() };
        findings.push(Finding { unit: key, artifact: artifact.clone(), fault });
    }
    Ok(recorded.len() as u64)
}
