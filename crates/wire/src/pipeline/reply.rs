//! What is answered about pipelines, runs and units.

use crate::reply::paged;
use serde::Serialize;
use tenure::pipeline::{
    self, ClaimedUnit, Claims, Definition, PipelineInfo, Reason, Record, RunStatus, SegmentCounts, Stage, StageInfo,
    Status,
};
use tenure::serial::{Json, raw_or_null};
use tenure::{Page, Time, Token};
use utoipa::ToSchema;

/// A version of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// Which version.
    pub version: u32,
    /// When it was first applied.
    pub created_at: Time,
    /// Its stages, in the order in which they were sent.
    pub stages: Vec<Stage>,
}

impl From<PipelineInfo> for Pipeline {
    fn from(info: PipelineInfo) -> Pipeline {
        let Definition { name, version, stages } = info.definition;
        Pipeline { name, version, created_at: info.created_at, stages }
    }
}

/// Pipelines by name, each with its highest version.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pipelines {
    /// The page.
    pub pipelines: Vec<Pipeline>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl From<Page<PipelineInfo>> for Pipelines {
    fn from(page: Page<PipelineInfo>) -> Pipelines {
        let (pipelines, next_cursor) = paged(page, |of| of.definition.name.clone(), Pipeline::from);
        Pipelines { pipelines, next_cursor }
    }
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
pub struct Run {
    /// The run itself.
    #[serde(flatten)]
    #[schema(inline)]
    pub run: pipeline::Run,
    /// What it was started with; not in lists.
    #[serde(skip_serializing_if = "Option::is_none", with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub input: Option<String>,
    /// Its stages, in the order of its definition; not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<Unit>>,
}

impl Run {
    /// All that is known of a run and its stages.
    #[must_use]
    pub fn whole((mut run, stages): (pipeline::Run, Vec<StageInfo>)) -> Run {
        let input = Some(std::mem::take(&mut run.input));
        Run { run, input, stages: Some(stages.into_iter().map(Unit::stage).collect()) }
    }
}

/// Runs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Runs {
    /// The page.
    pub runs: Vec<Run>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl From<Page<pipeline::Run>> for Runs {
    fn from(page: Page<pipeline::Run>) -> Runs {
        let (runs, next_cursor) = paged(page, |run| run.id.to_string(), |run| Run { run, input: None, stages: None });
        Runs { runs, next_cursor }
    }
}

/// A stage or a segment.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unit {
    /// The stage, or the segment.
    pub name: String,
    /// NEW, READY, RUNNING, DONE or ERROR.
    pub status: Status,
    /// Why it is finally ERROR: failed, attempts_spent, crash_limit, cancelled or segment_failed.
    pub reason: Option<Reason>,
    /// The stages that must be DONE before it.
    pub needs: Vec<String>,
    /// Attempts counted so far.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// When it is tried again.
    pub retry_at: Option<Time>,
    /// Whether its holder may split it.
    pub segmented: bool,
    /// Its segments, once it was split.
    pub segments: Option<SegmentCounts>,
    /// Who holds it.
    pub worker: Option<String>,
    /// The token of its last claim.
    pub token: Option<Token>,
    /// When its lease runs out.
    pub lease_expires_at: Option<Time>,
    /// When it last changed its status.
    pub updated_at: Time,
    /// What its holder last said about its progress.
    #[serde(with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub progress: Option<String>,
    /// A segment's own input.
    #[serde(with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub input: Option<String>,
    /// What it came to.
    #[serde(with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub output: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What was recorded of its outputs.
    pub artifacts: Vec<Artifact>,
}

/// A file that a unit made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordedArtifact)]
pub struct Artifact {
    /// The file.
    #[serde(flatten)]
    #[schema(inline)]
    pub artifact: pipeline::Artifact,
    /// The claim under which it was recorded.
    pub token: Token,
}

fn recorded(record: Option<Record>) -> Vec<Artifact> {
    let Some(Record { token, artifacts, .. }) = record else { return Vec::new() };
    artifacts.into_iter().map(|artifact| Artifact { artifact, token }).collect()
}

impl Unit {
    fn stage(of: StageInfo) -> Unit {
        let StageInfo { unit, segments } = of;
        let segments = unit.split.then_some(segments);
        Unit { segments, ..Unit::of(unit) }
    }

    /// A stage or a segment by itself.
    #[must_use]
    pub fn of(unit: pipeline::Unit) -> Unit {
        Unit {
            name: unit.segment.unwrap_or(unit.stage),
            status: unit.status,
            reason: unit.reason,
            needs: unit.needs,
            attempt: unit.attempt,
            attempts_max: unit.attempts_max,
            retry_at: unit.retry_at,
            segmented: unit.segmented,
            segments: None,
            lease_expires_at: unit.lease.as_ref().map(|lease| lease.expires_at),
            worker: unit.lease.map(|lease| lease.owner),
            token: unit.token,
            updated_at: unit.changed_at,
            progress: unit.progress,
            input: unit.input,
            output: unit.output,
            error: unit.error,
            artifacts: recorded(unit.record),
        }
    }
}

/// Segments of a stage, in the order of the split.
#[derive(Debug, Serialize, ToSchema)]
pub struct SegmentPage {
    /// The page.
    pub segments: Vec<Unit>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl From<Page<pipeline::Unit>> for SegmentPage {
    fn from(page: Page<pipeline::Unit>) -> SegmentPage {
        let (segments, next_cursor) = paged(page, |unit| unit.id.to_string(), Unit::of);
        SegmentPage { segments, next_cursor }
    }
}

/// The answer to a claim.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedUnits {
    /// The units, by priority and age; none if nothing is READY.
    pub units: Vec<Claimed>,
}

/// A unit in the hands of its claimer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClaimedUnit)]
pub struct Claimed {
    /// The unit.
    #[serde(flatten)]
    #[schema(inline)]
    pub unit: ClaimedUnit,
    /// What an earlier holder recorded of its outputs.
    pub artifacts: Vec<Artifact>,
}

impl From<Claims> for ClaimedUnits {
    fn from(claims: Claims) -> ClaimedUnits {
        let one = |mut unit: ClaimedUnit| Claimed { artifacts: recorded(unit.record.take()), unit };
        ClaimedUnits { units: claims.units.into_iter().map(one).collect() }
    }
}

/// The answer to a heartbeat of a unit.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnitBeaten {
    /// When the lease runs out now.
    pub lease_expires_at: Time,
    /// Always false: cancelling a run ends its leases at once.
    pub cancel_requested: bool,
}

/// The answer to an operator's action on a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunActed {
    /// Where the run stands.
    pub status: RunStatus,
}

/// What a look at the artifacts of a run found.
#[derive(Debug, Serialize)]
pub struct Verified {
    /// Artifacts that were looked at.
    pub artifacts: u64,
    /// Those that are not what was recorded.
    pub findings: Vec<Found>,
    /// Where the run stands after a repair.
    pub repaired: Option<RunStatus>,
}

/// An artifact that is not what was recorded.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The stage that made it.
    pub stage: String,
    /// The segment that made it.
    pub segment: Option<String>,
    /// Where it should be.
    pub path: String,
    /// `missing`, `corrupt` or `unreadable`.
    pub fault: &'static str,
    /// Why it is unreadable.
    pub why: Option<String>,
}

impl Verified {
    /// What was found, and what was done about it.
    #[must_use]
    pub fn new(artifacts: u64, findings: Vec<tenure::pipeline::Finding>, repaired: Option<RunStatus>) -> Verified {
        let one = |finding: tenure::pipeline::Finding| Found {
            stage: finding.unit.stage,
            segment: finding.unit.segment,
            path: finding.artifact.path,
            fault: finding.fault.as_str(),
            why: finding.why,
        };
        Verified { artifacts, findings: findings.into_iter().map(one).collect(), repaired }
    }
}
