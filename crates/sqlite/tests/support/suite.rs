//! A file on a clock that the test moves: one harness for every face of the suite.

use async_trait::async_trait;
use rusqlite::Connection;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::Time;
use tenure_sqlite::{SqliteOptions, SqliteStore, Synchronous, rusqlite};
use tenure_store::conformance::Harness;
use tenure_store::{Clock, Store};

/// A file of its own for each test, and a clock that every handle shares.
pub(crate) struct OnDisk<const SYNCED: bool> {
    pub(crate) store: Arc<SqliteStore>,
    clock: Clock,
    dir: TempDir,
}

/// A file without waiting for the disk: asked is what is answered, not what survives a power failure.
pub(crate) type File = OnDisk<false>;

async fn handle(dir: &TempDir, clock: &Clock, synced: bool) -> Arc<SqliteStore> {
    let url = format!("sqlite:{}", dir.path().join("tenure.db").display());
    let synchronous = if synced { Synchronous::Full } else { Synchronous::Off };
    let options = SqliteOptions::new().clock(clock.clone()).synchronous(synchronous);
    Arc::new(SqliteStore::open_with(&url, options).await.unwrap())
}

impl File {
    /// A connection that knows nothing of Tenure.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.dir.path().join("tenure.db")).unwrap()
    }
}

#[async_trait]
impl<const SYNCED: bool> Harness for OnDisk<SYNCED> {
    async fn open(start: Time) -> Self {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::manual(start));
        OnDisk { store: handle(&dir, &clock, SYNCED).await, clock, dir }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    /// As another process would have it: connections and a writer of its own.
    async fn another(&self) -> Arc<dyn Store> {
        handle(&self.dir, &self.clock, SYNCED).await
    }
}
