//! The memory store does for syncs what every backend must. It *is* core behind a lock, so here the walk mostly judges
//! core, by checkers written apart from it.

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_memory::MemoryStore;
use tenure_store::conformance::Harness;
use tenure_store::conformance::sync::walks;
use tenure_store::{Clock, Store};

struct Memory {
    store: Arc<MemoryStore>,
    clock: Clock,
}

#[async_trait]
impl Harness for Memory {
    async fn open(start: Time) -> Memory {
        let clock = Clock::manual(start);
        Memory { store: Arc::new(MemoryStore::with_clock(clock.clone())), clock }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn another(&self) -> Arc<dyn Store> {
        self.store.clone()
    }
}

tenure_store::sync_conformance!(Memory);

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    let report = walks::<Memory>(0..60, 1_200).await;
    println!("{} operations met {:?}", report.steps, report.met);
    let repeats_one = std::env::var_os("TENURE_SEED").is_some() || std::env::var_os("TENURE_STEPS").is_some();
    assert!(report.steps >= 50_000 || repeats_one, "only {} operations", report.steps);
}
