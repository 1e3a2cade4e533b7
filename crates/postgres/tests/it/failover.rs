//! A host that takes connections and says nothing: a frozen machine or process, whose kernel goes on accepting. It has
//! its time, and then the next host is asked.

use crate::fake::{FakeServer, Manner};
use crate::support::{Durable, connect};
use std::time::Duration;
use tenure_core::queue::{Claim, NewJob};
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, Result, Upkeep};

/// More than a crowded machine needs, less than for ever.
const BOUND: Duration = Duration::from_secs(90);

/// `first` in front of the real server in one address.
fn before(first: u16, durable: &Durable) -> String {
    durable.tcp_url().replace("@127.0.0.1", &format!("@127.0.0.1:{first},127.0.0.1"))
}

async fn opened(url: &str) -> Result<PostgresStore> {
    tokio::time::timeout(BOUND, PostgresStore::open(url)).await.expect("opening ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_host_that_says_nothing_or_stops_half_way_is_passed_over() {
    let durable = Durable::start().await;
    for (manner, option) in [
        (Manner::Silent, "sslmode=disable"),
        (Manner::Silent, "sslmode=prefer"),
        (Manner::HalfWay, "sslmode=prefer"),
        (Manner::Silent, "connect_timeout=1"),
    ] {
        let fake = FakeServer::start(manner).await;
        let store = opened(&format!("{}?{option}", before(fake.port, &durable))).await.unwrap();
        store.now().await.unwrap();
        assert!(!fake.heard().is_empty(), "{manner:?} {option}: it was asked first");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_where_every_host_is_silent_opening_ends_and_names_them() {
    let (one, two) = tokio::join!(FakeServer::start(Manner::Silent), FakeServer::start(Manner::Silent));
    let url = format!("postgres://ada:hunter2@127.0.0.1:{},127.0.0.1:{}/db?timeout_ms=600", one.port, two.port);
    let error = opened(&url).await.unwrap_err();
    assert_eq!(error.code(), "unavailable", "{error}");
    for port in [one.port, two.port] {
        assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
    }
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_opening_and_a_running_store_go_over_from_a_frozen_primary() {
    let (frozen, good) = tokio::join!(Durable::start(), Durable::start());
    // One password for both, as two servers of one cluster have.
    let url = frozen.tcp_url();
    let (user, first) = url.rsplit_once('@').unwrap();
    let password = user.rsplit_once(':').unwrap().1;
    let hand = connect(&good.server.url("postgres")).await;
    hand.batch_execute(&format!("alter role postgres password '{password}'")).await.unwrap();
    let second = good.tcp_url().rsplit_once('@').unwrap().1.to_owned();
    let both = format!("{user}@{},{second}?timeout_ms=2000", first.split_once('/').unwrap().0);

    let running = PostgresStore::open(&both).await.unwrap();
    frozen.store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    assert_eq!(running.claim(Claim::new("q", "w")).await.unwrap().jobs[0].payload, "1");
    good.store.enqueue(vec![NewJob::new("q", "k", "2"); 2]).await.unwrap().unwrap();
    frozen.server.freeze();

    let fresh = opened(&both).await.unwrap();
    assert_eq!(fresh.claim(Claim::new("q", "w")).await.unwrap().jobs[0].payload, "2");
    let over = async {
        // What is on its way into the frozen server fails; nothing is opened by hand.
        loop {
            if let Some(job) = running.claim(Claim::new("q", "w")).await.ok().and_then(|mut claims| claims.jobs.pop()) {
                break job;
            }
        }
    };
    let job = tokio::time::timeout(BOUND, over).await.expect("the running store goes over");
    assert_eq!(job.payload, "2");
    frozen.server.thaw();
}
