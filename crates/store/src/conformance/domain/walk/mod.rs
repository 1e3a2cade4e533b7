//! The random walk over domains: a store and core side by side, step by step, from a seed.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both, is shrunk to the operations it
//! needs, and comes with the command that repeats it. Beside core a [plain reading](plain) of the document judges every
//! answer, so that a mistake which core and a store share is still found.

mod op;
mod plain;
mod run;
mod shrink;

use super::DomainHarness;
use crate::conformance::walk::{from_env, this_test};
pub(super) use op::Chance;
use op::Op;
use run::Wrong;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Steps between two comparisons of everything there is.
const COMPARE_EVERY: usize = 25;
/// Lists this short are compared after every step.
const SHORT: usize = 300;
/// Operations over all walks from which on each [`Met`] is expected.
const LONG: u64 = 8_000;

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
    /// A free offset was acquired.
    Acquired,
    /// … that was the head of a backlog.
    HeadAcquired,
    /// … after its lease had run out (D4).
    TakenOver,
    /// Another offset had to wait.
    Enqueued,
    /// … behind one whose lease had run out.
    EnqueuedBehindExpired,
    /// The offset in flight was asked for again.
    AlreadyAcquired,
    /// … by someone else than its named holder (D3).
    HeldByOther,
    /// An offset that ended well was asked for again.
    AlreadyProcessed,
    /// One that had failed was.
    AlreadyFailed,
    /// A takeover beyond the limit failed its offset.
    TakeoversSpent,
    /// An acquire out of order was refused.
    BacklogOrdering,
    /// A write under another token was refused.
    TokenMismatch,
    /// A write without a lease was refused.
    LeaseNotFound,
    /// A write under an expired lease was refused.
    LeaseLost,
    /// A succeed was told what waits.
    NextHint,
    /// A succeed was told that nothing waits.
    NoBacklog,
    /// A failed try may be repeated.
    RetryScheduled,
    /// The last one failed, and something waits.
    GiveUpNextHint,
    /// The last one failed, and nothing waits.
    GiveUpNoBacklog,
    /// A lease was renewed.
    Renewed,
    /// An advance acquired what waited.
    AdvancedToHint,
    /// An advance acquired the offset it named.
    AdvancedToNext,
    /// An offset in flight was skipped.
    SkippedInFlight,
    /// One that waited was.
    SkippedWaiting,
    /// One that was not known was.
    SkippedUnknown,
    /// Recovery told an expiry (L7).
    ExpiryTold,
    /// Recovery failed an offset whose takeovers were spent.
    FailedByRecovery,
    /// The epoch was raised (L2).
    EpochRaised,
    /// A call named one domain twice.
    DomainTwice,
}

/// What a walk met.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Operations applied to the store and to core.
    pub steps: u64,
    /// What happened on the way, and how often.
    pub met: BTreeMap<Met, u64>,
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
pub async fn walk<H: DomainHarness>(seed: u64, steps: u32) -> Result<Report, Box<Failure>> {
    let drawn = op::draw(seed, steps);
    match attempt::<H>(drawn.clone()).await {
        Ok(report) => Ok(report),
        Err(first) => {
            let (step, message) = first.clone();
            let again = async |ops| attempt::<H>(ops).await.err();
            let (shrunk, (_, shrunk_message)) = shrink::shrink(drawn, first, again).await;
            let shrunk = shrunk.iter().map(|op| format!("{op:?}")).collect();
            Err(Box::new(Failure { seed, steps, step, message, shrunk, shrunk_message }))
        }
    }
}

/// A walk for each seed, or only for `TENURE_SEED` if it is set. `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if the walks together were long and still missed something worth meeting.
pub async fn walks<H: DomainHarness>(seeds: Range<u64>, steps: u32) -> Report {
    let steps = from_env("TENURE_STEPS").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(steps);
    let seeds = from_env("TENURE_SEED").map_or(seeds, |seed| seed..seed + 1);
    let mut total = Report::default();
    for seed in seeds {
        match walk::<H>(seed, steps).await {
            Ok(report) => {
                total.steps += report.steps;
                report.met.into_iter().for_each(|(met, times)| *total.met.entry(met).or_default() += times);
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    let missed: Vec<&Met> = Met::ALL.iter().filter(|met| !total.met.contains_key(met)).collect();
    assert!(total.steps < LONG || missed.is_empty(), "{} operations never met {missed:?}", total.steps);
    total
}

/// Runs a list in a task of its own, so that a panic of the store is a failure like any other.
async fn attempt<H: DomainHarness>(ops: Vec<Op>) -> Result<Report, (usize, Wrong)> {
    let every = if ops.len() <= SHORT { 1 } else { COMPARE_EVERY };
    let at = Arc::new(AtomicUsize::new(0));
    match tokio::spawn(run::run::<H>(ops, every, at.clone())).await {
        Ok(result) => result,
        Err(error) => Err((at.load(Ordering::Relaxed), format!("the store panicked: {error}"))),
    }
}
