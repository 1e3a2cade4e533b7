//! Places: empty stores to measure in.
//!
//! Always true: a place was empty when it was made, nobody else uses it, and it is gone after [`Place::remove`].

use std::fmt;

use anyhow::{Context, Result, ensure};
use tenure::{NewJob, Tenure};

use super::Bench;
use super::server::Database;

/// The queue of every measurement.
pub(crate) const QUEUE: &str = "bench";
const KIND: &str = "noop";

/// A store that Tenure can open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
    Postgres,
    /// PostgreSQL with a change: the file of that number after `--try`.
    Tried(usize),
}

impl Backend {
    /// Those that are measured unless others are named.
    pub(crate) const ALL: [Backend; 3] = [Backend::Memory, Backend::Sqlite, Backend::Postgres];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Memory => "memory",
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
            Backend::Tried(_) => "postgres, tried",
        })
    }
}

/// An empty store.
pub(crate) struct Place {
    pub(crate) tenure: Tenure,
    pub(crate) database: Option<Database>,
    url: String,
    folder: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) async fn make(bench: &Bench, backend: Backend) -> Result<Place> {
        let (mut folder, mut database) = (None, None);
        let url = match backend {
            Backend::Memory => "memory:".to_owned(),
            Backend::Sqlite => {
                // Beside this program: temporary folders are in memory on some machines, builds are on a disk.
                let program = std::env::current_exe()?;
                let beside = program.parent().context("this program is in no folder")?;
                let made = tempfile::Builder::new().prefix("tenure-bench-").tempdir_in(beside)?;
                let url = format!("sqlite:{}", made.path().join("queue.db").display());
                folder = Some(made);
                url
            }
            Backend::Postgres | Backend::Tried(_) => {
                let made = bench.postgres()?.create().await?;
                let url = made.url.clone();
                database = Some(made);
                url
            }
        };
        let tenure = Tenure::open(&url).await.with_context(|| format!("cannot open a store on {backend}"))?;
        if let (Backend::Tried(file), Some(database)) = (backend, &database) {
            database.change(&bench.settings.tries[file]).await?;
        }
        Ok(Place { tenure, database, url, folder })
    }

    /// The same store, opened as another process would.
    pub(crate) async fn open_again(&self) -> Result<Tenure> {
        Ok(Tenure::open(&self.url).await?)
    }

    /// Puts `jobs` jobs in, in calls of at most `call`.
    pub(crate) async fn load(&self, jobs: u64, call: u64) -> Result<()> {
        let mut left = jobs;
        while left > 0 {
            let now = left.min(call);
            let enqueued = self.tenure.enqueue_all((0..now).map(|i| job(left - i))).await?;
            ensure!(enqueued.len() as u64 == now, "{} of {now} jobs were enqueued", enqueued.len());
            left -= now;
        }
        Ok(())
    }

    /// Nothing of a load falls into what is timed after it.
    pub(crate) async fn settle(&self) -> Result<()> {
        match &self.database {
            Some(database) => database.checkpoint().await,
            None => Ok(()),
        }
    }

    /// Holds the store to its word: all `jobs` jobs are completed in it, and nothing is left.
    pub(crate) async fn check_drained(&self, jobs: u64) -> Result<()> {
        let info = self.tenure.verbs().queue(QUEUE).await?.context("the queue is gone")?;
        let counts = info.counts.shown();
        let expected = jobs.min(tenure::bounds::COUNT_MAX);
        ensure!((counts.queued, counts.running) == (0, 0), "left after the drain: {counts:?}");
        ensure!((counts.completed, counts.failed) == (expected, 0), "{jobs} jobs were drained: {counts:?}");
        match &self.database {
            Some(database) => database.check_drained(jobs).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn remove(self) -> Result<()> {
        drop(self.tenure);
        if let Some(database) = self.database {
            database.drop().await?;
        }
        self.folder.map_or(Ok(()), tempfile::TempDir::close).context("the folder of an SQLite store")
    }
}

/// A job that does nothing, with a payload of the size of the peers'.
pub(crate) fn job(number: u64) -> NewJob {
    NewJob::new(QUEUE, KIND, format!(r#"{{"number":{number}}}"#))
}
