//! Connections, and one way to ask.
//!
//! Every statement is unnamed and carries its types, so that a pooler in transaction mode can hand it to any server
//! connection. Deadlocks and serialization failures were rolled back by the server: they are tried again here.
//!
//! Always true: a statement that nobody waits for any more, because it took too long or its caller has gone, is cancelled
//! on the server, and its connection is used no further. Left alone it would go on waiting for its lock, one session
//! for each call that gave up, and be carried out in the end: a claim whose jobs belong to nobody.

use crate::address::PostgresOptions;
use crate::cancel;
use crate::error::{self, Kind};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tenure_core::queue::Conflict;
use tenure_store::{Result, StoreError};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A typed parameter.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Rows, unless the statement was refused for a reason that its caller can act on.
pub(crate) type Answer = std::result::Result<Vec<Row>, Refused>;

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Another body under a dedup key (Q7).
    Conflict(Conflict),
    /// Another transaction holds what the statement needs, for longer than it may wait.
    Busy(String),
}

impl From<Refused> for StoreError {
    fn from(refused: Refused) -> StoreError {
        match refused {
            Refused::Conflict(_) => StoreError::broken("a statement without keys met a conflict of keys"),
            Refused::Busy(message) => StoreError::unavailable(message),
        }
    }
}

/// How often a statement the server rolled back for its own reasons is tried again.
const TRIES: u32 = 8;

/// A pool of connections to one schema.
pub(crate) struct Database {
    pool: Pool,
    schema: String,
    timeout: Duration,
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// The database's default isolation is not ours: each statement brings its own transaction.
    wrapped: AtomicBool,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Database {
    pub(crate) fn connect(options: &PostgresOptions) -> Result<Database> {
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let tls = tls(options)?;
        let manager = match tls.clone() {
            Some(tls) => Manager::from_config(options.config.clone(), tls, manager),
            None => Manager::from_config(options.config.clone(), NoTls, manager),
        };
        let wait = Some(options.timeout);
        let pool = Pool::builder(manager)
            .max_size(options.connections_max)
            .timeouts(Timeouts { wait, create: wait, recycle: wait })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(StoreError::broken)?;
        let (schema, timeout, config) = (options.schema.clone(), options.timeout, options.config.clone());
        Ok(Database { pool, schema, timeout, config, tls, wrapped: AtomicBool::new(false) })
    }

    /// `sql` for the schema of this store. The files are written for the schema `tenure`.
    pub(crate) fn localized(&self, sql: &str) -> String {
        if self.schema == "tenure" { sql.to_owned() } else { sql.replace("tenure.", &format!("{}.", self.schema)) }
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// How long a call waits for its answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) async fn connection(&self) -> Result<Object> {
        self.pool.get().await.map_err(error::of_pool)
    }

    /// Asks for what changes nothing.
    pub(crate) async fn read(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        Ok(self.ask(sql, params, false).await??)
    }

    /// Asks for one transaction. A connection lost meanwhile leaves its outcome unknown.
    pub(crate) async fn write(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        Ok(self.ask(sql, params, true).await??)
    }

    /// Asks for one transaction whose refusals the caller looks at.
    pub(crate) async fn try_write(&self, sql: &str, params: &[Param<'_>]) -> Result<Answer> {
        self.ask(sql, params, true).await
    }

    async fn ask(&self, sql: &str, params: &[Param<'_>], writes: bool) -> Result<Answer> {
        let sql = self.localized(sql);
        let mut tries = 0;
        loop {
            tries += 1;
            let wrapped = self.wrapped.load(Ordering::Relaxed);
            let (connection, met) = match self.once(&sql, params, wrapped).await? {
                Some((_, Ok(rows))) => return Ok(Ok(rows)),
                Some((connection, Err(met))) => (connection, met),
                None => {
                    // The idle connections lead to the same silence and would cost the next calls as long, each in its
                    // turn (C4).
                    self.pool.retain(|_, _| false);
                    return Err(error::timed_out(writes));
                }
            };
            if let Some(conflict) = error::conflict(&met) {
                return Ok(Err(Refused::Conflict(conflict)));
            }
            match error::kind(&met) {
                Kind::Busy => return Ok(Err(Refused::Busy(error::message(&met)))),
                Kind::TryAgain if tries < TRIES => {
                    drop(connection);
                    tokio::time::sleep(pause(tries)).await;
                }
                Kind::Isolation if !wrapped => self.wrapped.store(true, Ordering::Relaxed),
                Kind::Epoch if tries < TRIES => {
                    drop(connection);
                    let check = self.localized("select tenure.check_epoch()");
                    let checked = self.once(&check, &[], wrapped).await?;
                    let (_, checked) = checked.ok_or_else(|| error::timed_out(writes))?;
                    checked.map_err(|met| error::of(met, writes))?;
                }
                Kind::ReadOnly => {
                    // A primary that became a standby: this connection will never write again (C6).
                    drop(Object::take(connection));
                    self.pool.retain(|_, _| false);
                    return Err(error::of(met, writes));
                }
                _ => return Err(error::of(met, writes)),
            }
        }
    }

    /// Asks once. `None` if there was no answer in time; the connection is then gone.
    async fn once(&self, sql: &str, params: &[Param<'_>], wrapped: bool) -> Result<Option<(Object, Asked)>> {
        let under_way = UnderWay { database: self, connection: Some(self.connection().await?) };
        let asked = tokio::time::timeout(self.timeout, under_way.ask(sql, params, wrapped)).await;
        Ok(asked.ok().map(|asked| (under_way.ended(), asked)))
    }

    /// Cancels what a connection is in the middle of, and closes it.
    fn abandon(&self, connection: Object) {
        let client = Object::take(connection);
        let (token, config) = (client.cancel_token(), self.config.clone());
        let (tls, timeout) = (self.tls.clone(), self.timeout);
        let cancelled = async move {
            let stopped = async {
                cancel::cancel(&config, &token, tls.as_ref()).await;
                // Answered when the statement before it has ended. A connection closed earlier may take the request to
                // cancel with it: a pooler then knows nobody whom it concerns.
                client.batch_execute("").await
            };
            // A server that is silent will not answer this either.
            let _ = tokio::time::timeout(timeout, stopped).await;
            drop(client);
        };
        // Without a runtime nothing can be sent any more: then it is closed, and that is all.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(cancelled);
        }
    }
}

/// What a statement came to.
type Asked = std::result::Result<Vec<Row>, tokio_postgres::Error>;

/// A statement under way. Dropped before its end it is cancelled.
struct UnderWay<'a> {
    database: &'a Database,
    connection: Option<Object>,
}

impl UnderWay<'_> {
    async fn ask(&self, sql: &str, params: &[Param<'_>], wrapped: bool) -> Asked {
        let connection = self.connection.as_ref().expect("it is there until the end");
        if !wrapped {
            return connection.query_typed(sql, params).await;
        }
        // Sent one behind the other in one go, so that whoever leaves early leaves no transaction open. If the statement
        // fails, the commit rolls back.
        let (begun, answer, ended) = tokio::join!(
            biased;
            connection.batch_execute("begin isolation level read committed"),
            connection.query_typed(sql, params),
            connection.batch_execute("commit"),
        );
        begun?;
        let rows = answer?;
        ended.map(|()| rows)
    }

    fn ended(mut self) -> Object {
        self.connection.take().expect("it is there until the end")
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.database.abandon(connection);
        }
    }
}

/// A short wait that keeps two rivals from meeting again at once.
fn pause(tries: u32) -> Duration {
    let spread = std::process::id() as u64 % 7 + u64::from(tries) * 3;
    Duration::from_millis((1 << tries.min(6)) + spread)
}

/// The encryption of a connection, or `None` where the address says `sslmode=disable` or names a socket.
pub(crate) fn tls(options: &PostgresOptions) -> Result<Option<MakeRustlsConnect>> {
    if !options.encrypted() {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    match &options.root_certificate {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(file) => {
            let unreadable = |reason: &dyn std::fmt::Display| StoreError::Address {
                message: format!("the certificates of `sslrootcert` cannot be read: {reason}"),
            };
            let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unreadable(&error))?;
                roots.add(certificate).map_err(|error| unreadable(&error))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(StoreError::broken)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Some(MakeRustlsConnect::new(config)))
}
