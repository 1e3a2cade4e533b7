//! What is answered about pipelines, runs and units.

use crate::reply::{Backoff, Json, paged};
use serde::Serialize;
use tenure::pipeline::{
    Artifact as Recorded, ClaimedUnit, Claims, Definition, Ended, PipelineInfo, Record, Run as OfRun, RunStatus, Stage,
    StageInfo, Unit as OfUnit,
};
use tenure::{Page, Time};
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
    pub stages: Vec<PipelineStage>,
}

/// A stage of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct PipelineStage {
    /// Its name.
    pub name: String,
    /// The stages that must be DONE before it.
    pub needs: Vec<String>,
    /// How long a claim lasts unless renewed.
    pub lease_ms: u64,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// Higher is claimed first.
    pub priority: i32,
    /// Whether its holder may split it.
    pub segmented: bool,
}

impl From<PipelineInfo> for Pipeline {
    fn from(info: PipelineInfo) -> Pipeline {
        let stage = |of: Stage| PipelineStage {
            name: of.name,
            needs: of.needs,
            lease_ms: of.lease_ms,
            attempts_max: of.attempts_max,
            backoff: of.backoff.map(Backoff::from),
            priority: of.priority,
            segmented: of.segmented,
        };
        let Definition { name, version, stages } = info.definition;
        Pipeline { name, version, created_at: info.created_at, stages: stages.into_iter().map(stage).collect() }
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
    /// Its id; opaque.
    pub id: String,
    /// The pipeline.
    pub pipeline: String,
    /// Under which version it runs.
    pub version: u32,
    /// RUNNING, DONE or ERROR.
    pub status: &'static str,
    /// Whether none of its stages is handed out.
    pub paused: bool,
    /// When it was started.
    pub created_at: Time,
    /// When it was settled.
    pub finished_at: Option<Time>,
    /// The key under which it was started.
    pub key: Option<String>,
    /// What it was started with; not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Its stages, in the order of its definition; not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<Unit>>,
}

impl Run {
    /// A run as a list shows it.
    #[must_use]
    pub fn brief(run: OfRun) -> Run {
        Run {
            id: run.id.to_string(),
            pipeline: run.pipeline,
            version: run.version,
            status: run.status.as_str(),
            paused: run.paused,
            created_at: run.created_at,
            finished_at: run.finished_at,
            key: run.key,
            input: None,
            stages: None,
        }
    }

    /// All that is known of a run and its stages.
    #[must_use]
    pub fn whole((run, stages): (OfRun, Vec<StageInfo>)) -> Run {
        let input = Some(Json::kept(run.input.clone()));
        let stages = Some(stages.into_iter().map(Unit::stage).collect());
        Run { input, stages, ..Run::brief(run) }
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

impl From<Page<OfRun>> for Runs {
    fn from(page: Page<OfRun>) -> Runs {
        let (runs, next_cursor) = paged(page, |run| run.id.to_string(), Run::brief);
        Runs { runs, next_cursor }
    }
}

/// How many segments of a stage stand where.
#[derive(Debug, Serialize, ToSchema)]
pub struct Segments {
    /// All of them.
    pub all: u64,
    /// Waiting to be claimed.
    pub ready: u64,
    /// Held.
    pub running: u64,
    /// Finished well.
    pub done: u64,
    /// Went wrong, finally or not.
    pub error: u64,
}

/// A stage or a segment.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unit {
    /// The stage, or the segment.
    pub name: String,
    /// NEW, READY, RUNNING, DONE or ERROR.
    pub status: &'static str,
    /// Why it is finally ERROR: failed, attempts_spent, crash_limit, cancelled or segment_failed.
    pub reason: Option<&'static str>,
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
    pub segments: Option<Segments>,
    /// Who holds it.
    pub worker: Option<String>,
    /// The token of its last claim.
    pub token: Option<i64>,
    /// When its lease runs out.
    pub lease_expires_at: Option<Time>,
    /// When it last changed its status.
    pub updated_at: Time,
    /// What its holder last said about its progress.
    pub progress: Option<Json>,
    /// A segment's own input.
    pub input: Option<Json>,
    /// What it came to.
    pub output: Option<Json>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What was recorded of its outputs.
    pub artifacts: Vec<Artifact>,
}

/// A file that a unit made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordedArtifact)]
pub struct Artifact {
    /// Where it is.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Its BLAKE3 hash.
    pub blake3: String,
    /// The claim under which it was recorded.
    pub token: i64,
}

fn recorded(record: Option<Record>) -> Vec<Artifact> {
    let Some(Record { token, artifacts, .. }) = record else { return Vec::new() };
    let one = |of: Recorded| Artifact { path: of.path, size: of.size, blake3: of.blake3, token: token.0 };
    artifacts.into_iter().map(one).collect()
}

impl Unit {
    fn stage(of: StageInfo) -> Unit {
        let StageInfo { unit, segments: s } = of;
        let segments = Segments { all: s.all, ready: s.ready, running: s.running, done: s.done, error: s.error };
        let segments = unit.split.then_some(segments);
        Unit { segments, ..Unit::of(unit) }
    }

    /// A stage or a segment by itself.
    #[must_use]
    pub fn of(unit: OfUnit) -> Unit {
        Unit {
            name: unit.segment.unwrap_or(unit.stage),
            status: unit.status.as_str(),
            reason: unit.reason.map(|reason| reason.as_str()),
            needs: unit.needs,
            attempt: unit.attempt,
            attempts_max: unit.attempts_max,
            retry_at: unit.retry_at,
            segmented: unit.segmented,
            segments: None,
            lease_expires_at: unit.lease.as_ref().map(|lease| lease.expires_at),
            worker: unit.lease.map(|lease| lease.owner),
            token: unit.token.map(|token| token.0),
            updated_at: unit.changed_at,
            progress: unit.progress.map(Json::kept),
            input: unit.input.map(Json::kept),
            output: unit.output.map(Json::kept),
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

impl From<Page<OfUnit>> for SegmentPage {
    fn from(page: Page<OfUnit>) -> SegmentPage {
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
    /// The run.
    pub run: String,
    /// The pipeline.
    pub pipeline: String,
    /// Under which version it runs.
    pub version: u32,
    /// The stage.
    pub stage: String,
    /// The segment; null is the stage itself.
    pub segment: Option<String>,
    /// Whether all segments are DONE and their outputs are to be joined.
    pub join: bool,
    /// Whether it may be split.
    pub segmented: bool,
    /// What it works on: the run's input, the output of its only prerequisite, an object of the outputs of several, or
    /// the segment's own.
    pub input: Json,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// The fencing token of this claim.
    pub token: i64,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
    /// What an earlier holder recorded of its outputs.
    pub artifacts: Vec<Artifact>,
}

impl From<Claims> for ClaimedUnits {
    fn from(claims: Claims) -> ClaimedUnits {
        let one = |unit: ClaimedUnit| Claimed {
            run: unit.run.to_string(),
            pipeline: unit.pipeline,
            version: unit.version,
            stage: unit.stage,
            segment: unit.segment,
            join: unit.join,
            segmented: unit.segmented,
            input: Json::kept(unit.input),
            attempt: unit.attempt,
            attempts_max: unit.attempts_max,
            token: unit.token.0,
            lease_expires_at: unit.lease_expires_at,
            artifacts: recorded(unit.record),
        };
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

impl From<tenure::pipeline::Beaten> for UnitBeaten {
    fn from(beaten: tenure::pipeline::Beaten) -> UnitBeaten {
        UnitBeaten { lease_expires_at: beaten.lease_expires_at, cancel_requested: false }
    }
}

/// The answer to an ending of a unit.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnitEnded {
    /// Where the unit stands: DONE, ERROR, READY (released) or NEW (split).
    pub status: &'static str,
    /// Whether this very ending had been accepted before.
    pub already: bool,
}

impl From<Ended> for UnitEnded {
    fn from(ended: Ended) -> UnitEnded {
        UnitEnded { status: ended.status.as_str(), already: ended.already }
    }
}

/// The answer to an operator's action on a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunActed {
    /// Where the run stands.
    pub status: &'static str,
}

impl From<RunStatus> for RunActed {
    fn from(status: RunStatus) -> RunActed {
        RunActed { status: status.as_str() }
    }
}

/// What happened to a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunTimeline {
    /// Oldest first.
    pub events: Vec<RunEvent>,
}

/// One thing that happened to a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunEvent {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `started`, `claimed`, `split`, `expired`, `refused` …
    pub what: &'static str,
    /// To which stage; null is the run itself.
    pub stage: Option<String>,
    /// To which segment.
    pub segment: Option<String>,
    /// Under which token.
    pub token: Option<i64>,
    /// By or from whom.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// How often, where repetitions are counted into one event.
    pub count: u32,
    /// The whole of it as a sentence.
    pub message: String,
}

impl From<Vec<tenure::pipeline::Event>> for RunTimeline {
    fn from(events: Vec<tenure::pipeline::Event>) -> RunTimeline {
        let one = |event: tenure::pipeline::Event| RunEvent {
            at: event.at,
            first_at: event.first_at,
            count: event.count,
            what: event.what.as_str(),
            token: event.token.map(|token| token.0),
            message: event.message(),
            stage: event.stage,
            segment: event.segment,
            owner: event.owner,
            by: event.by,
        };
        RunTimeline { events: events.into_iter().map(one).collect() }
    }
}

/// What a look at the artifacts of a run found.
#[derive(Debug, Serialize)]
pub struct Verified {
    /// Artifacts that were looked at.
    pub artifacts: u64,
    /// Those that are not what was recorded.
    pub findings: Vec<Found>,
    /// Where the run stands after a repair.
    pub repaired: Option<&'static str>,
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
        let repaired = repaired.map(RunStatus::as_str);
        Verified { artifacts, findings: findings.into_iter().map(one).collect(), repaired }
    }
}
