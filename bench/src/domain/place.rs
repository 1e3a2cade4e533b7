//! Empty stores to measure in.

use crate::queue::server::{Database, Server};
use anyhow::{Context, Result, bail};
use std::fmt;
use tenure::Tenure;

/// A store that Tenure can open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
    Postgres,
}

impl Backend {
    pub(crate) const ALL: [Backend; 3] = [Backend::Memory, Backend::Sqlite, Backend::Postgres];

    pub(crate) fn named(name: &str) -> Result<Backend> {
        match Backend::ALL.into_iter().find(|backend| backend.to_string() == name) {
            Some(backend) => Ok(backend),
            None => bail!("{name} is no store: memory, sqlite or postgres"),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Memory => "memory",
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
        })
    }
}

/// An empty store, removed by [`Place::remove`].
pub(crate) struct Place {
    pub(crate) tenure: Tenure,
    pub(crate) database: Option<Database>,
    pub(crate) folder: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) async fn make(backend: Backend, server: Option<&Server>) -> Result<Place> {
        let (mut folder, mut database) = (None, None);
        let url = match backend {
            Backend::Memory => "memory:".to_owned(),
            Backend::Sqlite => {
                // Beside this program: temporary folders are in memory on some machines, builds are on a disk.
                let program = std::env::current_exe()?;
                let beside = program.parent().context("this program is in no folder")?;
                let made = tempfile::Builder::new().prefix("tenure-bench-").tempdir_in(beside)?;
                let url = format!("sqlite:{}", made.path().join("domains.db").display());
                folder = Some(made);
                url
            }
            Backend::Postgres => {
                let made = server.context("no PostgreSQL was named")?.create().await?;
                let url = made.url.clone();
                database = Some(made);
                url
            }
        };
        Ok(Place { tenure: Tenure::open(&url).await?, database, folder })
    }

    pub(crate) async fn remove(self) -> Result<()> {
        drop(self.tenure);
        if let Some(database) = self.database {
            database.drop().await?;
        }
        self.folder.map_or(Ok(()), tempfile::TempDir::close).context("the folder of an SQLite store")
    }
}
