//! The connection that listens for wake-ups, gone silent without a word (C3, C4).

use crate::support::Durable;
use std::time::Duration;
use tenure_core::queue::NewJob;
use tenure_postgres::PostgresStore;
use tenure_store::QueueStore;
use tenure_testing::FaultProxy;

/// More than a crowded machine needs, less than for ever.
const BOUND: Duration = Duration::from_secs(90);

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_a_listener_that_hears_nothing_any_more_is_replaced_and_hears_of_new_work() {
    let durable = Durable::start().await;
    let proxy = FaultProxy::in_front_of(&durable.tcp_url()).await.unwrap();
    let url = format!("{}?timeout_ms=1000&listen_url={}", durable.server.url("work"), encoded(proxy.url()));
    let store = PostgresStore::open(&url).await.unwrap();
    let mut listener = store.signals().listen(vec!["q".to_owned()]);
    let tell = async || durable.store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    // It listens as soon as something is heard.
    let heard = async {
        loop {
            tell().await;
            if tokio::time::timeout(Duration::from_millis(200), listener.woken()).await.is_ok() {
                break;
            }
        }
    };
    tokio::time::timeout(BOUND, heard).await.expect("a listener in good order hears");

    proxy.blackhole();
    // Told into the hole.
    tell().await;
    let silent = tokio::time::timeout(Duration::from_secs(3), async {
        // What was still under way when it closed may arrive.
        loop {
            listener.woken().await;
        }
    });
    silent.await.unwrap_err();
    proxy.heal();
    // Whoever waits looks at everything once the new connection listens, for what was told meanwhile.
    tokio::time::timeout(BOUND, listener.woken()).await.expect("the silent connection is given up");
    let heard = async {
        tell().await;
        listener.woken().await;
    };
    tokio::time::timeout(BOUND, heard).await.expect("the new connection hears");
}
