//! The memory store does what every backend must. It *is* core behind a lock, so here the walk mostly judges core,
//! by the checkers that were written apart from it.

use async_trait::async_trait;
use std::ops::Range;
use std::sync::Arc;
use tenure_core::Time;
use tenure_memory::MemoryStore;
use tenure_store::conformance::{Harness, walks};
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

tenure_store::conformance!(Memory);

/// 240,000 operations in every run; two tests, for two cores.
const SEEDS: u64 = 170;
const STEPS: u32 = 1_500;

async fn walked(seeds: Range<u64>) {
    let report = walks::<Memory>(seeds, STEPS).await;
    println!("{} operations met {:?}", report.steps, report.met);
    let repeats_one = std::env::var_os("TENURE_SEED").is_some() || std::env::var_os("TENURE_STEPS").is_some();
    assert!(report.steps >= 105_000 || repeats_one, "only {} operations", report.steps);
}

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    walked(0..SEEDS / 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_walks_agree_with_core() {
    walked(SEEDS / 2..SEEDS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn walks_of_schedules_agree_with_core() {
    let report = tenure_store::conformance::schedule::schedule_walks::<Memory>(0..60, 800).await;
    println!("{} operations met {:?}", report.steps, report.met);
}
