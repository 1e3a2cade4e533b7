//! Domains in memory: the suite, walks, and crowds on real threads.

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_memory::MemoryStore;
use tenure_store::conformance::Harness;
use tenure_store::conformance::domain::{crowds, walks};
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

tenure_store::domain_conformance!(Memory);

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_steps_agree_with_core() {
    let report = walks::<Memory>(0..50, 2_000).await;
    println!("{} operations met {:?}", report.steps, report.met);
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_what_sixteen_threads_see_can_be_explained_by_one_order() {
    let crowd = crowds::<Memory>(0..20, 60).await;
    println!("{crowd:?}");
}
