//! The memory store, for the suite: one harness for every face.

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_memory::MemoryStore;
use tenure_store::conformance::Harness;
use tenure_store::{Clock, Store};

pub(crate) struct Memory {
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
