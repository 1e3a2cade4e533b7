//! What every face's worker has, tried where jobs are not: stages, chunks and offsets that are waited for, told to stop, dropped and
//! timed out; state and hooks. Jobs are tried in `worker.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure::domain::{Work, offsets};
use tenure::pipeline::{Definition, NewRun, RunId, Stage, StageContext, Stages, Status};
use tenure::prelude::*;
use tenure::sync::{ChunkContext, NewChunk, Plan, State, SyncId, SyncWorker};
use tenure::{Cancelled, Hooks, QueueShare, Report};
use tenure_memory::MemoryStore;
use tokio::sync::Notify;

async fn run_of_one() -> (Tenure, RunId) {
    let tenure = Tenure::on(MemoryStore::new());
    tenure.verbs().apply_pipeline(Definition::new("p").stage(Stage::new("s").attempts_max(1))).await.unwrap();
    let run = tenure.verbs().start_run(NewRun::new("p", "null")).await.unwrap();
    tenure.orchestrator().advance(10).await.unwrap();
    (tenure, run)
}

async fn sync_of_one() -> (Tenure, SyncId) {
    let tenure = Tenure::on(MemoryStore::new());
    let plan = Plan::new("m").attempts_max(1).chunks([NewChunk::new("c")]);
    let sync = tenure.verbs().plan_sync(plan).await.unwrap().id;
    (tenure, sync)
}

fn stages(tenure: &Tenure) -> Stages {
    tenure.stages("p").cancel_grace(Duration::from_secs(60))
}

fn chunks(tenure: &Tenure, sync: SyncId) -> SyncWorker {
    tenure.sync_worker(sync, "w").cancel_grace(Duration::from_secs(60))
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_a_stage_at_work_ends_within_the_grace() {
    let (tenure, run) = run_of_one().await;
    let (begun, leaves) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, left) = (begun.clone(), leaves.clone());
    let stages = stages(&tenure).handle("s", move |_: StageContext, (): ()| {
        let (begins, left) = (begins.clone(), left.clone());
        async move {
            begins.notify_one();
            left.notified().await;
            Outcome::<u32>::done(7u32)
        }
    });
    let report = stages.run_until(async {
        begun.notified().await;
        leaves.notify_one();
    });
    assert_eq!(report.await.unwrap().completed, 1);
    let (_, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
    assert_eq!((stages[0].unit.status, stages[0].unit.output.as_deref()), (Status::Done, Some("7")));
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_a_stage_that_outlives_the_grace_is_told_and_given_back() {
    let (tenure, run) = run_of_one().await;
    let begun = Arc::new(Notify::new());
    let begins = begun.clone();
    let stages = stages(&tenure).grace(Duration::ZERO).handle("s", move |cx: StageContext, (): ()| {
        let begins = begins.clone();
        async move {
            begins.notify_one();
            assert_eq!(cx.cancelled().await, Cancelled::Shutdown);
            Outcome::<()>::release()
        }
    });
    let report = stages.run_until(begun.notified()).await.unwrap();
    assert_eq!((report.released, report.failed), (1, 0));
    let (_, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
    assert_eq!((stages[0].unit.status, stages[0].unit.attempt), (Status::Ready, 0), "its attempt was not counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_a_stage_that_does_not_listen_is_dropped_and_given_back() {
    let (tenure, _) = run_of_one().await;
    let begun = Arc::new(Notify::new());
    let begins = begun.clone();
    let stages = stages(&tenure).grace(Duration::ZERO).cancel_grace(Duration::ZERO);
    let stages = stages.handle("s", move |_: StageContext, (): ()| {
        begins.notify_one();
        std::future::pending::<Outcome<()>>()
    });
    assert_eq!(stages.run_until(begun.notified()).await.unwrap().released, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn q6_a_stage_that_takes_too_long_has_failed() {
    let (tenure, run) = run_of_one().await;
    let stages = stages(&tenure).timeout(Duration::from_millis(20));
    let stages = stages.handle("s", |_: StageContext, (): ()| std::future::pending::<Outcome<()>>());
    assert_eq!(stages.drain().await.unwrap().failed, 1);
    let (_, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
    assert_eq!(stages[0].unit.error.as_deref(), Some("took longer than 20 ms"));
}

/// Counts what it is told.
#[derive(Clone, Default)]
struct Counted(Arc<[AtomicU32; 3]>);

impl Counted {
    fn add(&self, of: usize) {
        self.0[of].fetch_add(1, Ordering::SeqCst);
    }

    fn all(&self) -> [u32; 3] {
        std::array::from_fn(|of| self.0[of].load(Ordering::SeqCst))
    }
}

impl<F: tenure::Face> Hooks<F> for Counted {
    fn claimed(&self, units: usize) {
        (0..units).for_each(|_| self.add(0));
    }

    fn started(&self, _: &Context<F::Unit>) {
        self.add(1);
    }

    fn ended(&self, _: &Context<F::Unit>, _: &F::Act, _: F::Ended, _: Duration) {
        self.add(2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_have_hooks_and_shared_state() {
    let (tenure, _) = run_of_one().await;
    let counted = Counted::default();
    let stages = stages(&tenure).state(42u32).hooks(counted.clone());
    let stages = stages.handle("s", async |cx: StageContext, (): ()| Outcome::<u32>::done(*cx.state::<u32>()));
    stages.drain().await.unwrap();
    assert_eq!(counted.all(), [1, 1, 1]);
}

/// Runs of two stages that need nothing, all of them to be had.
async fn runs_of_two(runs: u32) -> Tenure {
    let tenure = Tenure::on(MemoryStore::new());
    tenure.verbs().apply_pipeline(Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b"))).await.unwrap();
    for _ in 0..runs {
        tenure.verbs().start_run(NewRun::new("p", "null")).await.unwrap();
    }
    tenure.orchestrator().advance(100).await.unwrap();
    tenure
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_are_begun_by_their_weights() {
    let tenure = runs_of_two(8).await;
    let begun = Arc::new(std::sync::Mutex::new(String::new()));
    let noting = begun.clone();
    let note = move |cx: StageContext, (): ()| {
        noting.lock().unwrap().push_str(cx.stage());
        async { Outcome::<()>::done(()) }
    };
    let stages = stages(&tenure).concurrency(1).share(QueueShare::new("a").weight(3));
    assert_eq!(stages.handle("a", note.clone()).handle("b", note).drain().await.unwrap().completed, 16);
    let begun = begun.lock().unwrap();
    assert_eq!(begun[..8].matches('a').count(), 6, "{begun}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_has_no_more_units_in_hand_than_its_share() {
    let tenure = runs_of_two(6).await;
    let (at_once, together) = (Arc::new(AtomicU32::new(0)), Arc::new(tokio::sync::Barrier::new(3)));
    let one = move |_: StageContext, (): ()| {
        let at_once = at_once.clone();
        async move {
            assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0, "two units of one stage");
            tokio::task::yield_now().await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            Outcome::<()>::done(())
        }
    };
    let three = move |_: StageContext, (): ()| {
        let together = together.clone();
        async move {
            together.wait().await;
            Outcome::<()>::done(())
        }
    };
    let stages = stages(&tenure).concurrency(4).share(QueueShare::new("a").concurrency(1));
    let report = stages.handle("a", one).handle("b", three).drain().await.unwrap();
    assert_eq!((report.completed, report.failed), (12, 0));
}

#[tokio::test]
async fn x_a_share_for_a_stage_without_a_handler_is_refused() {
    let tenure = runs_of_two(1).await;
    let work = |_: StageContext, (): ()| async { Outcome::<()>::done(()) };
    for share in [QueueShare::new("z"), QueueShare::new("a").weight(0), QueueShare::new("a").concurrency(0)] {
        let refused = stages(&tenure).share(share).handle("a", work).drain().await.unwrap_err();
        assert_eq!(refused.code(), "out_of_bounds");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_a_chunk_that_outlives_the_grace_is_told_and_given_back() {
    let (tenure, sync) = sync_of_one().await;
    let begun = Arc::new(Notify::new());
    let begins = begun.clone();
    let handler = move |cx: ChunkContext| {
        let begins = begins.clone();
        async move {
            begins.notify_one();
            assert_eq!(cx.cancelled().await, Cancelled::Shutdown);
            std::future::pending::<Result<u64, String>>().await
        }
    };
    let worker = chunks(&tenure, sync).grace(Duration::ZERO).cancel_grace(Duration::ZERO);
    let info = worker.run_with(handler, begun.notified()).await.unwrap();
    assert_eq!((info.sync.state, info.progress.running, info.progress.failed), (State::Available, 0, 0));
    // Its attempt was not counted: it had one, and has it again.
    let info = chunks(&tenure, sync).run(async |_| Ok::<u64, String>(1)).await.unwrap();
    assert_eq!((info.sync.state, info.progress.completed), (State::Completed, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn q6_a_chunk_that_takes_too_long_has_failed() {
    let (tenure, sync) = sync_of_one().await;
    let worker = chunks(&tenure, sync).timeout(Duration::from_millis(20));
    let info = worker.run(|_| std::future::pending::<Result<u64, String>>()).await.unwrap();
    assert_eq!((info.sync.state, info.progress.failed), (State::Failed, 1));
    let chunk = tenure.verbs().chunk(sync, "c").await.unwrap().unwrap();
    assert_eq!(chunk.standing.error_message.as_deref(), Some("took longer than 20 ms"));
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_have_hooks_and_shared_state() {
    let (tenure, sync) = sync_of_one().await;
    let counted = Counted::default();
    let worker = chunks(&tenure, sync).state(42u64).hooks(counted.clone());
    let handler = async |cx: ChunkContext| Ok::<u64, String>(*cx.state::<u64>());
    let info = worker.run_with(handler, std::future::pending()).await.unwrap();
    assert_eq!((info.progress.rows, counted.all()), (42, [1, 1, 1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_an_offset_whose_handler_outlives_the_grace_is_told_and_left_to_others() {
    let tenure = Tenure::on(MemoryStore::new());
    let begun = Arc::new(Notify::new());
    let begins = begun.clone();
    let handler = move |work: Work| {
        let begins = begins.clone();
        async move {
            begins.notify_one();
            assert_eq!(work.cancelled().await, Cancelled::Shutdown);
            std::future::pending::<Result<(), String>>().await
        }
    };
    let worker = tenure.domain_worker().grace(Duration::ZERO).cancel_grace(Duration::ZERO);
    let drained = worker.run_until(offsets([("a", 1)]), handler, begun.notified()).await.unwrap();
    assert_eq!(drained, Report { released: 1, ..Report::default() });
    let lease = tenure.domain("a").info().await.unwrap().lease.unwrap();
    assert_eq!((lease.offset, lease.retry_count), (1, 0), "no try was counted");
}

#[tokio::test(start_paused = true)]
async fn q6_an_offset_whose_handler_takes_too_long_is_tried_again_and_given_up() {
    let tenure = Tenure::on(MemoryStore::new());
    let worker = tenure.domain_worker().timeout(Duration::from_millis(20));
    let drained = worker.run(offsets([("a", 1)]), |_| std::future::pending::<Result<(), String>>()).await.unwrap();
    assert_eq!(drained, Report { retried: 3, failed: 1, ..Report::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_have_hooks_and_shared_state() {
    let tenure = Tenure::on(MemoryStore::new());
    let counted = Counted::default();
    let worker = tenure.domain_worker().state(42u32).hooks(counted.clone());
    let handler = async |work: Work| if *work.state::<u32>() == 42 { Ok(()) } else { Err("no state") };
    let drained = worker.run(offsets((0..5).map(|n| ("a", n))), handler).await.unwrap();
    assert_eq!((drained.completed, counted.all()), (5, [5, 5, 5]));
}
