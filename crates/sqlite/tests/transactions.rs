//! The queue inside the caller's own transaction on the same file (Q10).

mod support;

use rusqlite::{Connection, TransactionBehavior};
use support::File;
use tenure_core::queue::{Act, Beat, Claim, ClaimedJob, Ending, NewJob, Reason, Status};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Token};
use tenure_sqlite::in_transaction::{self, Error};
use tenure_sqlite::{SqliteStore, rusqlite};
use tenure_store::{QueueStore, StoreError};

/// A store on the machine's clock, as a caller's transaction has it, and a connection of the caller's.
async fn open(file: &File) -> (SqliteStore, Connection) {
    let store = SqliteStore::open(&file.url()).await.unwrap();
    let conn = file.raw();
    conn.execute_batch("CREATE TABLE invoice (n INTEGER)").unwrap();
    (store, conn)
}

fn job() -> NewJob {
    NewJob::new("q", "kind", "{}")
}

async fn claimed(store: &SqliteStore) -> ClaimedJob {
    store.enqueue(vec![job()]).await.unwrap().unwrap();
    store.claim(Claim::new("q", "a")).await.unwrap().jobs.remove(0)
}

#[tokio::test]
async fn q10_a_commit_makes_jobs_claimable_and_a_rollback_leaves_nothing() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let tx = conn.transaction().unwrap();
    tx.execute("INSERT INTO invoice VALUES (1)", []).unwrap();
    in_transaction::enqueue(&tx, &[job().ordering_key("l").limit_key("t").key("k")]).unwrap();
    tx.rollback().unwrap();
    assert_eq!(store.queues(None, 10).await.unwrap().items, []);

    let tx = conn.transaction().unwrap();
    tx.execute("INSERT INTO invoice VALUES (2)", []).unwrap();
    let enqueued = in_transaction::enqueue(&tx, &[job().key("k")]).unwrap();
    tx.commit().unwrap();
    let jobs = store.claim(Claim::new("q", "a")).await.unwrap().jobs;
    assert_eq!(jobs[0].id, enqueued[0].id);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_commit_of_the_caller_wakes_who_waits() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let mut listener = store.signals().listen(vec!["q".into()]);
    let tx = conn.transaction().unwrap();
    in_transaction::enqueue(&tx, &[job()]).unwrap();
    tx.commit().unwrap();
    listener.woken().await;
}

#[tokio::test]
async fn q10_work_is_completed_with_what_it_wrote_or_not_at_all() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let held = claimed(&store).await;
    let tx = conn.transaction().unwrap();
    let ended = in_transaction::complete(&tx, held.id, "a", held.token, Some("7")).unwrap();
    assert_eq!((ended.status, ended.already), (Status::Completed, false));
    tx.rollback().unwrap();
    assert_eq!(store.job(held.id).await.unwrap().unwrap().status, Status::Running);

    let tx = conn.transaction().unwrap();
    in_transaction::complete(&tx, held.id, "a", held.token, Some("7")).unwrap();
    assert!(in_transaction::complete(&tx, held.id, "a", held.token, Some("7")).unwrap().already);
    tx.commit().unwrap();
    let job = store.job(held.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.result.as_deref()), (Status::Completed, Some("7")));
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.running, 0);
}

#[tokio::test]
async fn q10_a_failure_is_settled_as_anywhere_else() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let held = claimed(&store).await;
    let tx = conn.transaction().unwrap();
    let ended = in_transaction::fail(&tx, held.id, "a", held.token, "boom", Retry::Never).unwrap();
    tx.commit().unwrap();
    assert_eq!(ended.status, Status::Failed);
    let job = store.job(held.id).await.unwrap().unwrap();
    assert_eq!((job.reason, job.error.as_deref()), (Some(Reason::Failed), Some("boom")));
}

#[tokio::test]
async fn q10_held_refuses_unless_the_lease_is_held() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let job = claimed(&store).await;
    let mut held = |owner: &str, token| {
        let tx = conn.transaction().unwrap();
        let held = in_transaction::held(&tx, job.id, owner, token);
        tx.commit().unwrap();
        match held {
            Ok(()) => None,
            Err(Error::LeaseLost(reason)) => Some(reason),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(held("a", job.token), None);
    assert_eq!(held("b", job.token), Some(LostReason::Unknown));
    assert_eq!(held("a", Token(job.token.0 + 1)), Some(LostReason::Unknown));
    let ending = Ending { job: job.id, owner: "a".into(), token: job.token, act: Act::Complete { result: None } };
    store.finish(vec![ending]).await.unwrap()[0].unwrap();
    assert_eq!(held("a", job.token), Some(LostReason::Finished));
    assert_eq!(store.events(job.id).await.unwrap(), [], "a question is no refused write");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_nobody_takes_work_that_is_held_in_an_open_transaction() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    store.enqueue(vec![job()]).await.unwrap().unwrap();
    let job = store.claim(Claim::new("q", "a").lease_ms(100)).await.unwrap().jobs.remove(0);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    in_transaction::held(&tx, job.id, "a", job.token).unwrap();
    let thief = tokio::spawn(async move {
        loop {
            let claims = store.claim(Claim::new("q", "b")).await.unwrap();
            if !claims.jobs.is_empty() {
                return (store, claims.jobs);
            }
            tokio::task::yield_now().await;
        }
    });
    // The lease runs out while the transaction is open: a finish is still judged by the clock (L4).
    let lost = loop {
        match in_transaction::held(&tx, job.id, "a", job.token) {
            Ok(()) => std::thread::yield_now(),
            Err(Error::LeaseLost(lost)) => break lost,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(lost, LostReason::Expired);
    assert!(matches!(
        in_transaction::complete(&tx, job.id, "a", job.token, None),
        Err(Error::LeaseLost(LostReason::Expired))
    ));
    assert!(!thief.is_finished(), "it was taken while it was held");
    tx.commit().unwrap();
    let (store, stolen) = thief.await.unwrap();
    assert_eq!(stolen[0].id, job.id);
    drop(store);
}

#[tokio::test]
async fn q10_what_is_refused_says_why() {
    let file = File::new();
    let mut conn = file.raw();
    let tx = conn.transaction().unwrap();
    let absent = in_transaction::enqueue(&tx, &[job()]).unwrap_err();
    assert!(matches!(&absent, Error::Store(StoreError::Broken { message }) if message.contains("open")), "{absent}");
    drop(tx);
    drop(conn);
    let (_store, mut conn) = open(&file).await;
    let tx = conn.transaction().unwrap();
    assert!(matches!(in_transaction::enqueue(&tx, &[NewJob::new("q", "kind", "{")]), Err(Error::Invalid(_))));
    in_transaction::enqueue(&tx, &[job().key("k")]).unwrap();
    let other = NewJob::new("q", "kind", "[1]").key("k");
    let conflict = in_transaction::enqueue(&tx, &[job(), other]).unwrap_err();
    assert!(matches!(&conflict, Error::Conflict(conflict) if conflict.index == 1), "{conflict}");
    let count: i64 = tx.query_row("SELECT count(*) FROM tenure_job", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1, "a conflict refuses the whole call");
}

/// Returns when the store has found the write lock taken so often that it knows by whom, if that can be known.
async fn has_waited(store: &SqliteStore) {
    let before = store.lock_waits();
    while store.lock_waits() < before + 300 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_call_that_would_wait_for_its_callers_own_transaction_is_refused() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let held = claimed(&store).await;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    in_transaction::held(&tx, held.id, "a", held.token).unwrap();
    let refused = store.heartbeat(vec![Beat::new(held.id, "a", held.token)]).await.unwrap_err();
    assert_eq!(refused.code(), "own_transaction", "{refused}");
    assert!(refused.to_string().contains("enqueue_in"), "it says what to do: {refused}");
    // Once more, for whom the transaction was seen before; and the transaction is none the worse for it.
    assert!(matches!(store.enqueue(vec![job()]).await, Err(StoreError::OwnTransaction { .. })));
    in_transaction::complete(&tx, held.id, "a", held.token, None).unwrap();
    tx.commit().unwrap();
    assert_eq!(store.enqueue(vec![job()]).await.unwrap().unwrap().len(), 1);
    assert_eq!(store.job(held.id).await.unwrap().unwrap().status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_call_of_another_task_waits_for_the_transaction() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let store = std::sync::Arc::new(store);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    in_transaction::enqueue(&tx, &[job()]).unwrap();
    let other = store.clone();
    let other = tokio::spawn(async move { other.enqueue(vec![job()]).await });
    has_waited(&store).await;
    tx.commit().unwrap();
    assert_eq!(other.await.unwrap().unwrap().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_transaction_that_was_committed_is_not_taken_for_the_one_that_is_open() {
    let file = File::new();
    let (store, mut conn) = open(&file).await;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    in_transaction::enqueue(&tx, &[job()]).unwrap();
    tx.commit().unwrap();
    // Somebody else's, which no call of ours can be part of.
    let stranger = file.raw();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ends = async {
        has_waited(&store).await;
        stranger.execute_batch("COMMIT").unwrap();
    };
    let (enqueued, ()) = tokio::join!(store.enqueue(vec![job()]), ends);
    assert_eq!(enqueued.unwrap().unwrap().len(), 1);
}
