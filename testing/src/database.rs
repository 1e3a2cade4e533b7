//! One database per test.
//!
//! A test run shares one server: the one named by [`TEST_POSTGRES`], which `cargo xtask test` starts, or else one that the
//! test process starts for itself when it first needs it. Either way a test owns its database alone.
//!
//! Never skips: without a server, `create` says what is missing and the test fails.

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::thread;

use tokio_postgres::{Client, NoTls};

use crate::server::{PostgresServer, ServerError, ServerOptions};

/// The environment variable that names the server for tests: the URL of a database whose user may create others.
pub const TEST_POSTGRES: &str = "TENURE_TEST_POSTGRES";

/// The key of the advisory lock under which templates are made: `tenure` in ASCII.
const TEMPLATE_LOCK: i64 = 0x7465_6e75_7265;

/// Why a test has no database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// No server is named, and none could be started.
    #[error("{TEST_POSTGRES} is not set, and no private server can be started: {0}")]
    Server(&'static ServerError),
    /// The named server's address cannot be read.
    #[error("{TEST_POSTGRES} must be a URL like postgres://user@host/postgres, not {url:?}")]
    Url {
        /// What was given.
        url: String,
    },
    /// The server refused a connection or a statement.
    #[error("the test server refused: {}", with_causes(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// The caller's code could not fill the template.
    #[error("the template could not be prepared: {0}")]
    Prepare(Box<dyn Error + Send + Sync>),
    /// A template is named by lower-case letters, digits and `_`, at most 40 of them.
    #[error("{name:?} cannot name a template: use a-z, 0-9 and _, at most {TEMPLATE_NAME_MAX}")]
    TemplateName {
        /// What was given.
        name: String,
    },
}

/// PostgreSQL cuts names at 63 bytes; what is put around a template's name takes fewer than 23.
const TEMPLATE_NAME_MAX: usize = 40;

/// A database that nobody else uses, removed on drop.
#[derive(Debug)]
pub struct TestDatabase {
    admin_url: String,
    name: String,
    url: String,
}

impl TestDatabase {
    /// An empty database.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    pub async fn create() -> Result<Self, DatabaseError> {
        let admin_url = admin_url().await?;
        Self::clone_of("template1", &admin_url, &connect(&admin_url).await?).await
    }

    /// A copy of the database that `prepare` filled. The first caller, of all test processes that share the server,
    /// prepares; the others wait for it, then copy. `prepare` gets the URL of an empty database and must have closed its
    /// connections to it when it returns. If it fails, the next caller tries anew.
    ///
    /// A name stands for one content: a server that outlives the test run keeps its templates.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    pub async fn create_from_template<F>(
        template: &str,
        prepare: impl FnOnce(String) -> F,
    ) -> Result<Self, DatabaseError>
    where
        F: Future<Output = Result<(), Box<dyn Error + Send + Sync>>>,
    {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if template.is_empty() || template.len() > TEMPLATE_NAME_MAX || !template.bytes().all(allowed) {
            return Err(DatabaseError::TemplateName { name: template.to_owned() });
        }
        let admin_url = admin_url().await?;
        let admin = connect(&admin_url).await?;
        let ready = format!("tenure_template_{template}");
        if !exists(&admin, &ready).await? {
            // Released with the connection, so that a process killed here holds up nobody.
            admin.execute("SELECT pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await?;
            if !exists(&admin, &ready).await? {
                // Filled under another name: a database of the final name is ready by its existence.
                let draft = format!("tenure_draft_{template}");
                let draft_url = with_database(&admin_url, &draft)?;
                admin.batch_execute(&format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)")).await?;
                admin.batch_execute(&format!("CREATE DATABASE {draft}")).await?;
                prepare(draft_url).await.map_err(DatabaseError::Prepare)?;
                admin.batch_execute(&format!("ALTER DATABASE {draft} ALLOW_CONNECTIONS false")).await?;
                admin.batch_execute(&format!("ALTER DATABASE {draft} RENAME TO {ready}")).await?;
            }
            admin.execute("SELECT pg_advisory_unlock($1)", &[&TEMPLATE_LOCK]).await?;
        }
        Self::clone_of(&ready, &admin_url, &admin).await
    }

    /// Where the database is reached.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its name, unique on the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    async fn clone_of(template: &str, admin_url: &str, admin: &Client) -> Result<Self, DatabaseError> {
        let name = unique_name();
        let url = with_database(admin_url, &name)?;
        admin.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await?;
        Ok(Self { admin_url: admin_url.to_owned(), name, url })
    }
}

impl Drop for TestDatabase {
    /// Waits for the removal, on a thread with a runtime of its own: the test's may be gone, or be the thread that drops.
    /// Connections still open are ended by the server. If the server is gone, so is the database.
    fn drop(&mut self) {
        let Self { admin_url, name, .. } = &*self;
        let remove = || -> Result<(), DatabaseError> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return Ok(()) };
            runtime.block_on(async {
                let admin = connect(admin_url).await?;
                Ok(admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?)
            })
        };
        // Best effort: a test must not fail because its leavings could not be swept.
        let _ = thread::scope(|scope| scope.spawn(remove).join());
    }
}

/// The server named by the environment, or this process's own.
pub(crate) async fn admin_url() -> Result<String, DatabaseError> {
    if let Ok(url) = std::env::var(TEST_POSTGRES) {
        return Ok(url);
    }
    // Starting takes about a second of waiting, which must not hold up the runtime's other tasks.
    let own = tokio::task::spawn_blocking(own_server).await;
    match own.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
        Ok(server) => Ok(server.url("postgres")),
        Err(error) => Err(DatabaseError::Server(error)),
    }
}

/// Started once, or failed once: when PostgreSQL is missing, the second test should hear it at once. A static is never
/// dropped; the server's janitor sees this process end and cleans up.
fn own_server() -> Result<&'static PostgresServer, &'static ServerError> {
    static OWN: OnceLock<Result<PostgresServer, ServerError>> = OnceLock::new();
    OWN.get_or_init(|| PostgresServer::start(ServerOptions::fast())).as_ref()
}

/// A connection driven by a task of the current runtime.
async fn connect(url: &str) -> Result<Client, DatabaseError> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn exists(admin: &Client, database: &str) -> Result<bool, DatabaseError> {
    Ok(admin.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&database]).await?.is_some())
}

/// The process's id says who left a database behind; 64 random bits keep apart processes of several machines.
fn unique_name() -> String {
    format!("tenure_test_{}_{:016x}", std::process::id(), RandomState::new().hash_one(0))
}

/// `url` with its database, if any, replaced.
fn with_database(url: &str, database: &str) -> Result<String, DatabaseError> {
    let (address, parameters) = match url.split_once('?') {
        Some((address, parameters)) => (address, Some(parameters)),
        None => (url, None),
    };
    let Some((scheme @ ("postgres" | "postgresql"), place)) = address.split_once("://") else {
        return Err(DatabaseError::Url { url: url.to_owned() });
    };
    let server = place.split_once('/').map_or(place, |(server, _)| server);
    let parameters = parameters.map(|parameters| format!("?{parameters}")).unwrap_or_default();
    Ok(format!("{scheme}://{server}/{database}{parameters}"))
}

/// tokio-postgres says "db error" and keeps the reason in its source.
fn with_causes(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &str) {
        assert_eq!(with_database(url, "x").unwrap(), expected);
    }

    #[test]
    fn the_database_of_a_url_is_replaced_and_nothing_else() {
        check("postgres://postgres@%2Ftmp%2Fpg:5432/postgres", "postgres://postgres@%2Ftmp%2Fpg:5432/x");
        check("postgres://u:p@a:1,b:2/db?sslmode=disable", "postgres://u:p@a:1,b:2/x?sslmode=disable");
        check("postgresql:///?host=/tmp", "postgresql:///x?host=/tmp");
        check("postgres://localhost", "postgres://localhost/x");
    }

    #[test]
    fn what_is_not_a_postgres_url_is_refused_by_name() {
        for url in ["", "host=/tmp dbname=postgres", "sqlite:tenure.db"] {
            assert!(matches!(with_database(url, "x"), Err(DatabaseError::Url { .. })), "{url}");
        }
    }
}
