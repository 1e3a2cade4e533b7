//! What can only be seen from inside: the writer's groups, and a disk without room.

use crate::SqliteStore;
use crate::fault::Fault;
use std::sync::{Arc, mpsc};
use tenure_core::queue::{Beat, Claim, NewJob};
use tenure_store::{QueueStore, StoreError};

fn job() -> NewJob {
    NewJob::new("q", "kind", "{}")
}

/// Holds the writer inside a transaction until the sender is dropped, so that what is asked meanwhile becomes one group.
async fn hold(store: &Arc<SqliteStore>) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let (go_on, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (begun, held) = tokio::sync::oneshot::channel();
    let begun = std::sync::Mutex::new(Some(begun));
    let writer = Arc::clone(store);
    let task = tokio::spawn(async move {
        let work = writer.write(1, move |_| {
            begun.lock().unwrap().take().into_iter().for_each(|begun| begun.send(()).unwrap());
            let _ = wait.lock().unwrap().recv();
            Ok(())
        });
        work.await.unwrap();
    });
    held.await.unwrap();
    (go_on, task)
}

/// Waits until `count` operations wait for the writer.
async fn queued(store: &SqliteStore, count: usize) {
    while store.writes.waiting() < count {
        tokio::task::yield_now().await;
    }
}

async fn in_a_file() -> (tempfile::TempDir, Arc<SqliteStore>) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&format!("sqlite:{}", dir.path().join("t.db").display())).await.unwrap();
    (dir, Arc::new(store))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_operation_of_a_group_is_undone_alone() {
    let (_dir, store) = in_a_file().await;
    let (go_on, held) = hold(&store).await;
    let ask = |fails: bool, panics: bool| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let work = move |step: &crate::Step<'_>| {
                let done = crate::queue::enqueue::enqueue(step, &[job()])?.unwrap();
                assert!(!panics, "on purpose");
                if fails { Err(Fault::broken("on purpose")) } else { Ok(done[0].id) }
            };
            store.write(1, work).await
        })
    };
    let mut tasks = Vec::new();
    for (n, (fails, panics)) in [(false, false), (true, false), (false, false), (false, true)].into_iter().enumerate() {
        tasks.push(ask(fails, panics));
        queued(&store, n + 1).await;
    }
    drop(go_on);
    held.await.unwrap();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    let [Ok(first), Err(failed), Ok(third), Err(panicked)] = &answers[..] else { panic!("{answers:?}") };
    assert!(failed.to_string().contains("on purpose") && panicked.to_string().contains("invariant"));
    // The number drawn by the operation that failed went back with it.
    assert_eq!((first.0, third.0), (1, 2));
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 2);
}

/// Leaves the file room for `pages` more than it has.
async fn room(store: &SqliteStore, pages: i64) {
    let work = move |step: &crate::Step<'_>| {
        let now: i64 = step.conn.pragma_query_value(None, "page_count", |row| row.get(0))?;
        step.conn.pragma_update_and_check(None, "max_page_count", now + pages, |_| Ok(()))?;
        Ok(())
    };
    store.write(1, work).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_a_full_disk_refuses_and_recovers_by_itself() {
    let (_dir, store) = in_a_file().await;
    let first = store.enqueue(vec![job(); 10]).await.unwrap().unwrap();
    room(&store, 0).await;
    let error = store.enqueue(vec![job(); 5_000]).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 10);
    room(&store, 100_000).await;
    let next = store.enqueue(vec![job()]).await.unwrap().unwrap();
    assert_eq!(next[0].id.0, first[9].id.0 + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_a_heartbeat_is_kept_beside_jobs_that_find_the_disk_full() {
    let (_dir, store) = in_a_file().await;
    store.enqueue(vec![job(); 10]).await.unwrap().unwrap();
    let held_job = store.claim(Claim::new("q", "a")).await.unwrap().jobs.remove(0);
    room(&store, 0).await;
    let (go_on, held) = hold(&store).await;
    let ask = |store: &Arc<SqliteStore>| Arc::clone(store);
    let (beats, enqueues) = (ask(&store), ask(&store));
    let beat = tokio::spawn(async move { beats.heartbeat(vec![Beat::new(held_job.id, "a", held_job.token)]).await });
    queued(&store, 1).await;
    let flood = tokio::spawn(async move { enqueues.enqueue(vec![job(); 5_000]).await });
    queued(&store, 2).await;
    drop(go_on);
    held.await.unwrap();
    assert!(matches!(flood.await.unwrap(), Err(StoreError::Full { .. })));
    assert!(beat.await.unwrap().unwrap()[0].is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_waits_for_any_more_is_not_done() {
    let (_dir, store) = in_a_file().await;
    let (go_on, held) = hold(&store).await;
    let gone = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.enqueue(vec![job()]).await }
    });
    queued(&store, 1).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    drop(go_on);
    held.await.unwrap();
    store.enqueue(vec![job()]).await.unwrap().unwrap();
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_a_sighting_that_finds_the_disk_full_leaves_the_claim_alone() {
    let (_dir, store) = in_a_file().await;
    room(&store, 0).await;
    for n in 0..200 {
        // Enough of them that some need a page that is not there.
        let claim = Claim::new("q", format!("w{n}")).kinds((0..100).map(|k| format!("kind.{k:0>100}")));
        assert!(store.claim(claim).await.unwrap().jobs.is_empty());
    }
    assert!(store.workers(None, 1_000).await.unwrap().items.len() < 200);
}
