//! Whether the artifacts of a run are still what was recorded of them, and what to do if not (P7).

use super::artifacts::{self, ArtifactStore, Validity, validate};
use super::{Artifact, RunAction, RunId, RunStatus, Status, Unit, UnitKey};
use crate::{Error, Result, Verbs};
use std::collections::BTreeSet;
use tenure_core::bounds;

/// What is wrong with an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not there.
    Missing,
    /// It is there, and is not what was recorded.
    Corrupt,
    /// It cannot be read: no file, no path of its unit, not allowed, or a store that does not answer. Nobody knows
    /// whether it is what was recorded, so a repair leaves it alone.
    Unreadable,
}

impl Fault {
    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::Missing => "missing",
            Fault::Corrupt => "corrupt",
            Fault::Unreadable => "unreadable",
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
    /// Why it is unreadable.
    pub why: Option<String>,
}

impl Verbs<'_> {
    /// Compares every artifact that the `DONE` stages and segments of a run recorded with what is there. Answers how many
    /// were looked at, and those that are missing, corrupt or unreadable; one of them keeps no other from being looked at.
    pub async fn verify_run(self, id: RunId, artifacts: &dyn ArtifactStore) -> Result<(u64, Vec<Finding>)> {
        let (run, stages) = self.run(id).await?.ok_or_else(|| Error::NotFound(format!("run {id}")))?;
        let mut looked_at = 0;
        let mut findings = Vec::new();
        for stage in stages {
            let name = stage.unit.stage.clone();
            looked_at += check(&stage.unit, run.version, artifacts, &mut findings).await;
            let (mut after, mut more) = (None, stage.segments.all > 0);
            while more {
                let page = self.segments(id, &name, after, bounds::LIST_MAX as u32).await?;
                for segment in &page.items {
                    looked_at += check(segment, run.version, artifacts, &mut findings).await;
                }
                (after, more) = (page.items.last().map(|unit| unit.id), page.more);
            }
        }
        Ok((looked_at, findings))
    }

    /// Has exactly the units of these findings done again, but for unreadable ones; where the run stands then.
    pub async fn repair_run(self, id: RunId, findings: &[Finding]) -> Result<RunStatus> {
        let damaged = findings.iter().filter(|finding| finding.fault != Fault::Unreadable);
        let units: BTreeSet<_> =
            damaged.map(|finding| (finding.unit.stage.clone(), finding.unit.segment.clone())).collect();
        self.operate_run(id, RunAction::Repair { units: units.into_iter().collect() }).await
    }
}

async fn check(unit: &Unit, version: u32, artifacts: &dyn ArtifactStore, findings: &mut Vec<Finding>) -> u64 {
    if unit.status != Status::Done {
        return 0;
    }
    let own = artifacts::path(unit.run, &unit.stage, version, unit.segment.as_deref(), "");
    let recorded = unit.record.as_ref().map(|record| record.artifacts.as_slice()).unwrap_or_default();
    for artifact in recorded {
        let (fault, why) = match looked_at(artifact, &own, artifacts).await {
            Ok(Validity::Valid) => continue,
            Ok(Validity::Missing) => (Fault::Missing, None),
            Ok(Validity::Corrupt) => (Fault::Corrupt, None),
            Err(why) => (Fault::Unreadable, Some(why)),
        };
        let key = UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() };
        findings.push(Finding { unit: key, artifact: artifact.clone(), fault, why });
    }
    recorded.len() as u64
}

/// An artifact of the unit whose paths begin with `own`, or why it cannot be read.
async fn looked_at(
    artifact: &Artifact,
    own: &str,
    artifacts: &dyn ArtifactStore,
) -> std::result::Result<Validity, String> {
    // A worker of another language records what it says: it may name what another unit made, or a stranger's file.
    if !artifact.path.starts_with(own) {
        return Err(format!("it is not below {own}, where its unit's artifacts are"));
    }
    validate(artifacts, artifact).await.map_err(|error| match error {
        Error::Artifact { message, .. } => message,
        error => error.to_string(),
    })
}
