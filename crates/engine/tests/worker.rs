//! The worker, on real stores and in real time where that is what is claimed.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure::prelude::*;
use tenure::testing::{Doomed, TestEngine};
use tenure::{Cancelled, Claim, Filter, NewJob, Status, Worker};
use tokio::sync::Notify;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Job)]
#[job(kind = "step", queue = "steps", attempts_max = 3)]
struct Step {
    n: u32,
}

async fn echo(_: Context, job: Step) -> Outcome<u32> {
    Outcome::done(job.n)
}

async fn only(engine: &Tenure) -> tenure::JobInfo {
    let jobs = engine.verbs().jobs(Filter::default(), None, 10).await.unwrap().items;
    assert_eq!(jobs.len(), 1);
    engine.verbs().job(jobs[0].id).await.unwrap().unwrap()
}

async fn after_one(worker: impl FnOnce(Worker) -> Worker) -> (TestEngine, tenure::JobInfo) {
    let engine = TestEngine::new();
    engine.enqueue(Step { n: 1 }).await.unwrap();
    worker(engine.worker()).drain().await.unwrap();
    let job = only(&engine).await;
    (engine, job)
}

#[tokio::test]
async fn a_thousand_jobs_are_run_once_each() {
    let engine = TestEngine::new();
    engine.enqueue_all((0..1_000).map(|n| Step { n })).await.unwrap();
    let report = engine.worker().concurrency(7).prefetch(20).handle(echo).drain().await.unwrap();
    assert_eq!((report.completed, report.refused), (1_000, 0));
    let info = engine.verbs().queue("steps").await.unwrap().unwrap();
    assert_eq!((info.counts.completed, info.counts.running), (1_000, 0));
}

#[tokio::test]
async fn q4_the_return_value_is_the_control_flow() {
    let (_, done) = after_one(|w| w.handle(echo)).await;
    assert_eq!((done.status, done.result.as_deref()), (Status::Completed, Some("1")));

    let (engine, snoozed) =
        after_one(|w| w.handle(async |_: Context, _: Step| Outcome::<()>::snooze(Duration::from_secs(9)))).await;
    assert_eq!((snoozed.status, snoozed.attempt), (Status::Queued, 0));
    assert_eq!(snoozed.run_at, engine.time().plus_ms(9_000));

    let (_, cancelled) = after_one(|w| w.handle(async |_: Context, _: Step| Outcome::<()>::cancel("gone"))).await;
    assert_eq!(cancelled.reason.map(|reason| reason.as_str()), Some("cancelled"));

    let (_, failed) = after_one(|w| w.handle(async |_: Context, _: Step| Outcome::<()>::fail("bad"))).await;
    assert_eq!((failed.reason.map(|reason| reason.as_str()), failed.error.as_deref()), (Some("failed"), Some("bad")));

    let (_, retried) = after_one(|w| {
        w.handle(async |_: Context, _: Step| {
            "x".parse::<u8>()?;
            Outcome::<()>::done(())
        })
    })
    .await;
    assert_eq!((retried.status, retried.attempt), (Status::Queued, 1));
    assert_eq!(retried.error.as_deref(), Some("invalid digit found in string"));
}

#[tokio::test]
async fn a_panic_is_a_failure_not_a_crash() {
    let (_, job) = after_one(|w| {
        w.handle(async |_: Context, job: Step| -> Outcome {
            if job.n == 1 { panic!("no {}", job.n) } else { Ok(()) }
        })
    })
    .await;
    assert_eq!(job.error.as_deref(), Some("the handler panicked: no 1"));
    assert_eq!((job.status, job.attempt), (Status::Queued, 1));
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_a_failure_that_says_so() {
    let engine = TestEngine::new();
    engine.enqueue(NewJob::new("steps", "step", r#"{"m":1}"#)).await.unwrap();
    engine.worker().handle(echo).drain().await.unwrap();
    let error = only(&engine).await.error.unwrap();
    assert!(error.starts_with("the payload does not read as kind step: missing field `n`"), "{error}");
}

#[tokio::test]
async fn a_result_no_store_would_take_is_a_failure_that_says_so() {
    let (_, job) =
        after_one(|w| w.handle(async |_: Context, _: Step| Outcome::<String>::done("x".repeat(2_000_000)))).await;
    let error = job.error.unwrap();
    assert!(error.starts_with("the handler's ending was refused"), "{error}");
}

#[tokio::test]
async fn q2_a_kind_nobody_here_knows_is_left_to_others() {
    let engine = TestEngine::new();
    engine.enqueue(NewJob::new("steps", "other", "1")).await.unwrap();
    let report = engine.worker().handle(echo).drain().await.unwrap();
    assert_eq!(report, tenure::Report::default());
    let report = engine.worker().queue("steps").handle_any(async |cx| Outcome::done(cx.job().payload.clone())).drain();
    assert_eq!(report.await.unwrap().completed, 1);
}

#[tokio::test]
async fn handlers_share_state_and_may_block() {
    let engine = TestEngine::new();
    engine.enqueue_all((1..=4).map(|n| Step { n })).await.unwrap();
    let sum = Arc::new(AtomicU32::new(0));
    let worker = engine.worker().state(sum.clone()).handle_blocking(|cx: Context, job: Step| {
        std::thread::yield_now();
        cx.state::<Arc<AtomicU32>>().fetch_add(job.n, Ordering::SeqCst);
        Outcome::<()>::done(())
    });
    assert_eq!(worker.drain().await.unwrap().completed, 4);
    assert_eq!(sum.load(Ordering::SeqCst), 10);
}

#[tokio::test]
async fn state_that_was_never_given_fails_the_attempt_by_name() {
    let (_, job) = after_one(|w| {
        w.handle(async |cx: Context, _: Step| {
            let _: &u64 = cx.state();
            Outcome::<()>::done(())
        })
    })
    .await;
    assert_eq!(job.error.as_deref(), Some("the handler panicked: the worker was given no state of type u64"));
}

#[tokio::test]
async fn q3_a_checkpoint_survives_a_crash_and_comes_back_to_the_next_attempt() {
    async fn counting(cx: Context, _: Step) -> Outcome<u32> {
        let from = cx.last_checkpoint::<u32>()?.unwrap_or(0);
        cx.checkpoint(&(from + 10)).await?;
        cx.reached("saved").await;
        Outcome::done(from)
    }
    let engine = TestEngine::new();
    engine.enqueue(Step { n: 0 }).await.unwrap();
    Doomed::new(engine.worker().handle(counting)).kill_at("saved").drain().await.unwrap();
    engine.advance(Duration::from_secs(30));
    engine.worker().handle(counting).drain().await.unwrap();
    assert_eq!(only(&engine).await.result.as_deref(), Some("10"));
}

#[tokio::test]
async fn l3_a_frozen_worker_that_wakes_is_refused() {
    async fn working(cx: Context, job: Step) -> Outcome<u32> {
        cx.reached("half").await;
        Outcome::done(job.n)
    }
    let engine = TestEngine::new();
    engine.enqueue(Step { n: 7 }).await.unwrap();
    let frozen = Doomed::new(engine.worker().name("frozen").handle(working)).freeze_at("half");
    let strings = frozen.strings();
    let frozen = tokio::spawn(frozen.drain());
    strings.reached().await;
    engine.advance(Duration::from_secs(30));
    let report = engine.worker().name("rescuer").handle(working).drain().await.unwrap();
    assert_eq!(report.completed, 1);
    engine.advance(Duration::from_secs(1));
    strings.thaw();
    let report = frozen.await.unwrap().unwrap();
    assert_eq!((report.completed, report.refused), (0, 1));
    let timeline = engine.verbs().timeline(only(&engine).await.id).await.unwrap().unwrap();
    let whats: Vec<&str> = timeline.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(whats, ["enqueued", "claimed", "expired", "claimed", "completed", "refused"]);
}

#[tokio::test]
async fn b6_a_job_that_kills_its_worker_ends_at_the_crash_limit() {
    let engine = TestEngine::new();
    engine.enqueue(Step { n: 0 }).await.unwrap();
    let poison = async |cx: Context, _: Step| {
        cx.reached("boom").await;
        Outcome::<()>::done(())
    };
    for _ in 0..3 {
        Doomed::new(engine.worker().handle(poison)).kill_at("boom").drain().await.unwrap();
        engine.advance(Duration::from_secs(30));
    }
    assert_eq!(engine.worker().handle(poison).drain().await.unwrap(), tenure::Report::default());
    let job = only(&engine).await;
    assert_eq!((job.reason.map(|reason| reason.as_str()), job.attempt), (Some("crash_limit"), 3));
}

#[tokio::test(start_paused = true)]
async fn q6_a_handler_that_outlives_its_timeout_is_dropped_and_counts_as_failed() {
    let engine = TestEngine::new();
    engine.enqueue(Step { n: 0 }.new_job().unwrap().timeout_ms(50).attempts_max(1)).await.unwrap();
    let endless = async |_: Context, _: Step| std::future::pending::<Outcome>().await;
    engine.worker().handle(endless).drain().await.unwrap();
    let job = only(&engine).await;
    assert_eq!(job.reason.map(|reason| reason.as_str()), Some("timeout"));
    assert_eq!(job.error.as_deref(), Some("took longer than 50 ms"));
}

#[tokio::test]
async fn q6_a_workers_timeout_binds_jobs_without_one_and_what_ends_in_its_grace_has_still_failed() {
    let (_, job) = after_one(|worker| {
        worker.timeout(Duration::from_millis(50)).timeout_grace(Duration::from_secs(60)).handle(
            async |cx: Context, _: Step| {
                assert_eq!(cx.cancelled().await, Cancelled::TimedOut);
                Outcome::<u32>::done(1_u32)
            },
        )
    })
    .await;
    assert_eq!((job.status, job.result.as_deref()), (Status::Queued, None));
    assert_eq!(job.error.as_deref(), Some("took longer than 50 ms"));
    let (_, job) = after_one(|worker| {
        worker.timeout(Duration::from_millis(50)).timeout_grace(Duration::from_secs(60)).handle(
            async |cx: Context, _: Step| {
                cx.cancelled().await;
                Outcome::<()>::fail("put away")
            },
        )
    })
    .await;
    // Final or not, the handler has no say any more: the attempt took too long.
    assert_eq!((job.status, job.error.as_deref()), (Status::Queued, Some("took longer than 50 ms: put away")));
}

#[tokio::test]
async fn q2_a_worker_can_be_kept_to_some_kinds() {
    let engine = TestEngine::new();
    engine.enqueue_all(["resize", "mail"].map(|kind| NewJob::new("q", kind, "1"))).await.unwrap();
    let any = async |_: Context| Outcome::done(None);
    let report = engine.worker().queue("q").kinds(["mail", "fax"]).handle_any(any).drain().await.unwrap();
    assert_eq!(report.completed, 1);
    let left =
        engine.verbs().jobs(Filter { status: Some(Status::Queued), ..Filter::default() }, None, 10).await.unwrap();
    assert_eq!(left.items.iter().map(|job| job.kind.as_str()).collect::<Vec<_>>(), ["resize"]);
    for wrong in
        [engine.worker().kinds(["no kind"]), engine.worker().kinds([""; 0]), engine.worker().timeout(Duration::ZERO)]
    {
        assert!(wrong.queue("q").handle_any(any).drain().await.is_err());
    }
}

#[tokio::test]
async fn l6_a_handler_can_give_its_job_back_uncounted() {
    let engine = TestEngine::new();
    engine.enqueue(Step { n: 1 }).await.unwrap();
    let (tries, left) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (counted, leave) = (tries.clone(), left.clone());
    let worker = engine.worker().handle(move |cx: Context, _: Step| {
        assert_eq!(cx.attempt(), 1);
        if counted.fetch_add(1, Ordering::SeqCst) == 2 {
            leave.notify_one();
        }
        async { Outcome::<()>::release() }
    });
    worker.run_until(async move { left.notified().await }).await.unwrap();
    assert!(tries.load(Ordering::SeqCst) > 2);
    let job = only(&engine).await;
    assert_eq!((job.status, job.attempt), (Status::Queued, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn l11_an_operators_cancel_arrives_with_a_heartbeat() {
    let engine = Tenure::open("memory:").await.unwrap();
    let id = engine.enqueue(Step { n: 0 }).await.unwrap().id;
    let begun = Arc::new(Notify::new());
    let told = begun.clone();
    let worker = engine.worker().lease(Duration::from_millis(300)).handle(move |cx: Context, _: Step| {
        let told = told.clone();
        async move {
            told.notify_one();
            let why = cx.cancelled().await;
            assert_eq!(why, Cancelled::Operator);
            Outcome::<()>::retry("put away")
        }
    });
    let working = tokio::spawn(worker.drain());
    begun.notified().await;
    engine.verbs().cancel(id, Some("not needed"), false).await.unwrap();
    working.await.unwrap().unwrap();
    let job = only(&engine).await;
    assert_eq!((job.status, job.reason.map(|reason| reason.as_str())), (Status::Failed, Some("cancelled")));
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_shutdown_lets_handlers_finish_and_gives_the_rest_back() {
    let engine = Tenure::open("memory:").await.unwrap();
    engine.enqueue_all((0..5).map(|n| Step { n })).await.unwrap();
    let (begun, go_on, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, wait) = (begun.clone(), go_on.clone());
    let worker = engine.worker().concurrency(1).handle(move |_: Context, job: Step| {
        let (told, wait) = (told.clone(), wait.clone());
        async move {
            told.notify_one();
            wait.notified().await;
            Outcome::<u32>::done(job.n)
        }
    });
    let leaving = leave.clone();
    let working = tokio::spawn(worker.run_until(async move { leaving.notified().await }));
    begun.notified().await;
    leave.notify_one();
    go_on.notify_one();
    let report = working.await.unwrap().unwrap();
    assert_eq!((report.completed, report.refused), (1, 0));
    let counts = engine.verbs().queue("steps").await.unwrap().unwrap().counts;
    assert_eq!((counts.completed, counts.running, counts.queued), (1, 0, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_past_the_grace_a_handler_is_told_and_dropped_and_its_job_given_back() {
    for now in [false, true] {
        let engine = Tenure::open("memory:").await.unwrap();
        engine.enqueue(Step { n: 0 }).await.unwrap();
        let begun = Arc::new(Notify::new());
        let told = begun.clone();
        let worker = engine.worker().grace(Duration::from_millis(1)).cancel_grace(Duration::from_millis(1));
        let worker = if now { worker.grace(Duration::from_secs(3_600)) } else { worker };
        let worker = worker.handle(move |_: Context, _: Step| {
            told.notify_one();
            std::future::pending::<Outcome>()
        });
        let leave = async {};
        let leave_now = async move {
            if !now {
                std::future::pending::<()>().await;
            }
        };
        let wait = begun.clone();
        let working = tokio::spawn(worker.run_until_either(
            async move {
                wait.notified().await;
                leave.await;
            },
            async move {
                tokio::task::yield_now().await;
                leave_now.await;
            },
        ));
        let report = working.await.unwrap().unwrap();
        assert_eq!(report.completed, 0);
        let job = only(&engine).await;
        assert_eq!((job.status, job.attempt), (Status::Queued, 0));
    }
}

/// The only thread of the runtime is taken for five leases. The lease is long enough for a machine that is busy with
/// other tests.
fn never_yields(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = Tenure::open(url).await.unwrap();
        let id = engine.enqueue(Step { n: 0 }).await.unwrap().id;
        let lease = Duration::from_millis(1_500);
        let worker = engine.worker().lease(lease).handle(move |cx: Context, _: Step| async move {
            std::thread::sleep(5 * lease);
            match cx.is_cancelled() {
                None => Outcome::<()>::done(()),
                Some(why) => Outcome::fail(why),
            }
        });
        let report = worker.drain().await.unwrap();
        assert_eq!((report.completed, report.refused), (1, 0), "{url}");
        let job = engine.verbs().job(id).await.unwrap().unwrap();
        assert_eq!((job.attempts.len(), job.attempt), (1, 1));
        assert!(job.attempts[0].pulse.beats >= 5, "{} beats", job.attempts[0].pulse.beats);
    });
}

#[test]
fn a9_a_handler_that_never_yields_keeps_its_lease_in_memory() {
    never_yields("memory:");
}

#[test]
fn a9_a_handler_that_never_yields_keeps_its_lease_in_a_file() {
    let folder = std::env::temp_dir().join(format!("tenure-worker-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    never_yields(&format!("sqlite:{}", folder.join("a9.db").display()));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_worker_that_was_set_up_wrongly_says_how() {
    let engine = TestEngine::new();
    let refused = async |worker: Worker| worker.drain().await.unwrap_err().to_string();
    assert!(refused(engine.worker().queue("q")).await.contains("handlers"));
    assert!(refused(engine.worker().queue("a b").handle(echo)).await.contains("queue"));
    assert!(refused(engine.worker().concurrency(0).handle(echo)).await.contains("concurrency"));
    assert!(refused(engine.worker().lease(Duration::from_millis(99)).handle(echo)).await.contains("lease_ms"));
    assert!(refused(engine.worker().name("").handle(echo)).await.contains("worker"));
}

#[tokio::test]
async fn what_a_worker_holds_counts_against_w() {
    let engine = TestEngine::new();
    engine.enqueue_all((0..10).map(|n| Step { n })).await.unwrap();
    let change = tenure::Change { max_running: Some(Some(2)), ..tenure::Change::default() };
    engine.verbs().change_queue("steps", change).await.unwrap();
    let most = Arc::new(AtomicU32::new(0));
    let seen = most.clone();
    let worker = engine.worker().concurrency(8).prefetch(8).handle(move |cx: Context, _: Step| {
        let seen = seen.clone();
        async move {
            let running = cx.tenure().verbs().queue("steps").await?.map_or(0, |info| info.counts.running);
            seen.fetch_max(u32::try_from(running)?, Ordering::SeqCst);
            Outcome::<()>::done(())
        }
    });
    assert_eq!(worker.drain().await.unwrap().completed, 10);
    assert!(most.load(Ordering::SeqCst) <= 2);
    assert!(engine.verbs().claim(Claim::new("steps", "x")).await.unwrap().jobs.is_empty());
}
