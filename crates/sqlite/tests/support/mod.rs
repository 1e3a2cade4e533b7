//! What the tests share: files of their own, clocks they move, and a connection beside the store's.
#![allow(dead_code, reason = "each test program uses some of it")]

use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tenure_core::queue::{Act, Claim, ClaimedJob, Ending, JobId, NewJob};
use tenure_core::{Time, Token};
use tenure_sqlite::{SqliteOptions, SqliteStore};
use tenure_store::{Clock, QueueStore};

/// 2023-11-14T22:13:20Z.
pub(crate) const START: Time = Time(1_700_000_000_000_000);

/// A database file in a directory of its own.
pub(crate) struct File {
    dir: TempDir,
    pub(crate) clock: Clock,
}

impl File {
    pub(crate) fn new() -> File {
        File { dir: tempfile::tempdir().unwrap(), clock: Clock::manual(START) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("tenure.db")
    }

    pub(crate) fn url(&self) -> String {
        url(&self.path())
    }

    /// A handle of its own, as another process would have.
    pub(crate) async fn open(&self) -> SqliteStore {
        let options = SqliteOptions::new().clock(self.clock.clone());
        SqliteStore::open_with(&self.url(), options).await.unwrap()
    }

    /// A connection that knows nothing of Tenure.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Moves the clock to `ms` after the start.
    pub(crate) fn at(&self, ms: u64) {
        self.clock.set(START.plus_ms(ms));
    }
}

pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// Enqueues `count` plain jobs.
pub(crate) async fn enqueue(store: &SqliteStore, count: usize) -> Vec<JobId> {
    let jobs = vec![NewJob::new("q", "kind", "{}"); count];
    store.enqueue(jobs).await.unwrap().unwrap().into_iter().map(|job| job.id).collect()
}

/// Claims up to `max` jobs for a second.
pub(crate) async fn claim(store: &SqliteStore, owner: &str, max: u32) -> Vec<ClaimedJob> {
    store.claim(Claim::new("q", owner).max(max).lease_ms(1_000)).await.unwrap().jobs
}

pub(crate) fn complete(job: JobId, owner: &str, token: Token) -> Ending {
    Ending { job, owner: owner.to_owned(), token, act: Act::Complete { result: None } }
}

pub(crate) fn release(job: JobId, owner: &str, token: Token) -> Ending {
    Ending { act: Act::Release, ..complete(job, owner, token) }
}
