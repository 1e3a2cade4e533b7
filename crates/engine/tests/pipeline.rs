//! Stages with handlers: artifacts, commit actions, retries, repairs.

#[path = "../examples/encode_pipeline.rs"]
#[allow(dead_code)]
mod encode_pipeline;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure::Report;
use tenure::pipeline::artifacts::Folder;
use tenure::pipeline::{
    Claim, Definition, Fault, NewRun, Reason, RunAction, RunId, RunStatus, Stage, StageContext, Stages, Status, UnitKey,
};
use tenure::prelude::*;
use tenure::testing::TestEngine;

struct Place {
    engine: TestEngine,
    folder: tempfile::TempDir,
}

impl Place {
    async fn new(definition: Definition) -> Place {
        let place = Place { engine: TestEngine::new(), folder: tempfile::tempdir().unwrap() };
        place.engine.verbs().apply_pipeline(definition).await.unwrap();
        place
    }

    async fn start(&self, input: &str) -> RunId {
        let run = self.engine.verbs().start_run(NewRun::new("p", input)).await.unwrap();
        self.engine.orchestrator().advance(10).await.unwrap();
        run
    }

    fn stages(&self) -> Stages {
        self.engine.stages("p").artifacts(Folder::new(self.folder.path()))
    }

    /// Drains and advances until nothing moves any more.
    async fn settle(&self, stages: impl Fn() -> Stages) -> Report {
        let mut total = Report::default();
        loop {
            let report = stages().drain().await.unwrap();
            let advanced = self.engine.orchestrator().advance(100).await.unwrap();
            total.completed += report.completed;
            total.skipped += report.skipped;
            total.failed += report.failed;
            total.split += report.split;
            if report == Report::default() && advanced.runs + advanced.retried == 0 {
                return total;
            }
        }
    }

    async fn status(&self, run: RunId) -> RunStatus {
        self.engine.verbs().run(run).await.unwrap().unwrap().0.status
    }
}

fn two() -> Definition {
    Definition::new("p").stage(Stage::new("make")).stage(Stage::new("use").needs(["make"]))
}

async fn make(cx: StageContext, text: String) -> Outcome<String> {
    cx.write("text", text.clone()).await?;
    Outcome::done(text)
}

async fn count(cx: StageContext, text: String) -> Outcome<u64> {
    cx.write("length", text.len().to_string()).await?;
    Outcome::done(text.len() as u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_artifacts_lie_at_paths_that_anyone_can_derive() {
    let place = Place::new(two()).await;
    let run = place.start("\"hello\"").await;
    let report = place.settle(|| place.stages().handle("make", make).handle("use", count)).await;
    assert_eq!((report.completed, place.status(run).await), (2, RunStatus::Done));
    let file = place.folder.path().join(format!("{run}/make/v1/_/text"));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "hello");
    let folder = Folder::new(place.folder.path());
    assert_eq!(place.engine.verbs().verify_run(run, &folder).await.unwrap(), (2, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_repair_remakes_what_is_damaged_and_what_follows_is_only_validated() {
    let place = Place::new(two()).await;
    let run = place.start("\"hello\"").await;
    let stages = || place.stages().handle("make", make).handle("use", count);
    place.settle(stages).await;
    let folder = Folder::new(place.folder.path());
    for (wound, fault) in [(true, Fault::Corrupt), (false, Fault::Missing)] {
        let file = place.folder.path().join(format!("{run}/make/v1/_/text"));
        if wound {
            std::fs::write(&file, "hallo").unwrap()
        } else {
            std::fs::remove_file(&file).unwrap()
        };
        let (looked_at, findings) = place.engine.verbs().verify_run(run, &folder).await.unwrap();
        assert_eq!((looked_at, findings.len(), findings[0].fault), (2, 1, fault));
        assert_eq!(findings[0].unit, UnitKey::stage(run, "make"));
        assert_eq!(place.engine.verbs().repair_run(run, &findings).await.unwrap(), RunStatus::Running);
        let report = place.settle(stages).await;
        // `use` is looked at again, and finds its own output valid.
        assert_eq!((report.completed, report.skipped, place.status(run).await), (2, 1, RunStatus::Done));
        assert_eq!(place.engine.verbs().verify_run(run, &folder).await.unwrap(), (2, vec![]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_commit_action_that_fails_is_tried_again_without_redoing_the_work() {
    let place = Place::new(Definition::new("p").stage(Stage::new("make"))).await;
    let run = place.start("\"hello\"").await;
    let (works, commits) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let stages = || {
        let (works, commits) = (works.clone(), commits.clone());
        let work = move |cx: StageContext, text: String| {
            works.fetch_add(1, Ordering::SeqCst);
            make(cx, text)
        };
        let commit = move |_: StageContext, text: String| {
            let first = commits.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                assert_eq!(text, "hello");
                if first { Outcome::retry_in("the network is away", Duration::ZERO) } else { Ok(()) }
            }
        };
        place.stages().handle("make", work).commit("make", commit)
    };
    let report = place.settle(stages).await;
    assert_eq!((report.failed, report.skipped, place.status(run).await), (1, 1, RunStatus::Done));
    assert_eq!((works.load(Ordering::SeqCst), commits.load(Ordering::SeqCst)), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_has_failed_and_takes_nobody_with_it() {
    let place = Place::new(Definition::new("p").stage(Stage::new("make").attempts_max(1))).await;
    let run = place.start("1").await;
    async fn panic(_: StageContext, _: u64) -> Outcome<u64> {
        panic!("on purpose")
    }
    let report = place.settle(|| place.stages().handle("make", panic)).await;
    assert_eq!((report.failed, place.status(run).await), (1, RunStatus::Error));
    let unit = &place.engine.verbs().run(run).await.unwrap().unwrap().1[0].unit;
    assert_eq!(unit.reason, Some(Reason::AttemptsSpent));
    assert!(unit.error.as_deref().unwrap().contains("panicked"), "{:?}", unit.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_stale_holder_publishes_nothing() {
    let place = Place::new(Definition::new("p").stage(Stage::new("make"))).await;
    let run = place.start("\"hello\"").await;
    let engine = place.engine.clone();
    let late = move |cx: StageContext, text: String| {
        let engine = engine.clone();
        async move {
            // Its lease runs out and the stage goes to someone else before it writes.
            engine.advance(Duration::from_secs(30));
            engine.stage_worker().claim(Claim::new("p", "make", "other")).await?;
            make(cx, text).await
        }
    };
    let report = place.stages().handle("make", late).drain().await.unwrap();
    assert_eq!(report.refused, 1);
    assert!(!place.folder.path().join(format!("{run}/make/v1/_/text")).exists());
    let unit = &place.engine.verbs().run(run).await.unwrap().unwrap().1[0].unit;
    assert_eq!((unit.status, unit.record.clone()), (Status::Running, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_explains_itself_and_tells_its_past() {
    let place = Place::new(two()).await;
    let run = place.start("1").await;
    let told = place.engine.verbs().explain_run(run).await.unwrap().unwrap();
    assert_eq!(told.summary, "make is READY and waits for a worker");
    assert!(told.reasons.iter().any(|why| why.message == "use waits for make (READY)"), "{told:?}");
    place.engine.verbs().operate_run(run, RunAction::Cancel { reason: None }).await.unwrap();
    let whats: Vec<&str> = place
        .engine
        .verbs()
        .run_timeline(run)
        .await
        .unwrap()
        .unwrap()
        .iter()
        .map(|event| event.what.as_str())
        .collect();
    assert_eq!(whats, ["started", "cancelled", "settled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_publishes_the_same_checksum_every_time() {
    let mut sums = Vec::new();
    for url in ["memory:", "sqlite::memory:"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let tenure = Tenure::open(url).await.unwrap();
        tenure.verbs().apply_pipeline(encode_pipeline::definition()).await.unwrap();
        let run = tenure.verbs().start_run(NewRun::new("encode", "7")).await.unwrap();
        sums.push(encode_pipeline::finish(&tenure, run, &path).await.unwrap());
        let (looked_at, findings) = tenure.verbs().verify_run(run, &Folder::new(folder.path())).await.unwrap();
        // The source, the segments and what they were joined to.
        assert_eq!((looked_at, findings), (encode_pipeline::SEGMENTS as u64 + 2, vec![]));
    }
    assert_eq!(sums[0], sums[1]);
}

/// What a worker waited for work is not taken off the lease that it is then given.
#[tokio::test(flavor = "multi_thread")]
async fn l6_a_worker_that_waited_for_work_has_its_whole_lease() {
    let place = Place::new(Definition::new("p").stage(Stage::new("make"))).await;
    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    let stages = place.stages().lease(Duration::from_millis(500)).handle("make", make);
    let working = tokio::spawn(stages.run_until(async { drop(left.await) }));
    // Longer than is safe under such a lease, and shorter than it takes until the worker looks by itself.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let run = place.start(r#""text""#).await;
    let done = async {
        while place.status(run).await != RunStatus::Done {
            place.engine.orchestrator().advance(10).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), done).await.expect("the stage is done at its first attempt");
    drop(leave);
    let report = working.await.unwrap().unwrap();
    assert_eq!((report.completed, report.failed), (1, 0));
}
