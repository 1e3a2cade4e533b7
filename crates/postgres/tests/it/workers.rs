//! Sightings of workers cost a claim nothing: they are never waited for, and never fail it. And what a process tells the
//! others before it ends.

use crate::support::{Postgres, connect, database};
use tenure_core::Time;
use tenure_core::queue::{Change, Claim, NewJob};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::Harness;
use tenure_store::{QueueStore, Upkeep};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::{AsyncMessage, Client, NoTls};

const START: Time = Time(1_800_000_000_000_000);

/// What a claim of `w` does about its sighting in `q`, and then waits with.
const SEEING: &str = "begin; select tenure.see('w', array['q'], null, tenure.clock())";

async fn seen_at(hand: &Client) -> Vec<String> {
    let rows = hand.query("select seen_at::text from tenure.sighting", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_claim_does_not_wait_for_a_sighting_that_another_writes() {
    let postgres = Postgres::open(START).await;
    let (store, rival) = (postgres.store(), connect(postgres.database.url()).await);
    store.enqueue(vec![NewJob::new("q", "k", "1"); 3]).await.unwrap().unwrap();
    // Once while the other inserts it, once while the other writes it again.
    for passed_ms in [0, 60_000] {
        postgres.set_clock(START.plus_ms(passed_ms)).await;
        rival.batch_execute(SEEING).await.unwrap();
        assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
        assert!(store.claim(Claim::new("nothing", "w").also("q").kinds(["other"])).await.unwrap().jobs.is_empty());
        rival.batch_execute("commit").await.unwrap();
    }
    // What was passed over is written by the next claim that finds the way free.
    store.claim(Claim::new("q", "w")).await.unwrap();
    assert_eq!(store.workers(None, 1).await.unwrap().items[0].last_seen_at, START.plus_ms(60_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_claim_does_not_wait_for_pruning_to_forget_its_sighting() {
    let postgres = Postgres::open(START).await;
    let (store, rival) = (postgres.store(), connect(postgres.database.url()).await);
    store.change("q", Change::default()).await.unwrap();
    store.claim(Claim::new("q", "w")).await.unwrap();
    postgres.set_clock(START.plus_ms(86_400_000)).await;
    rival.batch_execute("begin; select * from tenure.prune(10)").await.unwrap();
    assert!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.is_empty());
    rival.batch_execute("commit").await.unwrap();
    store.claim(Claim::new("q", "w")).await.unwrap();
    assert_eq!(seen_at(&rival).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sighting_that_cannot_be_written_fails_no_claim() {
    let postgres = Postgres::open(START).await;
    let (store, hand) = (postgres.store(), connect(postgres.database.url()).await);
    hand.batch_execute(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
         create trigger refuse before insert or update on tenure.sighting for each row execute function refuse()",
    )
    .await
    .unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
    assert!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.is_empty());
    assert!(seen_at(&hand).await.is_empty());
    hand.batch_execute("drop trigger refuse on tenure.sighting").await.unwrap();
    store.claim(Claim::new("q", "w")).await.unwrap();
    assert_eq!(seen_at(&hand).await.len(), 1);
}

/// Whoever asks for work that nobody knows of leaves nothing behind; and of many kinds a bounded part.
#[tokio::test(flavor = "multi_thread")]
async fn i19_claims_of_many_queues_and_kinds_leave_the_store_small() {
    let postgres = Postgres::open(START).await;
    let (store, hand) = (postgres.store(), connect(postgres.database.url()).await);
    let kept = async || -> (i64, i64) {
        let sql =
            "select count(*), coalesce(sum(octet_length(array_to_string(kinds, ' '))), 0)::bigint from tenure.sighting";
        let row = hand.query_one(sql, &[]).await.unwrap();
        (row.get(0), row.get(1))
    };
    let kinds: Vec<String> = (0..1_000).map(|n| format!("kind.{n:0>120}")).collect();
    let mut claim = Claim::new("unheard-of.0", "w").kinds(kinds).max(10);
    claim.queues = (0..100).map(|n| format!("unheard-of.{n}")).collect();
    for _ in 0..3 {
        assert!(store.claim(claim.clone()).await.unwrap().jobs.is_empty());
    }
    assert_eq!(kept().await, (0, 0));
    store.change("unheard-of.7", Change::default()).await.unwrap();
    for _ in 0..3 {
        assert!(store.claim(claim.clone()).await.unwrap().jobs.is_empty());
    }
    assert_eq!(kept().await, (1, 100 * 126 - 1));
}

/// A store that cannot listen, and so not tell either, and someone who hears what is told to its schema.
async fn deaf(url: &str) -> (PostgresStore, Client, UnboundedReceiver<String>) {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let (told, heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(note) = message {
                let _ = told.send(note.payload().to_owned());
            }
        }
    });
    client.batch_execute("listen tenure_wake").await.unwrap();
    let with = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{with}listen_url=postgres%3A%2F%2F127.0.0.1%3A1%2Fnowhere");
    (PostgresStore::open(&url).await.unwrap(), client, heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rung_is_told_before_the_store_is_let_go() {
    let database = database().await;
    let (store, _listening, mut heard) = deaf(database.url()).await;
    store.enqueue(vec![NewJob::new("b", "k", "1"), NewJob::new("a", "k", "1")]).await.unwrap().unwrap();
    store.flush().await.unwrap();
    assert_eq!(heard.recv().await.as_deref(), Some("a"));
    assert_eq!(heard.recv().await.as_deref(), Some("b"));
    // Once is enough.
    store.flush().await.unwrap();
    store.set_limit(Some(1)).await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(heard.recv().await.as_deref(), Some("*"));
}
