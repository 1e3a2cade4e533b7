//! Handlers whose lease cannot be kept: the attempt counts (L6), so none of them is begun for ever. The usual cause is a
//! transaction of the handler's own on the store's SQLite file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure::pipeline::{Definition, NewRun, RunStatus, Stage, StageContext};
use tenure::prelude::*;
use tenure::rusqlite::Connection;
use tenure::{Backoff, JobId, JobInfo, NewJob, Status};
use tenure_testing::TestDatabase;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Long enough for a claim and a mark on a busy machine, short enough to run out a few times in a test.
const LEASE: Duration = Duration::from_millis(900);
/// No test here takes as long; one that does is stuck.
const STUCK: Duration = Duration::from_secs(30);

async fn file() -> (tempfile::TempDir, PathBuf, Tenure) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.db");
    let tenure = Tenure::open(&format!("sqlite:{}", file.display())).await.unwrap();
    (folder, file, tenure)
}

/// A transaction of the handler's own that has written, so that nobody else can.
fn begun(file: &Path) -> Connection {
    let app = Connection::open(file).unwrap();
    app.execute_batch("BEGIN IMMEDIATE").unwrap();
    app
}

fn twice() -> NewJob {
    let backoff = Backoff { initial_ms: 1, factor: 1.0, max_ms: 1, jitter: 0.0 };
    NewJob::new("q", "kind", "null").attempts_max(2).backoff(backoff)
}

/// Returns when the job has ended.
async fn ended(tenure: &Tenure, job: JobId) -> JobInfo {
    loop {
        let found = tenure.verbs().job(job).await.unwrap().unwrap();
        if found.status == Status::Failed || found.status == Status::Completed {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Works on `q` until the job has ended, and answers how.
async fn worked(worker: tenure::Worker, tenure: &Tenure, job: JobId) -> JobInfo {
    let report = tokio::time::timeout(
        STUCK,
        worker.queue("q").lease(LEASE).run_until(async {
            ended(tenure, job).await;
        }),
    );
    report.await.expect("the job ends").unwrap();
    tenure.verbs().job(job).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn l6_a_handler_that_waits_for_its_own_transaction_spends_its_attempts() {
    let (_folder, file, tenure) = file().await;
    let job = tenure.enqueue(twice()).await.unwrap().id;
    let starts = Arc::new(AtomicU32::new(0));
    let counted = starts.clone();
    let worker = tenure.worker().handle_any(move |cx: Context| {
        counted.fetch_add(1, Ordering::SeqCst);
        let file = file.clone();
        async move {
            let _app = begun(&file);
            cx.tenure().enqueue(NewJob::new("other", "kind", "null")).await?;
            Outcome::done(None)
        }
    });
    let found = worked(worker, &tenure, job).await;
    assert_eq!(starts.load(Ordering::SeqCst), 2, "{found:?}");
    assert_eq!((found.status, found.attempt), (Status::Failed, 2));
    let why = found.error.unwrap();
    assert!(why.contains("lease could not be renewed"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn l6_a_handler_that_gives_its_job_back_because_the_lease_is_ending_spends_its_attempts() {
    let (_folder, file, tenure) = file().await;
    let job = tenure.enqueue(twice()).await.unwrap().id;
    let worker = tenure.worker().handle_any(move |cx: Context| {
        let file = file.clone();
        async move {
            let _app = begun(&file);
            cx.cancelled().await;
            Outcome::release()
        }
    });
    let found = worked(worker, &tenure, job).await;
    assert_eq!((found.status, found.attempt), (Status::Failed, 2), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_handler_that_saves_a_checkpoint_inside_its_fenced_transaction_is_told_what_to_do() {
    let (_folder, file, tenure) = file().await;
    let job = tenure.enqueue(twice()).await.unwrap().id;
    let worker = tenure.worker().handle_any(move |cx: Context| {
        let file = file.clone();
        async move {
            let mut app = begun(&file);
            cx.held_in(&mut app).await?;
            cx.checkpoint(&1).await?;
            Outcome::done(None)
        }
    });
    let found = worked(worker, &tenure, job).await;
    assert_eq!((found.status, found.attempt), (Status::Failed, 2), "{found:?}");
    let why = found.error.unwrap();
    assert!(why.contains("own transaction is open") && why.contains("complete_in"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn l6_a_stage_that_waits_for_its_own_transaction_spends_its_attempts() {
    let (_folder, file, tenure) = file().await;
    let lease_ms = LEASE.as_millis() as u64;
    let stage = Stage::new("s").lease_ms(lease_ms).attempts_max(2);
    tenure.verbs().apply_pipeline(Definition::new("p").stage(stage)).await.unwrap();
    let run = tenure.verbs().start_run(NewRun::new("p", "null")).await.unwrap();
    let starts = Arc::new(AtomicU32::new(0));
    let counted = starts.clone();
    let stages = tenure.stages("p").handle("s", move |cx: StageContext, (): ()| {
        counted.fetch_add(1, Ordering::SeqCst);
        let file = file.clone();
        async move {
            let _app = begun(&file);
            cx.tenure().enqueue(NewJob::new("other", "kind", "null")).await?;
            Outcome::<()>::done(())
        }
    });
    let over = async {
        loop {
            tenure.orchestrator().advance(10).await.unwrap();
            if tenure.verbs().run(run).await.unwrap().unwrap().0.status == RunStatus::Error {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(STUCK, stages.run_until(over)).await.expect("the run ends").unwrap();
    let (_, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
    assert_eq!(stages[0].unit.attempt, 2);
    // On a crowded machine a lease may be over before its handler has begun; the claim counts all the same.
    assert!((1..=2).contains(&starts.load(Ordering::SeqCst)));
}

/// Says so when it is dropped.
struct Dropped(UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l6_a_handler_whose_lease_row_is_locked_spends_its_attempts() {
    let database = TestDatabase::create().await.unwrap();
    let tenure = Tenure::open(database.url()).await.unwrap();
    let job = tenure.enqueue(twice()).await.unwrap().id;
    let (begins, mut begun) = unbounded_channel();
    let (drops, mut dropped) = unbounded_channel();
    let worker = tenure.worker().handle_any(move |_: Context| {
        let (begins, guard) = (begins.clone(), Dropped(drops.clone()));
        async move {
            let _guard = guard;
            begins.send(()).unwrap();
            std::future::pending::<()>().await;
            Outcome::done(None)
        }
    });
    let url = database.url().to_owned();
    let hand = tokio::spawn(async move {
        let (mut client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for _ in 0..2 {
            begun.recv().await.unwrap();
            let tx = client.transaction().await.unwrap();
            tx.execute("select from tenure.lease for update", &[]).await.unwrap();
            dropped.recv().await.unwrap();
            tx.rollback().await.unwrap();
        }
    });
    let found = worked(worker, &tenure, job).await;
    hand.await.unwrap();
    assert_eq!((found.status, found.attempt), (Status::Failed, 2), "{found:?}");
}
