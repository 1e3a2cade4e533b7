//! Calls that nobody waits for any more, because they timed out or their future was dropped: the server is told, so none
//! of them waits on, holds anything, or is carried out later for nobody.

use crate::support::{connect, database};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::queue::{Act, Beat, Claim, Ending, NewJob, Status};
use tenure_postgres::PostgresStore;
use tenure_store::QueueStore;
use tenure_testing::{Pooler, TestDatabase};
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio_postgres::Client;

/// How often something is looked for before it is said never to come: some twenty seconds.
const LOOKS: u32 = 1_000;

/// Other sessions of this database that wait for a lock.
const WAITING: &str = "select count(*) from pg_stat_activity where datname = current_database() \
                       and pid <> pg_backend_pid() and wait_event_type = 'Lock'";
/// Other sessions of this database that are inside a transaction.
const INSIDE: &str = "select count(*) from pg_stat_activity where datname = current_database() \
                      and pid <> pg_backend_pid() and (state like 'idle in transaction%' or wait_event_type = 'Lock')";

async fn count(hand: &Client, sql: &str) -> i64 {
    hand.query_one(sql, &[]).await.unwrap().get(0)
}

/// Returns when `sql` counts so many.
async fn until(hand: &Client, sql: &str, wanted: i64) {
    let mut found = 0;
    for _ in 0..LOOKS {
        found = count(hand, sql).await;
        if found == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{found} sessions, not {wanted}: {sql}");
}

/// Runs a call until it waits for a lock, and drops it.
async fn abandon(hand: &Client, call: impl Future) {
    tokio::select! {
        _ = call => panic!("nothing was in its way"),
        () = until(hand, WAITING, 1) => {}
    }
}

/// A store with a job in it, on calls of a fifth of a second.
async fn hurried(url: &str) -> PostgresStore {
    let store = PostgresStore::open(&format!("{url}?timeout_ms=200&listen_url=none")).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    store
}

async fn timed_out_claims_leave_nothing(database: &TestDatabase, url: &str) {
    let store = hurried(url).await;
    let (rival, hand) = (connect(database.url()).await, connect(database.url()).await);
    rival.batch_execute("begin; lock table tenure.job in access exclusive mode").await.unwrap();
    for _ in 0..3 {
        let error = store.claim(Claim::new("q", "w")).await.unwrap_err();
        // A pooler that is busy with the one that was given up may not even take the next.
        assert!(matches!(error.code(), "unknown_outcome" | "unavailable"), "{error}");
    }
    until(&hand, WAITING, 0).await;
    rival.batch_execute("rollback").await.unwrap();
    until(&hand, INSIDE, 0).await;
    assert_eq!(count(&hand, "select count(*) from tenure.lease").await, 0, "a claim was carried out for nobody");
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_calls_that_timed_out_wait_for_no_lock_and_claim_nothing_later() {
    let database = database().await;
    timed_out_claims_leave_nothing(&database, database.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_calls_that_timed_out_behind_a_pooler_claim_nothing_later() {
    let database = database().await;
    let url = Pooler::shared().await.expect("a pooler").url(database.name());
    timed_out_claims_leave_nothing(&database, &url).await;
}

/// The address `url` of a pooler that listens in `folder`, with somebody in between who passes everything on, and tells
/// that a client has left before it was told everything.
fn relayed(url: &str, folder: &Path) -> (String, Arc<Notify>) {
    let (before, left) = (folder.join("before"), Arc::new(Notify::new()));
    std::fs::create_dir(&before).unwrap();
    let socket = ".s.PGSQL.6432";
    let listener = UnixListener::bind(before.join(socket)).unwrap();
    let (pooler, tell) = (folder.join(socket), left.clone());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = UnixStream::connect(&pooler).await.unwrap();
            let tell = tell.clone();
            tokio::spawn(async move {
                let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                    (client.into_split(), server.into_split());
                let mut requests = pin!(async {
                    let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
                    to_server.shutdown().await
                });
                let mut replies = pin!(tokio::io::copy(&mut from_server, &mut to_client));
                tokio::select! {
                    _ = &mut replies => {}
                    _ = &mut requests => {
                        tell.notify_one();
                        let _ = replies.await;
                    }
                }
            });
        }
    });
    let encoded = |folder: &Path| folder.display().to_string().replace('/', "%2F");
    (url.replace(&encoded(folder), &encoded(&before)), left)
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_a_call_that_timed_out_in_a_poolers_queue_claims_nothing_later() {
    let database = database().await;
    let before = database.url().to_owned();
    let pooler = tokio::task::spawn_blocking(move || Pooler::start(&before)).await.unwrap().expect("a pooler");
    let (url, left) = relayed(&pooler.url(database.name()), pooler.folder());
    let store = hurried(&url).await;
    let console = connect(&pooler.url("pgbouncer")).await;
    console.simple_query("pause").await.unwrap();
    let error = store.claim(Claim::new("q", "w")).await.unwrap_err();
    assert_eq!(error.code(), "unknown_outcome", "{error}");
    // It cannot be cancelled there: its caller has to leave.
    left.notified().await;
    console.simple_query("resume").await.unwrap();
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1, "a claim was carried out for nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_a_call_whose_future_is_dropped_waits_for_no_lock_and_claims_nothing_later() {
    let database = database().await;
    let store = PostgresStore::open(&format!("{}?listen_url=none", database.url())).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    let (rival, hand) = (connect(database.url()).await, connect(database.url()).await);
    rival.batch_execute("begin; lock table tenure.job in access exclusive mode").await.unwrap();
    abandon(&hand, store.claim(Claim::new("q", "w"))).await;
    until(&hand, WAITING, 0).await;
    rival.batch_execute("rollback").await.unwrap();
    assert_eq!(count(&hand, "select count(*) from tenure.lease").await, 0, "a claim was carried out for nobody");
}

/// A session that locks the leases, in a database whose isolation is not ours, so that every statement of the store
/// brings a transaction of its own.
async fn wrapped() -> (TestDatabase, PostgresStore, Client, Client) {
    let database = database().await;
    let hand = connect(database.url()).await;
    let isolation = format!("alter database {} set default_transaction_isolation = 'repeatable read'", database.name());
    hand.batch_execute(&isolation).await.unwrap();
    let store = PostgresStore::open(&format!("{}?listen_url=none", database.url())).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    let rival = connect(database.url()).await;
    (database, store, hand, rival)
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_an_ending_dropped_inside_its_transaction_holds_nothing_and_is_done_whole_or_not_at_all() {
    let (_database, store, hand, rival) = wrapped().await;
    let job = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    rival.batch_execute("begin; lock table tenure.lease in access exclusive mode").await.unwrap();
    let ending = || Ending { job: job.id, owner: "w".into(), token: job.token, act: Act::Complete { result: None } };
    abandon(&hand, store.finish(vec![ending()])).await;
    rival.batch_execute("rollback").await.unwrap();
    until(&hand, INSIDE, 0).await;
    // Whichever it was, the lease answers at once, and the ending can be sent again.
    let done = store.job(job.id).await.unwrap().unwrap().status == Status::Completed;
    assert_eq!(store.heartbeat(vec![Beat::new(job.id, "w", job.token)]).await.unwrap()[0].is_ok(), !done);
    let ended = store.finish(vec![ending()]).await.unwrap()[0].unwrap();
    assert_eq!((ended.status, ended.already), (Status::Completed, done));
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_refusal_is_answered_when_its_locks_are_gone() {
    let database = database().await;
    let store = PostgresStore::open(&format!("{}?listen_url=none", database.url())).await.unwrap();
    let hand = connect(database.url()).await;
    let keyed = |payload: &str| {
        let mut job = NewJob::new("q", "k", payload);
        job.key = Some("once".into());
        vec![job]
    };
    store.enqueue(keyed("1")).await.unwrap().unwrap();
    for n in 0..500 {
        // Refused inside its transaction, in which it has locked the key.
        assert!(store.enqueue(keyed("2")).await.unwrap().is_err());
        let free = count(&hand, "select count(*) from (select from tenure.dedup for update skip locked) d").await;
        assert_eq!(free, 1, "refusal {n} was answered before its transaction was over");
    }
}
