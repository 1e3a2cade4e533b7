//! The random walk: a store and core side by side, step by step, from a seed. One driver for every face.
//!
//! A face brings its operations and how one of them is applied to the store and to core at the same instant ([`Walk`]);
//! what is drawn, run, compared, shrunk and told is the same for all.
//!
//! Always true: a walk is a pure function of its seed and length; a failure names both, is shrunk to the operations it
//! needs, and comes with the one command that repeats it. A walk that met nothing proves nothing: [`walks`] fails if
//! something worth meeting was missed, or if too little of what was drawn could be applied.

mod chance;
mod compare;
mod ledger;
mod shrink;
mod tables;

use super::{Harness, START};
use crate::Store;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenure_core::{Time, Token};

pub use chance::{Chance, Seed};
pub(super) use compare::{nth_back, nth_of, nth_recent, same, unwell, whole};
pub(super) use ledger::{From, Grant, Judged, Ledger, OWNERS, Presented};
pub(super) use tables::Tables;

/// A token that no store ever granted.
pub(super) const NO_TOKEN: Token = Token((1 << 53) - 1);

/// What is wrong with an answer.
pub type Wrong = String;

/// The step that failed, and what was wrong.
type Failed = (usize, Wrong);

/// A face under the walk: its operations, and a store and core to which they are applied.
#[async_trait]
pub trait Walk: Sized + Send + 'static {
    /// An operation. It names what it is about by how recent that is, never by id, so that a list of operations means
    /// something on every store and still does after some of them were deleted.
    type Op: Clone + fmt::Debug + Send + Sync + 'static;

    /// What a walk must meet to prove anything.
    type Met: Copy + fmt::Debug + Ord + Send + 'static;

    /// Everything worth meeting.
    const WORTH_MEETING: &'static [Self::Met];

    /// Operations over all walks from which on each of these is expected.
    const LONG: u64;

    /// Lists this short are compared after every step, so that the step that failed is the one that was wrong.
    const SHORT: usize;

    /// Steps between two comparisons in longer lists.
    const COMPARE_EVERY: usize = 25;

    /// The operations every walk begins with.
    fn begin() -> Vec<Self::Op> {
        Vec::new()
    }

    /// Draws an operation.
    fn draw(chance: &mut Chance) -> Self::Op;

    /// The same operation with one of its parts left out, each way.
    fn thinner(_op: &Self::Op) -> Vec<Self::Op> {
        Vec::new()
    }

    /// Both sides, empty.
    async fn open(bench: Bench) -> Self;

    /// Applies an operation to the store, through one of its handles, and to core, and compares the answers.
    async fn apply(&mut self, op: &Self::Op, store: &dyn Store) -> Result<(), Wrong>;

    /// Compares what can be read, of what was written to at least.
    async fn compare(&mut self) -> Result<(), Wrong>;

    /// Compares everything that can be read, once, at the end.
    async fn compare_all(&mut self) -> Result<(), Wrong> {
        self.compare().await
    }

    /// What was met so far.
    fn report(&mut self) -> &mut Report<Self::Met>;

    /// There is nothing to apply an operation to.
    fn skip(&mut self) -> Result<(), Wrong> {
        self.report().steps -= 1;
        Ok(())
    }
}

/// The store of a walk: two handles, as two processes would have, and its clock.
pub struct Bench {
    harness: Box<dyn Harness>,
    pub(super) handles: [Arc<dyn Store>; 2],
    pub(super) now: Time,
}

impl Bench {
    async fn open<H: Harness>() -> Bench {
        let harness = Box::new(H::open(START).await);
        let handles = [harness.store(), harness.another().await];
        Bench { harness, handles, now: START }
    }

    pub(super) async fn set_clock(&mut self, now: Time) {
        self.now = now;
        self.harness.set_clock(now).await;
    }
}

/// What a walk met.
#[derive(Clone, Debug)]
pub struct Report<M> {
    /// Operations applied to the store and to core.
    pub steps: u64,
    /// What happened on the way, and how often.
    pub met: BTreeMap<M, u64>,
}

impl<M> Default for Report<M> {
    fn default() -> Report<M> {
        Report { steps: 0, met: BTreeMap::new() }
    }
}

impl<M: Ord> Report<M> {
    pub(super) fn meet(&mut self, met: M) {
        *self.met.entry(met).or_default() += 1;
    }

    fn add(&mut self, other: Report<M>) {
        self.steps += other.steps;
        other.met.into_iter().for_each(|(met, times)| *self.met.entry(met).or_default() += times);
    }
}

/// Names what a walk of a face must meet.
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
pub(super) use worth_meeting;

/// An operation, sent through the first or the second handle of the store.
#[derive(Clone, Debug)]
struct Step<O> {
    second_handle: bool,
    op: O,
}

impl<O: fmt::Debug> fmt::Display for Step<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.op, if self.second_handle { " (second handle)" } else { "" })
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
    /// The command that repeats the walk.
    pub again: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, steps, step, message, shrunk, shrunk_message, again } = self;
        writeln!(f, "walk {seed}, step {step} of {steps}: {message}")?;
        writeln!(f, "shrunk to {} operations:", shrunk.len())?;
        for (i, op) in shrunk.iter().enumerate() {
            writeln!(f, "  {i:3}  {op}")?;
        }
        writeln!(f, "the last of which is wrong: {shrunk_message}")?;
        write!(f, "again: {again}")
    }
}

/// One walk of `steps` operations drawn from `seed`, on a new store.
pub async fn walk<W: Walk, H: Harness>(seed: u64, steps: u32) -> Result<Report<W::Met>, Box<Failure>> {
    let drawn = draw::<W>(seed, steps);
    match attempt::<W, H>(drawn.clone()).await {
        Ok(report) => Ok(report),
        Err((step, message)) => {
            let fails = async |steps| attempt::<W, H>(steps).await.err();
            let (shrunk, (_, shrunk_message)) = shrink::shrink::<W>(drawn, (step, message.clone()), fails).await;
            let shrunk = shrunk.iter().map(ToString::to_string).collect();
            let again = command(&format!("TENURE_SEED={seed} TENURE_STEPS={steps} "));
            Err(Box::new(Failure { seed, steps, step, message, shrunk, shrunk_message, again }))
        }
    }
}

/// A walk for each seed, or only for `TENURE_SEED` if it is set. `TENURE_STEPS` replaces `steps`. Panics at the first
/// failure, and if the walks together were long and still missed something worth meeting, or found nothing to apply one
/// in ten operations to.
pub async fn walks<W: Walk, H: Harness>(seeds: Range<u64>, steps: u32) -> Report<W::Met> {
    let steps = from_env("TENURE_STEPS").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(steps);
    let mut seeds = from_env("TENURE_SEED").map_or(seeds, |seed| seed..seed + 1);
    let (mut total, mut drawn) = (Report::default(), 0);
    // Two beside each other: one waits for its store while the other draws and compares.
    while !seeds.is_empty() {
        let next = async |seed| Some(walk::<W, H>(seed?, steps).await);
        let (one, other) = (seeds.next(), seeds.next());
        let (one, other) = tokio::join!(next(one), next(other));
        for walked in [one, other].into_iter().flatten() {
            total.add(walked.unwrap_or_else(|failure| panic!("{failure}")));
            drawn += u64::from(steps);
        }
    }
    println!("{} operations of {drawn} met {:?}", total.steps, total.met);
    let missed: Vec<_> = W::WORTH_MEETING.iter().filter(|met| !total.met.contains_key(met)).collect();
    let enough = missed.is_empty() && 10 * total.steps >= 9 * drawn;
    let again = command("");
    assert!(drawn < W::LONG || enough, "{} operations of {drawn} never met {missed:?}\nagain: {again}", total.steps);
    total
}

fn draw<W: Walk>(seed: u64, steps: u32) -> Vec<Step<W::Op>> {
    let mut chance = Chance::new(seed);
    let mut drawn: Vec<_> = W::begin().into_iter().map(|op| Step { second_handle: false, op }).collect();
    while drawn.len() < steps as usize {
        drawn.push(Step { second_handle: chance.one_in(3), op: W::draw(&mut chance) });
    }
    drawn
}

/// Runs a list in a task of its own, so that a panic of the store is a failure like any other.
async fn attempt<W: Walk, H: Harness>(steps: Vec<Step<W::Op>>) -> Result<Report<W::Met>, Failed> {
    let at = Arc::new(AtomicUsize::new(0));
    match tokio::spawn(run::<W, H>(steps, at.clone())).await {
        Ok(result) => result,
        Err(error) => Err((at.load(Ordering::Relaxed), format!("the store panicked: {error}"))),
    }
}

/// Runs a list on a new store; `at` tells which step is under way, should the store panic.
async fn run<W: Walk, H: Harness>(steps: Vec<Step<W::Op>>, at: Arc<AtomicUsize>) -> Result<Report<W::Met>, Failed> {
    let bench = Bench::open::<H>().await;
    let handles = bench.handles.clone();
    let mut walk = W::open(bench).await;
    let every = if steps.len() <= W::SHORT { 1 } else { W::COMPARE_EVERY };
    for (i, Step { second_handle, op }) in steps.iter().enumerate() {
        at.store(i, Ordering::Relaxed);
        walk.report().steps += 1;
        walk.apply(op, &*handles[usize::from(*second_handle)]).await.map_err(|wrong| (i, wrong))?;
        if i % every == every - 1 {
            walk.compare().await.map_err(|wrong| (i, wrong))?;
        }
    }
    walk.compare_all().await.map_err(|wrong| (steps.len().saturating_sub(1), wrong))?;
    Ok(std::mem::take(walk.report()))
}

/// A number from the environment.
pub(super) fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

/// The command that runs this test and no other, as far as its process can tell.
pub(super) fn command(environment: &str) -> String {
    let package = std::env::var("CARGO_PKG_NAME").map_or(String::new(), |package| format!(" -p {package}"));
    let program = std::env::current_exe().ok();
    let program = program.as_ref().and_then(|path| path.file_stem()?.to_str()?.rsplit_once('-'));
    let program = program.map_or(String::new(), |(name, _)| format!(" --test {name}"));
    // The runner of tests names its threads after them, unless it has only one.
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main" && !name.starts_with("tokio"));
    let test = test.map_or(String::new(), |test| format!(" -- --exact {test}"));
    format!("{environment}cargo test --locked{package}{program}{test}")
}
