//! Behind a pooler in transaction mode (C5): the whole suite, and what becomes of wake-ups.
//!
//! The pooler hands each transaction of a client to another session and knows no named statement (`tenure-testing`).

use crate::support::{Postgres, connect, database};
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_core::queue::{Act, Beat, Claim, Ending, Idle, NewJob, Status};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::{Harness, QueueWalk, walks};
use tenure_store::{QueueStore, Store};
use tenure_testing::{Pooler, TestDatabase};

tenure_store::conformance!(queue, Pooled);

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_agree_with_core() {
    walks::<QueueWalk, Pooled>(500..504, 2_500).await;
}

/// A store reached only through the pooler, listener included; the hand on its clock is direct.
struct Pooled(Postgres);

#[async_trait]
impl Harness for Pooled {
    async fn open(start: Time) -> Pooled {
        let database = database().await;
        let url = pooled(&database).await;
        Pooled(Postgres::open_at(database, &url, start).await)
    }

    fn store(&self) -> Arc<dyn Store> {
        self.0.store()
    }

    async fn set_clock(&self, now: Time) {
        self.0.set_clock(now).await;
    }

    async fn another(&self) -> Arc<dyn Store> {
        let url = pooled(&self.0.database).await;
        Arc::new(PostgresStore::open(&url).await.expect("the same database opens twice"))
    }
}

async fn pooled(database: &TestDatabase) -> String {
    Pooler::shared().await.expect("a pooler").url(database.name())
}

fn encoded(url: &str) -> String {
    url.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

/// A store behind the pooler, with this address for LISTEN.
async fn open(database: &TestDatabase, listen_url: &str) -> PostgresStore {
    let url = format!("{}?listen_url={}", pooled(database).await, encoded(listen_url));
    PostgresStore::open(&url).await.expect("a store behind a pooler")
}

/// Enqueue on one handle, then everything a worker does on the other.
async fn works(one: &PostgresStore, other: &PostgresStore) {
    let id = one.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap()[0].id;
    let job = other.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    assert_eq!(job.id, id);
    assert!(other.heartbeat(vec![Beat::new(id, "w", job.token)]).await.unwrap()[0].is_ok());
    let ending = Ending { job: id, owner: "w".into(), token: job.token, act: Act::Complete { result: None } };
    assert_eq!(other.finish(vec![ending]).await.unwrap()[0].unwrap().status, Status::Completed);
    assert_eq!(other.claim(Claim::new("q", "w")).await.unwrap().idle, Some(Idle::Empty));
}

#[tokio::test(flavor = "multi_thread")]
async fn c5_beside_a_pooler_wake_ups_come_over_a_direct_listen_url() {
    let database = database().await;
    let (one, other) = (open(&database, database.url()).await, open(&database, database.url()).await);
    let hand = connect(database.url()).await;
    let listening = "select from pg_stat_activity where datname = current_database() and query like 'listen %'";
    while hand.query(listening, &[]).await.unwrap().len() < 2 {}
    let mut listener = other.signals().listen(vec!["q".into()]);
    works(&one, &one).await;
    listener.woken().await;
    works(&one, &other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c23_where_nobody_can_listen_everything_works() {
    let database = database().await;
    // Port 1 is nobody's: the listener never connects.
    let nowhere = "postgres://postgres@127.0.0.1:1/none";
    let (one, other) = (open(&database, nowhere).await, open(&database, nowhere).await);
    works(&one, &other).await;
    works(&other, &one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c23_without_a_listener_no_session_is_taken_for_it() {
    let database = database().await;
    let url = format!("{}?listen_url=none", pooled(&database).await);
    let (one, other) = (PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap());
    works(&one, &other).await;
    works(&other, &one).await;
    let hand = connect(database.url()).await;
    let listening = "select from pg_stat_activity where datname = current_database() and query ilike 'listen %'";
    assert!(hand.query(listening, &[]).await.unwrap().is_empty());
}
