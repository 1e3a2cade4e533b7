//! Pipelines in memory do what every backend must. Memory *is* core behind a lock, so the walk mostly judges core, by
//! the account it keeps apart from it.

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_memory::MemoryStore;
use tenure_store::conformance::Harness;
use tenure_store::conformance::pipeline::pipeline_walks;
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

tenure_store::pipeline_conformance!(Memory);

#[tokio::test(flavor = "multi_thread")]
async fn pipeline_walks_agree_with_core() {
    let report = pipeline_walks::<Memory>(0..60, 800).await;
    println!("{} operations met {:?}", report.steps, report.met);
}
