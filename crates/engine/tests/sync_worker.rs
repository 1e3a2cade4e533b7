//! The sync worker: many tasks, failing handlers, lost leases.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure::Tenure;
use tenure::sync::{ChunkClaim, ClaimedChunk, NewChunk, Plan, State, SyncId, Synced};
use tenure_memory::MemoryStore;

async fn planned(tenure: &Tenure, chunks: u32) -> SyncId {
    let chunks = (0..chunks).map(|n| NewChunk::new(format!("c{n}")).payload(n.to_string()));
    tenure.verbs().plan_sync(Plan::new("m").attempts_max(3).chunks(chunks)).await.unwrap().id
}

fn memory() -> Tenure {
    Tenure::on(MemoryStore::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_several_workers_sync_each_chunk_once_and_complete() {
    let tenure = memory();
    let sync = planned(&tenure, 100).await;
    let seen: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let handler = |seen: Arc<Mutex<BTreeMap<String, u32>>>| {
        move |chunk: ClaimedChunk| {
            let seen = seen.clone();
            async move {
                *seen.lock().unwrap().entry(chunk.chunk_hash.clone()).or_default() += 1;
                Ok::<u64, String>(chunk.payload.parse().unwrap())
            }
        }
    };
    let one = tenure.sync_worker(sync, "one").workers(4).run(handler(seen.clone()));
    let two = tenure.sync_worker(sync, "two").workers(4).run(handler(seen.clone()));
    let (one, two) = tokio::join!(one, two);
    for info in [one.unwrap(), two.unwrap()] {
        assert_eq!((info.sync.state, info.progress.completed), (State::Completed, 100));
        assert_eq!(info.progress.rows, (0..100).sum::<u64>());
    }
    assert!(seen.lock().unwrap().values().all(|times| *times == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_failing_chunk_is_retried_and_a_panic_is_a_failure() {
    let tenure = memory();
    let sync = planned(&tenure, 3).await;
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let told = Arc::new(AtomicU32::new(0));
    let telling = told.clone();
    let worker = tenure.sync_worker(sync, "w").on_progress(move |_| {
        telling.fetch_add(1, Ordering::Relaxed);
    });
    let info = worker
        .run(move |chunk| {
            let tries = counted.clone();
            async move {
                if chunk.chunk_hash == "c1" {
                    match tries.fetch_add(1, Ordering::Relaxed) {
                        0 => return Err("not yet"),
                        1 => panic!("on purpose"),
                        _ => {}
                    }
                }
                Ok(Synced::rows(1).cursor("{\"at\":1}"))
            }
        })
        .await
        .unwrap();
    assert_eq!((info.sync.state, info.progress.rows), (State::Completed, 3));
    assert_eq!(tries.load(Ordering::Relaxed), 3);
    assert!(told.load(Ordering::Relaxed) >= 1);
    let chunk = tenure.verbs().chunk(sync, "c1").await.unwrap().unwrap();
    assert_eq!((chunk.attempt, chunk.cursor.as_deref()), (3, Some("{\"at\":1}")));
    assert_eq!(chunk.standing.error_message.as_deref(), Some("the handler panicked: on purpose"));
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_chunk_that_fails_for_good_fails_the_sync() {
    let tenure = memory();
    let sync = planned(&tenure, 3).await;
    let handler =
        |chunk: ClaimedChunk| async move { if chunk.chunk_hash == "c1" { Err("broken source") } else { Ok(1) } };
    let info = tenure.sync_worker(sync, "w").run(handler).await.unwrap();
    assert_eq!((info.sync.state, info.progress.completed, info.progress.failed), (State::Failed, 2, 1));
    assert_eq!(info.sync.standing.error_message.as_deref(), Some("1 chunks failed for good"));
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_a_cancelled_sync_stops_its_handlers() {
    let tenure = memory();
    let sync = planned(&tenure, 2).await;
    let begun = Arc::new(tokio::sync::Notify::new());
    let beginning = begun.clone();
    let worker =
        tenure.sync_worker(sync, "w").lease(Duration::from_millis(400)).chunk_lease(Duration::from_millis(200)).run(
            move |_| {
                beginning.notify_one();
                std::future::pending::<Result<u64, String>>()
            },
        );
    let cancelled = async {
        begun.notified().await;
        tenure.verbs().cancel_sync(sync, Some("enough")).await.unwrap();
    };
    let (info, ()) = tokio::join!(worker, cancelled);
    let info = info.unwrap();
    assert_eq!(info.sync.standing.error_message.as_deref(), Some("cancelled"));
}

#[tokio::test(flavor = "multi_thread")]
async fn l3_a_long_handler_keeps_its_lease_by_heartbeats() {
    let tenure = memory();
    let sync = planned(&tenure, 1).await;
    let beaten = tenure.clone();
    let info = tenure
        .sync_worker(sync, "w")
        .lease(Duration::from_secs(5))
        .chunk_lease(Duration::from_secs(2))
        .run(move |chunk| {
            let tenure = beaten.clone();
            async move {
                // Until the store has seen the lease outlive its first term.
                loop {
                    let seen =
                        tenure.verbs().chunk(chunk.sync, &chunk.chunk_hash).await.map_err(|error| error.to_string())?;
                    let beats = seen.and_then(|chunk| chunk.standing.lease).map_or(0, |lease| lease.pulse.beats);
                    if beats >= 4 {
                        return Ok::<u64, String>(1);
                    }
                    tokio::task::yield_now().await;
                }
            }
        })
        .await
        .unwrap();
    assert_eq!((info.sync.state, info.progress.completed), (State::Completed, 1));
    let chunk = tenure.verbs().chunk(sync, "c0").await.unwrap().unwrap();
    assert_eq!(chunk.attempt, 1, "it was claimed once");
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_worker_goes_on_where_a_dead_one_stopped() {
    let tenure = memory();
    let sync = planned(&tenure, 4).await;
    let dead = tenure.verbs().claim_chunk(ChunkClaim::new(sync, "dead").lease_ms(100)).await.unwrap().unwrap();
    tenure.verbs().complete_chunk(&dead, "dead", Some(1)).await.unwrap();
    tenure.verbs().claim_chunk(ChunkClaim::new(sync, "dead").lease_ms(100)).await.unwrap().unwrap();
    let redone: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = redone.clone();
    let handler = move |chunk: ClaimedChunk| {
        seen.lock().unwrap().push(chunk.chunk_hash.clone());
        async { Ok::<u64, String>(1) }
    };
    let info = tenure.sync_worker(sync, "alive").run(handler).await.unwrap();
    assert_eq!(info.sync.state, State::Completed);
    let mut redone = redone.lock().unwrap().clone();
    redone.sort();
    assert_eq!(redone, ["c1", "c2", "c3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_a_shutdown_finishes_what_is_at_work_and_gives_the_sync_back() {
    let tenure = memory();
    let sync = planned(&tenure, 50).await;
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (begun, go_on) = (Arc::new(Mutex::new(Some(begun))), Arc::new(tokio::sync::Notify::new()));
    let waiting = go_on.clone();
    let handler = move |_: ClaimedChunk| {
        let (begun, go_on) = (begun.lock().unwrap().take(), waiting.clone());
        async move {
            if let Some(begun) = begun {
                begun.send(()).unwrap();
            }
            go_on.notified().await;
            Ok::<u64, String>(1)
        }
    };
    let shutdown = async move {
        begins.await.unwrap();
        // Only now may chunks at work be finished; hardly more than the first.
        tokio::spawn(async move {
            loop {
                go_on.notify_one();
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        });
    };
    let info = tenure.sync_worker(sync, "one").run_until(handler, shutdown).await.unwrap();
    assert_eq!((info.sync.state, info.progress.running), (State::Available, 0), "{info:?}");
    assert!((1..50).contains(&info.progress.completed), "{info:?}");
    // Nobody has to wait for a lease to run out.
    let claimed = tenure.verbs().claim_sync(tenure::sync::SyncClaim::new("two")).await.unwrap();
    assert_eq!(claimed.map(|claimed| claimed.id), Some(sync));
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_worker_of_an_ended_pass_does_not_keep_the_next_one() {
    let tenure = memory();
    let copy = |_: ClaimedChunk| async { Ok::<u64, String>(1) };
    let ended = planned(&tenure, 1).await;
    tenure.sync_worker(ended, "first").run(copy).await.unwrap();
    let next = planned(&tenure, 1).await;
    let info = tenure.sync_worker(ended, "late").run(copy).await.unwrap();
    assert_eq!((info.sync.id, info.sync.state), (ended, State::Completed));
    let claimed = tenure.verbs().claim_sync(tenure::sync::SyncClaim::new("other")).await.unwrap();
    assert_eq!(claimed.map(|claimed| claimed.id), Some(next), "nobody works on it, and nobody holds it");
}
