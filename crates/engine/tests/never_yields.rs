//! Handlers of domains, chunks and stages that take the only thread of the runtime for five leases keep them (A9).
//! Jobs are tried in `worker.rs` and `worker_postgres.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure::domain::{Work, offsets};
use tenure::pipeline::{Definition, NewRun, RunStatus, Stage, StageContext};
use tenure::prelude::*;
use tenure::sync::{ClaimedChunk, NewChunk, Plan, State};
use tenure_testing::TestDatabase;
use tokio::runtime::{Builder, Runtime};

/// Long enough for a machine that is busy with other tests.
const LEASE: Duration = Duration::from_millis(1_500);
const LEASE_MS: u64 = LEASE.as_millis() as u64;

/// Runs `check` with each store, each on a runtime with one thread.
fn on_each_store<F: AsyncFn(Tenure, String) + Copy + Send + 'static>(check: F) {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("a9.db").display());
    let alone = |run: Box<dyn FnOnce(Runtime) + Send>| {
        std::thread::spawn(move || run(Builder::new_current_thread().enable_all().build().unwrap()))
    };
    let on = |url: String| {
        Box::new(move |runtime: Runtime| {
            runtime.block_on(async {
                check(Tenure::open(&url).await.unwrap(), url.clone()).await;
            })
        })
    };
    let on_postgres = Box::new(move |runtime: Runtime| {
        runtime.block_on(async {
            let database = TestDatabase::create().await.unwrap();
            check(Tenure::open(database.url()).await.unwrap(), database.url().to_owned()).await;
        })
    });
    for store in [alone(on("memory:".to_owned())), alone(on(file)), alone(on_postgres)] {
        store.join().unwrap();
    }
}

#[test]
fn a9_a_handler_of_a_domain_that_never_yields_keeps_its_lease() {
    on_each_store(async |tenure, url| {
        let tries = Arc::new(AtomicU32::new(0));
        let counted = tries.clone();
        let worker = tenure.domain_worker().name("w").lease(LEASE);
        let drained = worker
            .run(offsets([("a", 1_u64)]), move |_: Work| {
                counted.fetch_add(1, Ordering::Relaxed);
                async {
                    std::thread::sleep(5 * LEASE);
                    Ok::<(), String>(())
                }
            })
            .await
            .unwrap();
        assert_eq!((drained.completed, drained.refused, tries.load(Ordering::Relaxed)), (1, 0, 1), "{url}");
    });
}

#[test]
fn a9_a_handler_of_a_chunk_that_never_yields_keeps_its_lease_and_the_syncs() {
    on_each_store(async |tenure, url| {
        let sync = tenure.verbs().plan_sync(Plan::new("m").chunks([NewChunk::new("c")])).await.unwrap().id;
        let worker = tenure.sync_worker(sync, "w").lease(LEASE).chunk_lease(LEASE);
        let info = worker
            .run(|_: ClaimedChunk| async {
                std::thread::sleep(5 * LEASE);
                Ok::<u64, String>(1)
            })
            .await
            .unwrap();
        assert_eq!((info.sync.state, info.progress.rows), (State::Completed, 1), "{url}");
        let chunk = tenure.verbs().chunk(sync, "c").await.unwrap().unwrap();
        assert_eq!(chunk.attempt, 1, "{url}");
        // The lease of the sync was never lost either: it was claimed once.
        let events = tenure.verbs().sync_timeline(sync).await.unwrap().unwrap();
        assert!(!events.iter().any(|event| event.what.as_str().contains("expired")), "{url}: {events:?}");
    });
}

#[test]
fn a9_a_handler_of_a_stage_that_never_yields_keeps_its_lease() {
    on_each_store(async |tenure, url| {
        tenure.verbs().apply_pipeline(Definition::new("p").stage(Stage::new("s").lease_ms(LEASE_MS))).await.unwrap();
        let run = tenure.verbs().start_run(NewRun::new("p", "null")).await.unwrap();
        tenure.orchestrator().advance(10).await.unwrap();
        let stages = tenure.stages("p").handle("s", |_: StageContext, (): ()| async {
            std::thread::sleep(5 * LEASE);
            Outcome::<()>::done(())
        });
        let report = stages.drain().await.unwrap();
        assert_eq!((report.completed, report.refused), (1, 0), "{url}");
        tenure.orchestrator().advance(10).await.unwrap();
        let (found, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
        assert_eq!((found.status, stages[0].unit.attempt), (RunStatus::Done, 1), "{url}");
    });
}
