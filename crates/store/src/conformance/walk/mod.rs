//! The random walk: a store and core side by side, step by step, from a seed.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both, is shrunk to the operations
//! it needs, and comes with the command that repeats it. A walk that met nothing proves nothing: [`walks`] fails if
//! something on the list of [`Met`] was missed.

mod compare;
mod draw;
mod ledger;
mod op;
mod operate;
mod run;
mod shrink;
mod tables;

use super::Harness;
use op::Step;
use run::Failed;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Steps between two comparisons of everything that was written to.
const COMPARE_EVERY: usize = 25;
/// Lists this short are compared after every step, so that the step that failed is the one that was wrong.
const SHORT: usize = 400;
/// Operations over all walks from which on each [`Met`] is expected.
const LONG: u64 = 20_000;

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
    /// An ending under a lease that had run out was refused (A1).
    StaleFinishRefused,
    /// A heartbeat under a lease that had run out was refused (A3).
    ZombieHeartbeatRefused,
    /// An ending was refused while a later claim of the same owner name held the job (A2).
    SameNameRefused,
    /// An ending was refused at the very instant its lease ran out (L1).
    RefusedAtTheInstant,
    /// An ending sent again was answered as the first time (L12).
    Already,
    /// … after the job had been claimed again.
    AlreadyAfterMovingOn,
    /// … after the job was no longer on record.
    AlreadyAfterRemoval,
    /// An ending sent again was forgotten, after its hour (L12).
    ReceiptForgotten,
    /// Another verb under an ended claim was refused.
    OtherVerbRefused,
    /// Several refusals were counted into one event (L8).
    RefusalsCounted,
    /// An expiry ended a job at its limit (L6).
    CrashLimit,
    /// An attempt took too long, and it was the last (Q6).
    TimedOut,
    /// An expiry gave a job that was not started its attempt back (L6).
    NeighbourSpared,
    /// A started mark was accepted (L6).
    StartedMark,
    /// The last attempt failed (Q6).
    AttemptsSpent,
    /// A failed attempt was put back (Q6).
    Retried,
    /// A claim returned expired work first (L7).
    RecoveredByClaim,
    /// A sweep returned expired work (L7).
    RecoveredBySweep,
    /// A claim handed over what an earlier attempt had saved (Q3).
    CheckpointHandedOn,
    /// A claim found nothing.
    EmptyClaim,
    /// A claim found a limit full (Q8).
    AtCapacity,
    /// A claim found a rate spent.
    RateLimited,
    /// A claim found a queue paused.
    Paused,
    /// A due job waited for its tenant alone (Q8).
    TenantHeldBack,
    /// A due job waited for another of its lane (Q9).
    LaneHeld,
    /// A lane stopped at a failure (Q9).
    LaneBlocked,
    /// A due job waited in a lane that had stopped (Q9).
    LaneStopped,
    /// An enqueue was answered with a job that was there before (Q7).
    Deduplicated,
    /// … with one that was no longer on record.
    DedupAfterRemoval,
    /// Another body under a key was refused (Q7).
    DedupConflict,
    /// A key whose window was over was used again (Q7).
    KeyUsedAgain,
    /// A waiting job was cancelled (L11).
    CancelledWaiting,
    /// A holder gave back a job that was to be cancelled (L11).
    CancelledByHolder,
    /// A lease ran out over a job that was to be cancelled (L11).
    CancelledByExpiry,
    /// A running job was ended by force (L11).
    CancelledByForce,
    /// An operator put an ended job back (L9).
    RetriedByOperator,
    /// An operator's action was refused.
    ActionRefused,
    /// An ended job was not kept at all (I19).
    NotKept,
    /// A finished job was removed after its retention (I19).
    Pruned,
    /// The epoch was raised (L2).
    EpochRaised,
    /// A waiting job was told that its queue's or tenant's rate is spent.
    RateExplained,
    /// A waiting job was told that nobody looked for it lately.
    NobodyLately,
    /// … but for other kinds.
    OtherKindsLately,
    /// A worker was not seen for a day (and forgotten).
    SightingForgotten,
}

impl Report {
    /// Adds what another walk met.
    pub fn add(&mut self, other: Report) {
        self.steps += other.steps;
        for (met, times) in other.met {
            *self.met.entry(met).or_default() += times;
        }
    }

    /// What was never met.
    #[must_use]
    pub fn missed(&self) -> Vec<Met> {
        Met::ALL.iter().copied().filter(|met| !self.met.contains_key(met)).collect()
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
pub async fn walk<H: Harness>(seed: u64, steps: u32) -> Result<Report, Box<Failure>> {
    let drawn = draw::draw(seed, steps);
    match attempt::<H>(drawn.clone()).await {
        Ok(report) => Ok(report),
        Err((step, message)) => {
            let again = async |steps| attempt::<H>(steps).await.err();
            let (shrunk, (_, shrunk_message)) = shrink::shrink(drawn, (step, message.clone()), again).await;
            let shrunk = shrunk.iter().map(describe).collect();
            Err(Box::new(Failure { seed, steps, step, message, shrunk, shrunk_message }))
        }
    }
}

/// A walk for each seed, or only for `TENURE_SEED` if it is set. `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if the walks together were long and still missed something worth meeting.
pub async fn walks<H: Harness>(seeds: Range<u64>, steps: u32) -> Report {
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
    let missed = total.missed();
    assert!(total.steps < LONG || missed.is_empty(), "{} operations never met {missed:?}", total.steps);
    total
}

/// Runs a list in a task of its own, so that a panic of the store is a failure like any other.
async fn attempt<H: Harness>(steps: Vec<Step>) -> Result<Report, Failed> {
    let every = if steps.len() <= SHORT { 1 } else { COMPARE_EVERY };
    let at = Arc::new(AtomicUsize::new(0));
    match tokio::spawn(run::run::<H>(steps, every, at.clone())).await {
        Ok(result) => result,
        Err(error) => Err((at.load(Ordering::Relaxed), format!("the store panicked: {error}"))),
    }
}

fn describe(step: &Step) -> String {
    let handle = if step.second_handle { " (second handle)" } else { "" };
    format!("{:?}{handle}", step.op)
}

pub(super) fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

/// The command that runs this test and no other, as far as its process can tell.
pub(super) fn this_test() -> String {
    let package = std::env::var("CARGO_PKG_NAME").map_or(String::new(), |package| format!(" -p {package}"));
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main" && !name.starts_with("tokio")).unwrap_or("walk").to_owned();
    format!("cargo test{package} {test}")
}
