//! Connections, and one way to ask.
//!
//! Every statement is unnamed and carries its types, so that a pooler in transaction mode can hand it to any server
//! connection. Deadlocks and serialization failures were rolled back by the server: they are tried again here.

use crate::address::PostgresOptions;
use crate::error::{self, Kind};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tenure_core::queue::Conflict;
use tenure_store::{Result, StoreError};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{NoTls, Row};
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
#[derive(Debug)]
pub(crate) struct Database {
    pool: Pool,
    schema: String,
    timeout: Duration,
    /// The database's default isolation is not ours: each statement brings its own transaction.
    wrapped: AtomicBool,
}

impl Database {
    pub(crate) fn connect(options: &PostgresOptions) -> Result<Database> {
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match tls(options)? {
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
        Ok(Database { pool, schema: options.schema.clone(), timeout: options.timeout, wrapped: AtomicBool::new(false) })
    }

    /// `sql` for the schema of this store. The files are written for the schema `tenure`.
    pub(crate) fn localized(&self, sql: &str) -> String {
        if self.schema == "tenure" { sql.to_owned() } else { sql.replace("tenure.", &format!("{}.", self.schema)) }
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
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
            let connection = self.connection().await?;
            let wrapped = self.wrapped.load(Ordering::Relaxed);
            let asked = tokio::time::timeout(self.timeout, once(&connection, &sql, params, wrapped)).await;
            let met = match asked {
                Ok(Ok(rows)) => return Ok(Ok(rows)),
                Ok(Err(met)) => met,
                Err(_) => {
                    // The connection may still be in the middle of it: it is dropped, not returned. The idle ones lead
                    // to the same silence and would cost the next calls as long, each in its turn (C4).
                    drop(Object::take(connection));
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
                    let connection = self.connection().await?;
                    match tokio::time::timeout(self.timeout, once(&connection, &check, &[], wrapped)).await {
                        Ok(checked) => drop(checked.map_err(|met| error::of(met, writes))?),
                        Err(_) => {
                            drop(Object::take(connection));
                            return Err(error::timed_out(writes));
                        }
                    }
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
}

async fn once(
    connection: &Object,
    sql: &str,
    params: &[Param<'_>],
    wrapped: bool,
) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
    if !wrapped {
        return connection.query_typed(sql, params).await;
    }
    connection.batch_execute("begin isolation level read committed").await?;
    match connection.query_typed(sql, params).await {
        Ok(rows) => connection.batch_execute("commit").await.map(|()| rows),
        Err(met) => {
            // The first error is the one to tell; a failed rollback closes the connection anyway.
            let _ = connection.batch_execute("rollback").await;
            Err(met)
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
