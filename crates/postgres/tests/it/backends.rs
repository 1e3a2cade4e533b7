//! How many sessions of the server one store takes: no more than its address says, whatever becomes of its calls.

use crate::support::{blocked, connect, database};
use std::time::Duration;
use tenure_core::queue::{Beat, Claim, NewJob};
use tenure_postgres::PostgresStore;
use tenure_store::QueueStore;
use tenure_testing::{PostgresServer, ServerOptions};

const CONNECTIONS_MAX: i64 = 3;
/// Beside those: two for heartbeats, one that listens.
const OTHERS: i64 = 3;

#[tokio::test(flavor = "multi_thread")]
async fn calls_given_up_while_a_standby_is_waited_for_take_no_more_sessions_than_the_address_allows() {
    // Every commit waits for a standby that never comes.
    let options = ServerOptions::fast().max_connections(60);
    let server = tokio::task::spawn_blocking(|| PostgresServer::start(options)).await.unwrap().unwrap();
    let hand = connect(&server.url("postgres")).await;
    PostgresStore::migrate(&server.url("postgres")).await.unwrap();
    let options = format!("connections_max={CONNECTIONS_MAX}&timeout_ms=100&connect_timeout=10");
    let url = format!("{}?{options}", server.url("postgres"));
    // Calls are hurried so that many are given up; on a crowded machine opening may be among them.
    let store = loop {
        match PostgresStore::open(&url).await {
            Ok(store) => break std::sync::Arc::new(store),
            Err(error) => assert!(matches!(error.code(), "unknown_outcome" | "unavailable"), "{error}"),
        }
    };
    let sessions = "select count(*) from pg_stat_activity where application_name = 'tenure'";
    while hand.query_one(sessions, &[]).await.unwrap().get::<_, i64>(0) > CONNECTIONS_MAX + OTHERS {}
    hand.batch_execute("alter system set synchronous_standby_names = 'nobody'").await.unwrap();
    hand.batch_execute("select pg_reload_conf()").await.unwrap();

    let mut calls = tokio::task::JoinSet::new();
    for n in 0..8 {
        let store = store.clone();
        calls.spawn(async move {
            let mut given_up = 0;
            for turn in 0..25 {
                let job = NewJob::new("q", "k", "1").key(format!("{n}-{turn}"));
                let error = match store.enqueue(vec![job]).await {
                    // The server had not read its new settings yet.
                    Ok(_) => continue,
                    Err(error) => error,
                };
                assert!(matches!(error.code(), "unknown_outcome" | "unavailable"), "{error}");
                given_up += 1;
            }
            given_up
        });
    }
    let (mut most, mut given_up) = (0, 0);
    while !calls.is_empty() {
        while let Some(ended) = calls.try_join_next() {
            given_up += ended.unwrap();
        }
        most = most.max(hand.query_one(sessions, &[]).await.unwrap().get::<_, i64>(0));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(most <= CONNECTIONS_MAX + OTHERS, "{most} sessions at once");
    assert!(given_up > 100, "of 200 calls {given_up} waited for the standby");

    // And when the standby is no longer waited for, all is well without anyone's help.
    hand.batch_execute("alter system reset synchronous_standby_names").await.unwrap();
    hand.batch_execute("select pg_reload_conf()").await.unwrap();
    let well = async { while store.enqueue(vec![NewJob::new("q", "k", "1").key("last")]).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(60), well).await.expect("calls are answered again");
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_heartbeat_is_answered_while_every_other_connection_waits_for_a_lock() {
    let database = database().await;
    let url = format!("{}?connections_max={CONNECTIONS_MAX}&listen_url=none", database.url());
    let store = std::sync::Arc::new(PostgresStore::open(&url).await.unwrap());
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    let job = store.claim(Claim::new("q", "w").lease_ms(600_000)).await.unwrap().jobs.remove(0);
    let (rival, hand) = (connect(database.url()).await, connect(database.url()).await);
    // Enqueues look whether their queue is known, and somebody keeps everybody from looking.
    rival.batch_execute("begin; lock table tenure.queue in access exclusive mode").await.unwrap();
    let waiting: Vec<_> = (0..CONNECTIONS_MAX)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.enqueue(vec![NewJob::new("q", "k", "1")]).await })
        })
        .collect();
    blocked(&hand).await;
    let all = format!(
        "select count(*) = {CONNECTIONS_MAX} from pg_stat_activity
          where datname = current_database() and application_name = 'tenure' and wait_event_type = 'Lock'"
    );
    let taken = async { while !hand.query_one(&all, &[]).await.unwrap().get::<_, bool>(0) {} };
    tokio::time::timeout(Duration::from_secs(60), taken).await.expect("every connection is taken");
    assert!(store.heartbeat(vec![Beat::new(job.id, "w", job.token)]).await.unwrap()[0].is_ok());
    assert!(waiting.iter().all(|call| !call.is_finished()), "they were waiting all the while");
    rival.batch_execute("rollback").await.unwrap();
    for call in waiting {
        call.await.unwrap().unwrap().unwrap();
    }
}
