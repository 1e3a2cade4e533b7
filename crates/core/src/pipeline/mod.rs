//! Pipelines: runs made of stages, each stage claimed under a lease like any other work.
//!
//! A [`Definition`] is data: a graph of stages. A run of it is one [`Unit`] for each stage, and one more for each segment
//! of a stage that was split. [`Pipelines`] is all of it as one value, the reference for every backend.
//!
//! Always true:
//! - P2 only the orchestrator moves `NEW → READY`, only a holder `RUNNING → DONE`, only recovery takes a lease away that
//!   ran out; [`Status::may_become`] is the whole list;
//! - P3 an ending counts only under the lease that is current;
//! - P5 an advance happens once, however many orchestrators look;
//! - P6 a stage that was split is joined once all its segments are `DONE`, and only then.

mod event;
mod explain;
mod graph;
mod model;
mod request;
pub mod rules;
mod unit;

pub use event::{Event, What, timeline};
pub use explain::explain;
pub use graph::{Definition, Stage, downstream};
pub use model::Pipelines;
pub use request::{
    Act, Advanced, Applied, Beat, Beaten, Claim, Claims, Ended, Ending, Filter, History, NewRun, NewSegment, Recovered,
    Refusal, RunAction, RunRefusal, StartRefusal, Taken, UnitKey,
};
pub use unit::{
    Artifact, Attempt, ClaimedUnit, Outcome, PipelineInfo, Reason, Record, Run, RunId, RunStatus, Sealed,
    SegmentCounts, StageInfo, Status, Unit, Verb, compose_input,
};

/// How long a settled run is kept: seven days.
pub const RETENTION_MS: u64 = 7 * 24 * 3_600 * 1_000;
/// Stages of one pipeline.
pub const STAGES_MAX: u64 = 1_000;
/// Segments of one stage.
pub const SEGMENTS_MAX: u64 = 100_000;
/// Artifacts of one unit.
pub const ARTIFACTS_MAX: u64 = 1_000;
/// The largest version of a pipeline.
pub const VERSION_MAX: u64 = i32::MAX as u64;
/// Units that one claim returns to be claimed again, of those that ran out.
pub const RECOVERED_PER_CLAIM: u32 = 200;
