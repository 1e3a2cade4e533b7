//! Where no process hears of another (C2, C23): a claim that waits looks by itself.

use crate::servers::Servers;
use serde_json::json;
use std::sync::Arc;
use tenure_testing::TestDatabase;

async fn a_waiting_claim_is_served(store: &str) {
    let servers = Servers::start(store).await;
    // The queue exists, so that the claim waits for work and not for a queue.
    assert_eq!(servers.ask("PUT /v1/queues/q", json!({ "paused": false })).await.0, 200);
    let waiting = {
        let servers = Arc::clone(&servers);
        let claim = json!({ "worker": "w", "wait_ms": 60_000 });
        tokio::spawn(async move { servers.try_ask(0, "POST /v1/queues/q/claim", &claim).await.unwrap() })
    };
    let job = json!({ "kind": "k", "payload": "heard of by nobody" });
    assert_eq!(servers.try_ask(1, "POST /v1/queues/q/jobs", &job).await.unwrap().0, 201);
    let (status, claims) = waiting.await.unwrap();
    assert_eq!((status, claims["jobs"][0]["payload"].as_str()), (200, Some("heard of by nobody")));
}

#[tokio::test(flavor = "multi_thread")]
async fn c23_without_a_listener_a_waiting_claim_finds_what_another_process_enqueued() {
    let database = TestDatabase::create().await.unwrap();
    a_waiting_claim_is_served(&format!("{}?listen_url=none", database.url())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c23_with_a_listener_that_never_connects_it_does_as_well() {
    let database = TestDatabase::create().await.unwrap();
    let nowhere = "postgres%3A%2F%2Fpostgres%40127.0.0.1%3A1%2Fnone";
    a_waiting_claim_is_served(&format!("{}?listen_url={nowhere}", database.url())).await;
}
