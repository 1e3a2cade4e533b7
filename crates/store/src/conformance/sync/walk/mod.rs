//! The random walk over syncs: a store and core side by side, step by step, from a seed.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both, is shrunk to the operations it
//! needs, and comes with the command that repeats it. Walks that are long and still missed something of [`Met`] fail.

mod draw;
mod ledger;
mod run;

use super::SyncHarness;
use crate::conformance::walk::{from_env, this_test};
use draw::Step;
use run::Failed;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Steps between two comparisons of everything.
const COMPARE_EVERY: usize = 20;
/// Lists this short are compared after every step, so that the step that failed is the one that was wrong.
const SHORT: usize = 200;
/// Operations over all walks from which on each [`Met`] is expected.
const LONG: u64 = 8_000;
/// How long shrinking may take: a backend that is slow to open still reports in time.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a walk met.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Operations applied to the store and to core.
    pub steps: u64,
    /// What happened on the way, and how often.
    pub met: BTreeMap<Met, u64>,
}

macro_rules! worth_meeting {
    ($($(#[$doc:meta])* $met:ident,)+) => {
        /// What a walk must meet to prove anything.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Met { $($(#[$doc])* $met,)+ }

        impl Met {
            /// Everything worth meeting.
            pub const ALL: &[Met] = &[$(Met::$met,)+];
        }
    };
}

worth_meeting! {
    /// A write under a lease that had run out was refused.
    ExpiredRefused,
    /// A write was refused because the unit had been claimed again since.
    SupersededRefused,
    /// A write was refused because its sync had been cancelled or failed.
    CancelledRefused,
    /// Another verb under an ended claim was refused.
    FinishedRefused,
    /// A write that nobody could have been granted was refused.
    UnknownRefused,
    /// An ending sent again was answered as the first time.
    Already,
    /// … in a later pass.
    AlreadyInLaterPass,
    /// A matrix had an unfinished sync.
    Unfinished,
    /// A sync could not be completed yet.
    Incomplete,
    /// A sync was completed.
    SyncCompleted,
    /// A chunk was skipped by policy.
    Skipped,
    /// A chunk was planned again and kept what its last sync left.
    PlannedAgain,
    /// Two matrices held chunks of equal hash at once.
    SameHashHeldTwice,
    /// A chunk failed with its last attempt.
    AttemptsSpent,
    /// A chunk's last lease ran out.
    ChunkCrashedOut,
    /// A sync's leases ran out too often.
    SyncCrashedOut,
    /// A claim took a chunk whose lease had run out.
    ExpiredClaimed,
    /// A claim named its chunk.
    NamedClaimed,
    /// A claim found that others hold what is left.
    AllHeld,
    /// A sweep told of leases that ran out.
    Swept,
    /// A sync was cancelled while it was held.
    CancelledHeld,
    /// An old sync was removed.
    Pruned,
    /// The epoch was raised.
    EpochRaised,
}

impl Report {
    /// Adds what another walk met.
    pub fn add(&mut self, other: Report) {
        self.steps += other.steps;
        for (met, times) in other.met {
            *self.met.entry(met).or_default() += times;
        }
    }
}

/// A walk on which the store was wrong.
#[derive(Clone, Debug)]
pub struct Failure {
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, steps, step, message, shrunk, shrunk_message } = self;
        writeln!(f, "walk {seed}, step {step} of {steps}: {message}")?;
        writeln!(f, "shrunk to {} operations:", shrunk.len())?;
        for (i, op) in shrunk.iter().enumerate() {
            writeln!(f, "  {i:3}  {op}")?;
        }
        writeln!(f, "the last of which is wrong: {shrunk_message}")?;
        write!(f, "again: TENURE_SEED={seed} TENURE_STEPS={steps} {}", this_test())
    }
}

/// One walk of `steps` operations drawn from `seed`, on a new store.
pub async fn walk<H: SyncHarness>(seed: u64, steps: u32) -> Result<Report, Box<Failure>> {
    let drawn = draw::draw(seed, steps);
    match attempt::<H>(drawn.clone()).await {
        Ok(report) => Ok(report),
        Err((step, message)) => {
            let (shrunk, shrunk_message) = shrink::<H>(drawn, step, message.clone()).await;
            let shrunk = shrunk.iter().map(|step| format!("{step:?}")).collect();
            Err(Box::new(Failure { seed, steps, step, message, shrunk, shrunk_message }))
        }
    }
}

/// A walk for each seed, or only for `TENURE_SEED` if it is set. `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if the walks together were long and still missed something worth meeting.
pub async fn walks<H: SyncHarness>(seeds: Range<u64>, steps: u32) -> Report {
    let steps = from_env("TENURE_STEPS").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(steps);
    let only = from_env("TENURE_SEED");
    let seeds = only.map_or(seeds, |seed| seed..seed + 1);
    let mut total = Report::default();
    for seed in seeds {
        match walk::<H>(seed, steps).await {
            Ok(report) => total.add(report),
            Err(failure) => panic!("{failure}"),
        }
    }
    let missed: Vec<Met> = Met::ALL.iter().copied().filter(|met| !total.met.contains_key(met)).collect();
    assert!(total.steps < LONG || missed.is_empty(), "{} operations never met {missed:?}", total.steps);
    total
}

/// Runs a list in a task of its own, so that a panic of the store is a failure like any other.
async fn attempt<H: SyncHarness>(steps: Vec<Step>) -> Result<Report, Failed> {
    let every = if steps.len() <= SHORT { 1 } else { COMPARE_EVERY };
    let at = Arc::new(AtomicUsize::new(0));
    match tokio::spawn(run::run::<H>(steps, every, at.clone())).await {
        Ok(result) => result,
        Err(error) => Err((at.load(Ordering::Relaxed), format!("the store panicked: {error}"))),
    }
}

/// Deletes ever smaller parts of a failing list while what is left still fails.
async fn shrink<H: SyncHarness>(mut steps: Vec<Step>, failed: usize, mut message: String) -> (Vec<Step>, String) {
    let until = Instant::now() + PATIENCE;
    steps.truncate(failed + 1);
    let mut part = steps.len().div_ceil(2);
    loop {
        let (mut at, mut deleted) = (0, false);
        while at < steps.len() && steps.len() > 1 && Instant::now() < until {
            let end = (at + part).min(steps.len());
            let shorter: Vec<Step> = steps[..at].iter().chain(&steps[end..]).cloned().collect();
            match attempt::<H>(shorter.clone()).await {
                Err((failed, wrong)) => {
                    (steps, message, deleted) = (shorter, wrong, true);
                    steps.truncate(failed + 1);
                }
                Ok(_) => at = end,
            }
        }
        match part {
            1 if !deleted || Instant::now() >= until => return (steps, message),
            _ => part = part.div_ceil(2),
        }
    }
}
