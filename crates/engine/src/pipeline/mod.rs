//! Pipelines: runs made of stages, each stage claimed under a lease (P1–P8).
//!
//! Three roles, three types, none of which can do another's work (P2):
//!
//! - [`Orchestrator`] makes `READY` what can start, releases retries, settles runs; it never does work.
//! - [`StageWorker`] claims stages and segments and ends them under its lease; it never touches what follows.
//! - [`Recovery`] returns work whose lease ran out.
//!
//! Any number of each may run at once, on any number of machines. [`Stages`] is a worker with handlers:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
//! use tenure::pipeline::{Definition, RunStatus, Stage, StageContext};
//! use tenure::prelude::*;
//!
//! async fn fetch(_: StageContext, url: String) -> Outcome<u64> {
//!     Outcome::done(url.len() as u64)
//! }
//! async fn report(_: StageContext, length: u64) -> Outcome<String> {
//!     Outcome::done(format!("{length} bytes"))
//! }
//!
//! let tenure = Tenure::open("memory:").await?;
//! let definition =
//!     Definition::new("mirror").stage(Stage::new("fetch")).stage(Stage::new("report").needs(["fetch"]));
//! tenure.apply(definition).await?;
//! let run = tenure.pipeline("mirror").start("http://example").await?;
//!
//! let stages = || tenure.stages("mirror").handle("fetch", fetch).handle("report", report);
//! while !run.info().await?.status.terminal() {
//!     tenure.orchestrator().advance(100).await?;
//!     stages().drain().await?;
//! }
//! assert_eq!(run.info().await?.status, RunStatus::Done);
//! assert_eq!(run.output::<String>("report").await?, "14 bytes");
//! # Ok(()) }
//! ```

pub mod artifacts;
mod context;
mod handle;
mod held;
mod orchestrator;
mod recovery;
mod runtime;
mod verbs;
mod verify;
mod worker;

pub use context::StageContext;
pub use handle::{ListPipelines, ListRuns, PipelineHandle, RunHandle, StartRun};
pub use held::{ClaimStages, HeldStage};
pub use orchestrator::Orchestrator;
pub use recovery::Recovery;
pub use runtime::{Segment, Stages, Units};
pub use tenure_core::pipeline::{
    ARTIFACTS_MAX, Act, Advanced, Applied, Artifact, Attempt, Beat, Beaten, Claim, ClaimedUnit, Claims, Definition,
    Ended, Ending, Event, Filter, History, NewRun, NewSegment, PipelineInfo, Reason, Record, Recovered, Refusal, Run,
    RunAction, RunId, RunRefusal, RunStatus, SEGMENTS_MAX, STAGES_MAX, Sealed, SegmentCounts, Stage, StageInfo, Status,
    Unit, UnitKey, Verb, What,
};
pub use verify::{Fault, Finding};
pub use worker::StageWorker;
