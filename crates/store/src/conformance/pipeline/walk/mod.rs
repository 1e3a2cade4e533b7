//! The random walk over pipelines: a store and [`Pipelines`](tenure_core::pipeline::Pipelines) side by side, from a
//! seed.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both and is shrunk to the operations
//! it needs. Walks that missed something of [`PipelineMet`] prove nothing, and fail.

mod draw;
mod run;

use super::PipelineHarness;
use draw::{Step, draw};
use run::{Failed, run};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Operations over all walks from which on everything worth meeting is expected.
const LONG: u64 = 20_000;
/// How long shrinking may take.
const PATIENCE: Duration = Duration::from_secs(40);

macro_rules! worth_meeting {
    ($($(#[$doc:meta])* $met:ident,)+) => {
        /// What a walk over pipelines must meet to prove anything.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum PipelineMet { $($(#[$doc])* $met,)+ }

        impl PipelineMet {
            /// Everything worth meeting.
            pub const ALL: &[PipelineMet] = &[$(PipelineMet::$met,)+];
        }
    };
}

worth_meeting! {
    /// An ending under a lease that had run out was refused.
    StaleFinishRefused,
    /// A heartbeat under a lost lease was refused.
    BeatRefused,
    /// Several heartbeats were sent in one call.
    ManyBeats,
    /// A holder of a cancelled run was told.
    CancelledTold,
    /// An ending sent again was answered as the first time (L12).
    Already,
    /// Another verb under an ended claim was refused.
    OtherVerbRefused,
    /// A sweep returned a unit (L7).
    RecoveredBySweep,
    /// A claim returned a unit (L7).
    RecoveredByClaim,
    /// An expiry was the last (L6).
    CrashLimit,
    /// The orchestrator released a unit to be tried again (P4).
    RetryReleased,
    /// A stage was split (P6).
    Split,
    /// A join was claimed (P6).
    JoinClaimed,
    /// A segment failed its stage (P6).
    SegmentFailed,
    /// A split was refused.
    SplitRefused,
    /// A record was handed to the next attempt (P7).
    RecordHandedOn,
    /// A run ended well.
    RunDone,
    /// A run ended as `ERROR` by itself.
    RunError,
    /// A run was cancelled (S6).
    Cancelled,
    /// A run was retried (L9).
    Retried,
    /// A run was retried from a stage.
    RetriedFrom,
    /// A unit was repaired (P7).
    Repaired,
    /// A run was paused.
    Paused,
    /// An operator's action was refused.
    ActionRefused,
    /// A run sent again under its key was answered as the first time (Q7).
    StartedAgain,
    /// A key belonged to another run.
    KeyTaken,
    /// A version was refused.
    VersionTaken,
    /// A claim named what is not on record.
    AbsentClaimed,
    /// A settled run was removed.
    Pruned,
    /// The epoch was raised (L2).
    EpochRaised,
}

/// What walks met.
#[derive(Clone, Debug, Default)]
pub struct PipelineReport {
    /// Operations applied to the store and to core.
    pub steps: u64,
    /// What happened on the way, and how often.
    pub met: BTreeMap<PipelineMet, u64>,
}

/// A walk on which the store was wrong.
#[derive(Clone, Debug)]
pub struct PipelineFailure {
    /// The seed of the walk.
    pub seed: u64,
    /// Its length.
    pub steps: u32,
    /// The step at which it was noticed, from 0.
    pub step: usize,
    /// What was wrong there.
    pub message: String,
    /// The operations that still fail, after shrinking.
    pub shrunk: Vec<String>,
    /// What is wrong at the last of them.
    pub shrunk_message: String,
}

impl fmt::Display for PipelineFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PipelineFailure { seed, steps, step, message, shrunk, shrunk_message } = self;
        writeln!(f, "pipeline walk {seed}, step {step} of {steps}: {message}")?;
        writeln!(f, "shrunk to {} operations:", shrunk.len())?;
        for (i, op) in shrunk.iter().enumerate() {
            writeln!(f, "  {i:3}  {op}")?;
        }
        writeln!(f, "the last of which is wrong: {shrunk_message}")?;
        write!(f, "again: TENURE_SEED={seed} TENURE_STEPS={steps}")
    }
}

/// One walk of `steps` operations drawn from `seed`, on a new store.
pub async fn pipeline_walk<H: PipelineHarness>(seed: u64, steps: u32) -> Result<PipelineReport, Box<PipelineFailure>> {
    let drawn = draw(seed, steps);
    match attempt::<H>(drawn.clone()).await {
        Ok(report) => Ok(report),
        Err((step, message)) => {
            let (shrunk, (_, shrunk_message)) = shrink::<H>(drawn, (step, message.clone())).await;
            let shrunk = shrunk.iter().map(|step| format!("{step:?}")).collect();
            Err(Box::new(PipelineFailure { seed, steps, step, message, shrunk, shrunk_message }))
        }
    }
}

/// A walk for each seed, or only for `TENURE_SEED` if it is set; `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if long walks missed something worth meeting.
pub async fn pipeline_walks<H: PipelineHarness>(seeds: Range<u64>, steps: u32) -> PipelineReport {
    let from_env = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let steps = from_env("TENURE_STEPS").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(steps);
    let seeds = from_env("TENURE_SEED").map_or(seeds, |seed| seed..seed + 1);
    let mut total = PipelineReport::default();
    for seed in seeds {
        match pipeline_walk::<H>(seed, steps).await {
            Ok(report) => {
                total.steps += report.steps;
                report.met.into_iter().for_each(|(met, times)| *total.met.entry(met).or_default() += times);
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    let missed: Vec<_> = PipelineMet::ALL.iter().filter(|met| !total.met.contains_key(met)).collect();
    assert!(total.steps < LONG || missed.is_empty(), "{} operations never met {missed:?}", total.steps);
    total
}

/// Runs a list in a task of its own, so that a panic of the store is a failure like any other.
async fn attempt<H: PipelineHarness>(steps: Vec<Step>) -> Result<PipelineReport, Failed> {
    let at = Arc::new(AtomicUsize::new(0));
    match tokio::spawn(run::<H>(steps, at.clone())).await {
        Ok(result) => result,
        Err(error) => Err((at.load(Ordering::Relaxed), format!("the store panicked: {error}"))),
    }
}

/// Deletes chunks, ever smaller ones, while what is left still fails.
async fn shrink<H: PipelineHarness>(mut steps: Vec<Step>, mut failed: Failed) -> (Vec<Step>, Failed) {
    let until = Instant::now() + PATIENCE;
    steps.truncate(failed.0 + 1);
    let mut chunk = steps.len().div_ceil(2);
    loop {
        let (mut at, mut deleted) = (0, false);
        while at < steps.len() && steps.len() > 1 && Instant::now() < until {
            let end = (at + chunk).min(steps.len());
            let shorter: Vec<Step> = steps[..at].iter().chain(&steps[end..]).cloned().collect();
            match attempt::<H>(shorter.clone()).await {
                Err(still) => {
                    (steps, deleted) = (shorter, true);
                    steps.truncate(still.0 + 1);
                    failed = still;
                }
                Ok(_) => at = end,
            }
        }
        match chunk {
            1 if !deleted || Instant::now() >= until => return (steps, failed),
            _ => chunk = chunk.div_ceil(2),
        }
    }
}
