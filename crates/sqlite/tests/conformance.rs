//! The suite every backend must pass, on a real file.

use async_trait::async_trait;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::Time;
use tenure_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use tenure_store::conformance::Harness;
use tenure_store::{Clock, Store};

/// A file of its own for each test, and a clock that every handle shares.
struct File {
    store: Arc<SqliteStore>,
    clock: Clock,
    synchronous: Synchronous,
    dir: TempDir,
}

impl File {
    async fn new(start: Time, synchronous: Synchronous) -> File {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::manual(start));
        let store = handle(&dir, &clock, synchronous).await;
        File { store, clock, synchronous, dir }
    }
}

async fn handle(dir: &TempDir, clock: &Clock, synchronous: Synchronous) -> Arc<SqliteStore> {
    let url = format!("sqlite:{}", dir.path().join("tenure.db").display());
    let options = SqliteOptions::new().clock(clock.clone()).synchronous(synchronous);
    Arc::new(SqliteStore::open_with(&url, options).await.unwrap())
}

#[async_trait]
impl Harness for File {
    async fn open(start: Time) -> File {
        File::new(start, Synchronous::Full).await
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    /// As another process would have it: connections and a writer of its own.
    async fn another(&self) -> Arc<dyn Store> {
        handle(&self.dir, &self.clock, self.synchronous).await
    }
}

tenure_store::conformance!(File);
tenure_store::pipeline_conformance!(File);

/// The same file without waiting for the disk: the walk asks what is answered, not what survives a power failure.
struct Unsynced(File);

#[async_trait]
impl Harness for Unsynced {
    async fn open(start: Time) -> Unsynced {
        Unsynced(File::new(start, Synchronous::Off).await)
    }

    fn store(&self) -> Arc<dyn Store> {
        self.0.store()
    }

    async fn set_clock(&self, now: Time) {
        self.0.set_clock(now).await;
    }

    async fn another(&self) -> Arc<dyn Store> {
        self.0.another().await
    }
}

// 64,800 operations, in two halves that run side by side.

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_agrees_with_core_at_every_step() {
    tenure_store::conformance::walks::<Unsynced>(0..12, 2_700).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_walk_agrees_with_core_at_every_step() {
    tenure_store::conformance::walks::<Unsynced>(12..24, 2_700).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_of_schedules_agrees_with_core_at_every_step() {
    tenure_store::conformance::schedule::schedule_walks::<Unsynced>(0..12, 800).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pipeline_walk_agrees_with_core_at_every_step() {
    let report = tenure_store::conformance::pipeline::pipeline_walks::<Unsynced>(100..124, 900).await;
    println!("{} operations met {:?}", report.steps, report.met);
}
