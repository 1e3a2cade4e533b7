//! One worker for all faces: one name, one state, one grace, one report; and what it refuses before it begins.

mod support;

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::everywhere;
use tenure::domain::{Work, offsets};
use tenure::pipeline::artifacts::InMemory;
use tenure::pipeline::{Definition, RunStatus, Stage, StageContext};
use tenure::prelude::*;
use tenure::sync::{ChunkContext, NewChunk, State};
use tenure::testing::{Doomed, TestEngine};
use tenure::{Error, Status};
use tokio::sync::Notify;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "add", queue = "sums")]
struct Add {
    n: u32,
}

#[derive(Clone, Default)]
struct Owners(Arc<Mutex<Vec<String>>>);

impl Owners {
    fn note(&self, owner: &str) {
        self.0.lock().unwrap().push(owner.to_owned());
    }
}

async fn add(cx: Context, job: Add) -> Outcome<u32> {
    cx.state::<Owners>().note(cx.owner());
    Outcome::done(job.n + 1)
}

async fn fetch(cx: StageContext, n: u32) -> Outcome<u32> {
    cx.state::<Owners>().note(cx.owner());
    cx.reached("fetched").await;
    Outcome::done(n * 2)
}

async fn copy(cx: ChunkContext) -> Result<u64, String> {
    cx.state::<Owners>().note(cx.owner());
    Ok(cx.unit().chunk_hash.len() as u64)
}

async fn post(work: Work) -> Result<(), String> {
    work.state::<Owners>().note(work.owner());
    Ok(())
}

fn mirror() -> Definition {
    Definition::new("mirror").stage(Stage::new("fetch")).stage(Stage::new("store").needs(["fetch"]))
}

fn stages(tenure: &Tenure) -> tenure::pipeline::Stages {
    tenure.stages("mirror").artifacts(InMemory::default()).handle("fetch", fetch).handle("store", fetch)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_does_jobs_stages_chunks_and_offsets_under_one_name() {
    everywhere(async |tenure| {
        tenure.apply(mirror()).await.unwrap();
        let job = tenure.enqueue(Add { n: 1 }).await.unwrap().id;
        let run = tenure.pipeline("mirror").start(3_u32).await.unwrap();
        let sync = tenure.matrix("orders").plan(["a", "b", "c"].map(NewChunk::new)).await.unwrap().id;
        let owners = Owners::default();
        let worker = tenure.worker().name("w1").concurrency(4).state(owners.clone()).handle(add);
        let worker = worker.stages(stages(&tenure)).chunks("orders", copy);
        let worker = worker.domains(offsets([("x", 1), ("x", 2), ("y", 1)]), post);
        let report = worker.drain().await.unwrap();
        assert_eq!((report.completed, report.failed, report.refused), (1 + 2 + 3 + 3, 0, 0), "{report:?}");
        assert_eq!(tenure.job(job).wait::<u32>().await.unwrap(), 2);
        assert_eq!(run.info().await.unwrap().status, RunStatus::Done);
        assert_eq!(run.output::<u32>("store").await.unwrap(), 12);
        assert_eq!(tenure.sync(sync).info().await.unwrap().sync.state, State::Completed);
        assert_eq!(tenure.domain("x").try_acquire(2).await.unwrap(), tenure::domain::Acquired::AlreadyProcessed);
        let owners = owners.0.lock().unwrap();
        assert_eq!((owners.len(), owners.iter().filter(|owner| *owner != "w1").count()), (9, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn upkeep_runs_beside_the_work_and_all_parts_leave_together() {
    everywhere(async |tenure| {
        tenure.apply(mirror()).await.unwrap();
        let run = tenure.pipeline("mirror").start(3_u32).await.unwrap();
        let copied = Arc::new(Notify::new());
        let copying = copied.clone();
        let worker = tenure.worker().state(Owners::default()).handle(add).stages(stages(&tenure));
        let worker = worker.chunks("orders", move |cx| {
            copying.notify_one();
            copy(cx)
        });
        // Only an orchestrator makes the stages ready; only a pass that is planned meanwhile has chunks. A handler that has
        // begun is waited for.
        let all_done = async {
            run.wait().await.unwrap();
            tenure.matrix("orders").plan([NewChunk::new("a")]).await.unwrap();
            copied.notified().await;
        };
        let report = tokio::time::timeout(Duration::from_secs(60), worker.run_until(all_done)).await;
        assert_eq!(report.expect("all leave").unwrap().completed, 3);
    })
    .await;
}

#[tokio::test]
async fn two_handlers_for_one_kind_are_refused_by_its_name() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let refused = tenure.worker().handle(add).handle(add).drain().await.unwrap_err();
    assert!(refused.to_string().contains("one for each kind") && refused.to_string().contains("add"), "{refused}");
}

#[tokio::test]
async fn a_pipeline_that_was_not_applied_is_refused_by_its_name_and_sends_the_others_home() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let worker = tenure.worker().state(Owners::default()).handle(add).stages(stages(&tenure));
    let refused = tokio::time::timeout(Duration::from_secs(30), worker.run_until(std::future::pending())).await;
    let refused = refused.expect("it ends").unwrap_err();
    assert!(matches!(&refused, Error::NotFound(what) if what.contains("mirror")), "{refused}");
}

#[tokio::test]
async fn a_worker_that_dies_in_a_stage_is_followed_by_another() {
    let engine = TestEngine::new();
    engine.apply(mirror()).await.unwrap();
    let run = engine.pipeline("mirror").start(3_u32).await.unwrap();
    let worker = || engine.worker().state(Owners::default()).stages(stages(&engine));
    Doomed::new(worker()).kill_at("fetched").drain().await.unwrap();
    assert_eq!(run.info().await.unwrap().status, RunStatus::Running);
    engine.advance(Duration::from_secs(3_600));
    assert_eq!(worker().drain().await.unwrap().completed, 2);
    assert_eq!(run.info().await.unwrap().status, RunStatus::Done);
    assert_eq!(run.stages().await.unwrap()[0].unit.attempt, 2, "the first attempt counts");
}

#[tokio::test]
async fn a_job_that_its_type_puts_elsewhere_is_served_where_the_worker_looks() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let tries = Arc::new(AtomicU32::new(0));
    tenure.enqueue(Add { n: 1 }).queue("elsewhere").await.unwrap();
    let seen = tries.clone();
    let handler = move |_: Context, _: Add| {
        seen.fetch_add(1, Ordering::SeqCst);
        async { Outcome::<()>::done(()) }
    };
    tenure.worker().queue("elsewhere").handle(handler).drain().await.unwrap();
    assert_eq!(tries.load(Ordering::SeqCst), 1);
    assert_eq!(tenure.jobs().status(Status::Completed).page(10).await.unwrap().items.len(), 1);
}
