//! Stores with one mistake each: the memory store behind a pass-through of which a mistake replaces what it gets wrong.

use async_trait::async_trait;
use std::fmt::Debug;
use std::process::Command;
use std::sync::Arc;
use tenure_core::changes::{Changed, Subject};
use tenure_core::domain::{self, Acquire, Acquired, Advance, Advanced, Answer, DomainInfo, Held, Skip, Skipped};
use tenure_core::pipeline::{
    self, Applied, History, NewRun, PipelineInfo, Run, RunAction, RunId, RunRefusal, RunStatus, StageInfo,
    StartRefusal, Taken, Unit,
};
use tenure_core::queue::{
    Beat, Beaten, Change, Claim, Claims, Conflict, Ended, Ending, Enqueued, Event, Filter, Job, JobId, NewJob,
    Operation, Pruned, QueueInfo, Recovered, Refusal, Situation, Start, Status, Worker,
};
use tenure_core::schedule::{self, Due, Fire, Fired, Firing, Put, Schedule};
use tenure_core::sync::{
    self, Chunk, ChunkClaim, ChunkFilter, ClaimedChunk, ClaimedSync, Denied, NewChunk, Plan, Planned, Sync, SyncClaim,
    SyncEvent, SyncFilter, SyncId, SyncInfo, SyncsPruned, SyncsRecovered,
};
use tenure_core::{Actor, Epoch, Page, Time};
use tenure_memory::MemoryStore;
use tenure_store::conformance::{Harness, Walk, walk, walks};
use tenure_store::{
    Clock, DomainStore, Fenced, Finding, OrRefused, PipelineStore, Place, QueueStore, Result, ScheduleStore, Signals,
    Store, SyncStore, Upkeep,
};

/// Every verb of a store, passed on to the right one.
macro_rules! passed_on {
    ($($store:ident {
        $(async fn $verb:ident($($of:ident: $request:ty),*) -> $answer:ty;)+
        $(only { $($only:tt)+ })?
    })+) => {
        /// A memory store with one mistake. What a mistake does not replace is passed on to the [right](Wrongly::right)
        /// store.
        #[async_trait]
        pub(crate) trait Wrongly: Send + std::marker::Sync + 'static {
            /// A store with the mistake of this number.
            fn planted(bug: usize, clock: Clock) -> Self
            where
                Self: Sized;

            fn right(&self) -> &MemoryStore;

            /// Whether a second handle is a store of its own.
            fn handles_apart(&self) -> bool {
                false
            }

            $($(
                async fn $verb(&self, $($of: $request),*) -> $answer {
                    $store::$verb(self.right(), $($of),*).await
                }
            )+)+
        }

        $(
            #[async_trait]
            impl<W: Wrongly> $store for Through<W> {
                $(
                    async fn $verb(&self, $($of: $request),*) -> $answer {
                        Wrongly::$verb(&self.0, $($of),*).await
                    }
                )+
                $($($only)+)?
            }
        )+
    };
}

/// What is wrong, as a store.
struct Through<W>(W);

type Or<T, E> = std::result::Result<T, E>;

passed_on! {
    QueueStore {
        async fn enqueue(jobs: Vec<NewJob>) -> Result<Or<Vec<Enqueued>, Conflict>>;
        async fn claim(claim: Claim) -> Result<Claims>;
        async fn start(start: Start) -> Result<Fenced<()>>;
        async fn heartbeat(beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>>;
        async fn finish(endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>>;
        async fn job(id: JobId) -> Result<Option<Job>>;
        async fn events(id: JobId) -> Result<Vec<Event>>;
        async fn jobs(filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>>;
        async fn queue(name: &str) -> Result<Option<QueueInfo>>;
        async fn queues(after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>>;
        async fn change(name: &str, change: Change) -> Result<QueueInfo>;
        async fn limit() -> Result<Option<u32>>;
        async fn set_limit(max_running: Option<u32>) -> Result<()>;
        async fn operate(operations: Vec<Operation>) -> Result<Vec<Or<Status, Refusal>>>;
        async fn workers(after: Option<&str>, limit: u32) -> Result<Page<Worker>>;
        async fn situation(id: JobId) -> Result<Option<Situation>>;
        only {
            fn signals(&self) -> &Signals {
                self.0.right().signals()
            }
        }
    }
    Upkeep {
        async fn now() -> Result<Time>;
        async fn recover(leases_max: u32) -> Result<Recovered>;
        async fn prune(max: u32) -> Result<Pruned>;
        async fn epoch() -> Result<Epoch>;
        async fn new_epoch() -> Result<Epoch>;
        async fn changes(subject: Subject) -> Result<Vec<Changed>>;
        async fn describe() -> Result<String>;
        async fn examine() -> Result<Vec<Finding>>;
        async fn ready() -> Result<()>;
        async fn flush() -> Result<()>;
        only {
            fn acting_as(&self, actor: Actor) -> Arc<dyn Store> {
                self.0.right().acting_as(actor)
            }

            fn place(&self) -> Place {
                self.0.right().place()
            }
        }
    }
    ScheduleStore {
        async fn put_schedule(put: Put) -> Result<Or<Schedule, schedule::Refused>>;
        async fn schedule(name: &str) -> Result<Option<Schedule>>;
        async fn schedules(after: Option<&str>, limit: u32) -> Result<Page<Schedule>>;
        async fn remove_schedule(name: &str) -> Result<bool>;
        async fn firings(name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>>;
        async fn due_schedules(limit: u32) -> Result<Due>;
        async fn fire(fire: Fire) -> Result<Or<Fired, schedule::Refused>>;
    }
    DomainStore {
        async fn domain_acquire(acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>>;
        async fn domain_succeed(writes: Vec<Held>) -> Result<Vec<Answer<domain::Succeeded>>>;
        async fn domain_fail(writes: Vec<Held>) -> Result<Vec<Answer<domain::Failed>>>;
        async fn domain_heartbeat(beats: Vec<Held>) -> Result<Vec<Answer<domain::Beaten>>>;
        async fn domain_advance(advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>>;
        async fn domain_skip(skips: Vec<Skip>) -> Result<Vec<Skipped>>;
        async fn domain_change(name: &str, change: domain::Change) -> Result<DomainInfo>;
        async fn domain_recover(max: u32) -> Result<domain::Recovered>;
        async fn domain(name: &str) -> Result<Option<DomainInfo>>;
        async fn domains(after: Option<&str>, state: Option<domain::State>, limit: u32) -> Result<Page<DomainInfo>>;
        async fn domain_events(name: &str) -> Result<Vec<domain::Event>>;
    }
    SyncStore {
        async fn plan_sync(plan: Plan) -> Result<OrRefused<Planned>>;
        async fn add_chunks(sync: SyncId, chunks: Vec<NewChunk>) -> Result<OrRefused<Planned>>;
        async fn claim_sync(claim: SyncClaim) -> Result<Option<ClaimedSync>>;
        async fn claim_chunk(claim: ChunkClaim) -> Result<Or<ClaimedChunk, sync::Idle>>;
        async fn heartbeat_sync(beat: sync::Beat) -> Result<Fenced<Time>>;
        async fn finish_sync(ending: sync::Ending) -> Result<Or<sync::Ended, Denied>>;
        async fn cancel_sync(sync: SyncId, why: Option<String>) -> Result<OrRefused<sync::State>>;
        async fn sync(id: SyncId) -> Result<Option<SyncInfo>>;
        async fn syncs(filter: SyncFilter, before: Option<SyncId>, limit: u32) -> Result<Page<Sync>>;
        async fn chunk(sync: SyncId, chunk_hash: &str) -> Result<Option<Chunk>>;
        async fn chunks(sync: SyncId, filter: ChunkFilter, after: u64, limit: u32) -> Result<Page<Chunk>>;
        async fn sync_events(sync: SyncId, limit: u32) -> Result<Vec<SyncEvent>>;
        async fn recover_syncs(leases_max: u32) -> Result<SyncsRecovered>;
        async fn prune_syncs(max: u32) -> Result<SyncsPruned>;
    }
    PipelineStore {
        async fn apply_pipeline(definition: pipeline::Definition) -> Result<Or<Applied, Taken>>;
        async fn pipeline(name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>>;
        async fn pipelines(after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>>;
        async fn start_run(run: NewRun) -> Result<Or<RunId, StartRefusal>>;
        async fn claim_units(claim: pipeline::Claim) -> Result<Option<pipeline::Claims>>;
        async fn beat_units(beats: Vec<pipeline::Beat>) -> Result<Vec<Fenced<pipeline::Beaten>>>;
        async fn finish_unit(ending: pipeline::Ending) -> Result<Or<pipeline::Ended, pipeline::Refusal>>;
        async fn advance_runs(max: u32) -> Result<pipeline::Advanced>;
        async fn recover_units(max: u32) -> Result<pipeline::Recovered>;
        async fn operate_run(id: RunId, action: RunAction) -> Result<Or<RunStatus, RunRefusal>>;
        async fn run(id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>>;
        async fn runs(filter: pipeline::Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>>;
        async fn segments(id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>>;
        async fn run_history(id: RunId, limit: u32) -> Result<History>;
        async fn prune_runs(max: u32) -> Result<u32>;
    }
}

/// A store with the mistake of this number, for the suite.
pub(crate) struct Planted<W, const BUG: usize> {
    store: Arc<Through<W>>,
    another: Arc<Through<W>>,
    clock: Clock,
}

#[async_trait]
impl<W: Wrongly, const BUG: usize> Harness for Planted<W, BUG> {
    async fn open(start: Time) -> Self {
        let clock = Clock::manual(start);
        let wrong = || Arc::new(Through(W::planted(BUG, clock.clone())));
        let store = wrong();
        let another = if store.0.handles_apart() { wrong() } else { store.clone() };
        Planted { store, another, clock }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn another(&self) -> Arc<dyn Store> {
        self.another.clone()
    }
}

/// The catcher of a mistake that shows in several answers at once.
pub(crate) const ANYTHING: &str = "";

/// How much it takes to find every mistake.
pub(crate) struct Effort {
    /// The length of a walk.
    pub(crate) steps: u32,
    /// Walks, one of which finds it.
    pub(crate) seeds: u64,
    /// No mistake needs more operations than this to show itself.
    pub(crate) shrunk_max: usize,
}

/// Plants mistakes, each caught by a walk, which says first what stands behind the arrow.
macro_rules! planted {
    (
        $walk:ty, $wrong:ty, $effort:expr $(, beside $($beside:ident)+)?;
        $($test:ident: $bug:ident => $catcher:expr,)+
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Bug { $($bug,)+ $($($beside,)+)? }

        impl Bug {
            pub(crate) const ALL: &[Bug] = &[$(Bug::$bug,)+ $($(Bug::$beside,)+)?];
        }

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                type Store = $crate::support::Planted<$wrong, { Bug::$bug as usize }>;
                $crate::support::assert_caught::<$walk, Store>(&Bug::$bug, $catcher, &$effort).await;
            }
        )+

        #[tokio::test(flavor = "multi_thread")]
        async fn the_command_that_is_printed_repeats_the_failure() {
            $crate::support::assert_repeated::<$walk, $crate::support::Planted<$wrong, 0>>(&$effort).await;
        }
    };
}
pub(crate) use planted;

/// A walk fails, and what it says first begins with the rule that was broken or the answer that differs; with another
/// seed something else may have shown first.
pub(crate) async fn assert_caught<W: Walk, H: Harness>(bug: &dyn Debug, catcher: &str, effort: &Effort) {
    let mut others = Vec::new();
    for seed in 0..effort.seeds {
        let Err(failure) = walk::<W, H>(seed, effort.steps).await else { continue };
        assert!(failure.shrunk.len() <= effort.shrunk_max, "{bug:?} took {failure}");
        if failure.message.starts_with(catcher) {
            println!("{failure}");
            return;
        }
        others.push(failure.to_string());
    }
    panic!("{bug:?} was not caught by {catcher:?}, but by {others:#?}");
}

/// What a failure says to run fails in the same way. Run by itself, as what is printed does, it is a walk like any other.
pub(crate) async fn assert_repeated<W: Walk, H: Harness>(effort: &Effort) {
    if std::env::var_os("TENURE_SEED").is_some() {
        walks::<W, H>(0..effort.seeds, effort.steps).await;
        return;
    }
    let mut failure = None;
    for seed in 0..effort.seeds {
        failure = failure.or(walk::<W, H>(seed, effort.steps).await.err());
    }
    let failure = failure.expect("it is caught").to_string();
    let (said, again) = failure.rsplit_once("\nagain: ").expect("a failure ends with a command");
    let (environment, command) = again.split_once("cargo ").expect("a command");
    let program = concat!("test --locked -p ", env!("CARGO_PKG_NAME"), " --test ", env!("CARGO_CRATE_NAME"));
    let arguments = command.strip_prefix(program).expect(again).trim_start().trim_start_matches("-- ");
    let environment = environment.split_whitespace().map(|set| set.split_once('=').expect(again));
    let mut this = Command::new(std::env::current_exe().expect("a program"));
    let repeated = this.args(arguments.split_whitespace()).envs(environment).output().expect("it runs");
    let heard = [repeated.stdout, repeated.stderr].map(|heard| String::from_utf8_lossy(&heard).into_owned()).concat();
    let first = said.lines().next().expect("it says something");
    assert!(!repeated.status.success() && heard.contains(first), "{again}\nsaid {heard}\nnot {said}");
}
