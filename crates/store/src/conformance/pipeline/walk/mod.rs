//! The random walk over pipelines: a store and [`Pipelines`](tenure_core::pipeline::Pipelines) side by side, from a
//! seed.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both and is shrunk to the operations
//! it needs. Walks that missed something of [`PipelineMet`] prove nothing, and fail.

mod draw;
mod run;

use crate::conformance::Harness;
use draw::{Step, draw};
use run::{Failed, run};
use std::collections::BTreeMap;
use std::ops::Range;
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

/// A walk for each seed, or only for `TENURE_SEED` if it is set; `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if long walks missed something worth meeting.
pub async fn pipeline_walks<H: Harness>(seeds: Range<u64>, steps: u32) -> PipelineReport {
    let from_env = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let steps = from_env("TENURE_STEPS").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(steps);
    let seeds = from_env("TENURE_SEED").map_or(seeds, |seed| seed..seed + 1);
    let mut total = PipelineReport::default();
    for seed in seeds {
        let drawn = draw(seed, steps);
        match run::<H>(&drawn).await {
            Ok(report) => {
                total.steps += report.steps;
                report.met.into_iter().for_each(|(met, times)| *total.met.entry(met).or_default() += times);
            }
            Err(failed) => {
                let (step, wrong) = failed.clone();
                let (shrunk, (_, last)) = shrink::<H>(drawn, failed).await;
                let list: String = shrunk.iter().map(|step| format!("\n  {step:?}")).collect();
                let count = shrunk.len();
                let again = format!("TENURE_SEED={seed} TENURE_STEPS={steps}");
                panic!(
                    "pipeline walk {seed}, step {step} of {steps}: {wrong}\nshrunk to {count}:{list}\nthe last of which \
                     is wrong: {last}\nagain: {again}"
                );
            }
        }
    }
    let missed: Vec<_> = PipelineMet::ALL.iter().filter(|met| !total.met.contains_key(met)).collect();
    assert!(total.steps < LONG || missed.is_empty(), "{} operations never met {missed:?}", total.steps);
    total
}

/// Deletes chunks, ever smaller ones, while what is left still fails.
async fn shrink<H: Harness>(mut steps: Vec<Step>, mut failed: Failed) -> (Vec<Step>, Failed) {
    let until = Instant::now() + PATIENCE;
    steps.truncate(failed.0 + 1);
    let mut chunk = steps.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < steps.len() && Instant::now() < until {
            let end = (at + chunk).min(steps.len());
            let shorter: Vec<Step> = steps[..at].iter().chain(&steps[end..]).cloned().collect();
            match run::<H>(&shorter).await {
                Err(still) => {
                    steps = shorter;
                    steps.truncate(still.0 + 1);
                    failed = still;
                }
                Ok(_) => at = end,
            }
        }
        if chunk <= 1 || Instant::now() >= until {
            return (steps, failed);
        }
        chunk = chunk.div_ceil(2);
    }
}
