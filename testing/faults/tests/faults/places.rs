//! The stores that are tried, and what can be done to them.

use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tenure_testing::{PostgresServer, ServerOptions, StopMode};

/// A fault of the store itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoreFault {
    /// Somebody else holds the file's write lock.
    Locked,
    /// The server ends all connections.
    Cut,
    /// The server crashes and comes back.
    Crashed,
}

impl StoreFault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreFault::Locked => "write lock held by a stranger",
            StoreFault::Cut => "all connections cut",
            StoreFault::Crashed => "server crashed",
        }
    }
}

/// A store of its own for one test.
pub(crate) trait Place: Sync {
    fn name(&self) -> &'static str;
    fn url(&self) -> String;
    /// Where workers leave their records.
    fn folder(&self) -> &Path;
    fn faults(&self) -> &'static [StoreFault];
    fn strike(&self, fault: StoreFault) -> impl Future<Output = ()> + Send;
}

pub(crate) struct Sqlite {
    folder: TempDir,
}

impl Sqlite {
    pub(crate) fn new() -> Sqlite {
        Sqlite { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("faults.db")
    }
}

impl Place for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.file().display())
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn faults(&self) -> &'static [StoreFault] {
        &[StoreFault::Locked]
    }

    async fn strike(&self, _: StoreFault) {
        let file = self.file();
        let locked = tokio::task::spawn_blocking(move || {
            let connection = rusqlite::Connection::open(file)?;
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            std::thread::sleep(Duration::from_millis(500));
            connection.execute_batch("ROLLBACK")
        });
        locked.await.unwrap().unwrap();
    }
}

pub(crate) struct Postgres {
    server: PostgresServer,
    folder: TempDir,
}

impl Postgres {
    /// A server of its own: it is crashed.
    pub(crate) fn new() -> Postgres {
        let server = PostgresServer::start(ServerOptions::fast()).unwrap();
        Postgres { server, folder: tempfile::tempdir().unwrap() }
    }
}

impl Place for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn url(&self) -> String {
        self.server.url("postgres")
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn faults(&self) -> &'static [StoreFault] {
        &[StoreFault::Cut, StoreFault::Crashed]
    }

    async fn strike(&self, fault: StoreFault) {
        if fault == StoreFault::Crashed {
            tokio::task::block_in_place(|| self.server.restart(StopMode::Immediate)).unwrap();
            return;
        }
        let (client, connection) = tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let others = "select pg_terminate_backend(pid) from pg_stat_activity \
                      where backend_type = 'client backend' and pid <> pg_backend_pid()";
        client.simple_query(others).await.unwrap();
    }
}
