//! The random walk of schedules: a store and core side by side, step by step, from a seed.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both, and is shrunk to the operations
//! it needs. A walk that met nothing proves nothing: [`schedule_walks`] fails if something on the list of
//! [`ScheduleMet`] was missed.

mod op;
mod run;

use crate::conformance::Harness;
use op::Step;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Operations over all walks from which on each [`ScheduleMet`] is expected.
const LONG: u64 = 3_000;
/// How long shrinking may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The step that failed, and what was wrong.
type Failed = (usize, String);

/// What a walk of schedules must meet to prove anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduleMet {
    /// One slot was fired.
    FiredOne,
    /// Several slots were fired at once.
    FiredMany,
    /// Slots were dropped.
    Dropped,
    /// More were fired than are kept.
    Trimmed,
    /// A firing from an older look was refused.
    FireChanged,
    /// A firing of one that rests was refused.
    FirePaused,
    /// A firing before its time was refused.
    FireNotDue,
    /// … which had been due until the clock stepped back.
    FireAfterStepBack,
    /// A firing over slots that were dealt with was refused.
    FireBehind,
    /// A firing of one that is gone was refused.
    FireAbsent,
    /// A definition was put in place.
    Created,
    /// One was put again after it was removed.
    CreatedAgain,
    /// A change left the cursor where it was.
    CursorKept,
    /// A change moved it.
    CursorMoved,
    /// The same definition again changed nothing.
    SamePut,
    /// A change from an older look was refused.
    PutChanged,
    /// A change that would go back was refused.
    PutBehind,
}

impl ScheduleMet {
    /// Everything worth meeting.
    pub const ALL: &[ScheduleMet] = &[
        ScheduleMet::FiredOne,
        ScheduleMet::FiredMany,
        ScheduleMet::Dropped,
        ScheduleMet::Trimmed,
        ScheduleMet::FireChanged,
        ScheduleMet::FirePaused,
        ScheduleMet::FireNotDue,
        ScheduleMet::FireAfterStepBack,
        ScheduleMet::FireBehind,
        ScheduleMet::FireAbsent,
        ScheduleMet::Created,
        ScheduleMet::CreatedAgain,
        ScheduleMet::CursorKept,
        ScheduleMet::CursorMoved,
        ScheduleMet::SamePut,
        ScheduleMet::PutChanged,
        ScheduleMet::PutBehind,
    ];
}

/// What a walk met.
#[derive(Clone, Debug, Default)]
pub struct ScheduleReport {
    /// Operations applied to the store and to core.
    pub steps: u64,
    /// What happened on the way, and how often.
    pub met: BTreeMap<ScheduleMet, u64>,
}

/// A walk on which the store was wrong.
#[derive(Clone, Debug)]
pub struct ScheduleFailure {
    /// The seed of the walk.
    pub seed: u64,
    /// Its length.
    pub steps: u32,
    /// What was wrong.
    pub message: String,
    /// The operations that still fail, after shrinking.
    pub shrunk: Vec<String>,
}

impl fmt::Display for ScheduleFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "schedule walk {} of {} steps: {}", self.seed, self.steps, self.message)?;
        writeln!(f, "shrunk to {} operations:", self.shrunk.len())?;
        for (i, op) in self.shrunk.iter().enumerate() {
            writeln!(f, "  {i:3}  {op}")?;
        }
        write!(f, "again: TENURE_SEED={} TENURE_STEPS={}", self.seed, self.steps)
    }
}

/// One walk of `steps` operations drawn from `seed`, on a new store.
pub async fn schedule_walk<H: Harness>(seed: u64, steps: u32) -> Result<ScheduleReport, Box<ScheduleFailure>> {
    let drawn = op::draw(seed, steps);
    match attempt::<H>(drawn.clone()).await {
        Ok(report) => Ok(report),
        Err(failed) => {
            let (shrunk, message) = shrink::<H>(drawn, failed).await;
            let shrunk = shrunk.iter().map(|step| format!("{step:?}")).collect();
            Err(Box::new(ScheduleFailure { seed, steps, message, shrunk }))
        }
    }
}

/// A walk for each seed, or only for `TENURE_SEED` if it is set. `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if the walks together were long and still missed something worth meeting.
pub async fn schedule_walks<H: Harness>(seeds: Range<u64>, steps: u32) -> ScheduleReport {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let steps = set("TENURE_STEPS").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(steps);
    let seeds = set("TENURE_SEED").map_or(seeds, |seed| seed..seed + 1);
    let mut total = ScheduleReport::default();
    for seed in seeds {
        match schedule_walk::<H>(seed, steps).await {
            Ok(report) => {
                total.steps += report.steps;
                report.met.into_iter().for_each(|(met, times)| *total.met.entry(met).or_default() += times);
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    let missed: Vec<_> = ScheduleMet::ALL.iter().filter(|met| !total.met.contains_key(met)).collect();
    assert!(total.steps < LONG || missed.is_empty(), "{} operations never met {missed:?}", total.steps);
    total
}

/// Runs a list in a task of its own, so that a panic of the store is a failure like any other.
async fn attempt<H: Harness>(steps: Vec<Step>) -> Result<ScheduleReport, Failed> {
    let last = steps.len().saturating_sub(1);
    match tokio::spawn(run::run::<H>(steps)).await {
        Ok(result) => result,
        Err(error) => Err((last, format!("the store panicked: {error}"))),
    }
}

/// Deletes ever smaller chunks while what is left still fails.
async fn shrink<H: Harness>(mut steps: Vec<Step>, failed: Failed) -> (Vec<Step>, String) {
    let until = Instant::now() + PATIENCE;
    let mut message = failed.1;
    steps.truncate(failed.0 + 1);
    let mut chunk = steps.len().div_ceil(2);
    loop {
        let (mut at, mut deleted) = (0, false);
        while at < steps.len() && steps.len() > 1 && Instant::now() < until {
            let end = (at + chunk).min(steps.len());
            let shorter: Vec<Step> = steps[..at].iter().chain(&steps[end..]).cloned().collect();
            match attempt::<H>(shorter.clone()).await {
                Err((step, wrong)) => {
                    (steps, message, deleted) = (shorter, wrong, true);
                    steps.truncate(step + 1);
                }
                Ok(_) => at = end,
            }
        }
        if Instant::now() >= until || (chunk == 1 && !deleted) {
            return (steps, message);
        }
        chunk = chunk.div_ceil(2);
    }
}
