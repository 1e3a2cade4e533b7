//! A pool of connections, and one way to ask.
//!
//! Every statement is unnamed and carries its types, so that a pooler in transaction mode can hand it to any server
//! connection. Deadlocks and serialization failures were rolled back by the server: they are tried again here.
//!
//! Always true: a statement that nobody waits for any more, because it took too long or its caller has gone, is cancelled
//! on the server, and its connection is used no further. Left alone it would go on waiting for its lock, one session
//! for each call that gave up, and be carried out in the end: a claim whose jobs belong to nobody. And a server has no
//! more sessions of a pool than its size, those included that were given up and not closed yet: a commit that waits for
//! a standby, say. And calls that may have to wait for a stranger's open transaction never have more than half of them, so
//! that nobody else waits with them (L10).

use crate::address::PostgresOptions;
use crate::connect::{Connector, Session};
use crate::error::{self, Kind};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::queue::Conflict;
use tenure_store::{Result, StoreError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

/// A parameter.
pub(crate) type Param<'a> = &'a dyn Sent;

/// A value that says its type in the database, so that no statement has to be prepared to learn it.
pub(crate) trait Sent: ToSql + Sync {
    fn sql_type(&self) -> Type;
}

/// The types of parameters. A value has the first of them that can hold it.
const TYPES: [Type; 13] = [
    Type::TEXT,
    Type::INT8,
    Type::INT4,
    Type::BOOL,
    Type::FLOAT8,
    Type::TIMESTAMPTZ,
    Type::JSONB,
    Type::TEXT_ARRAY,
    Type::INT8_ARRAY,
    Type::INT4_ARRAY,
    Type::FLOAT8_ARRAY,
    Type::TIMESTAMPTZ_ARRAY,
    Type::BYTEA_ARRAY,
];

impl<T: ToSql + Sync> Sent for T {
    fn sql_type(&self) -> Type {
        TYPES.into_iter().find(T::accepts).expect("every parameter has one of these types")
    }
}

/// Parameters as the driver takes them.
pub(crate) fn typed<'a>(params: &[Param<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().map(|param| (*param as _, param.sql_type())).collect()
}

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
    pool: Arc<Pool>,
    schema: String,
    timeout: Duration,
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
        let pool = Pool {
            connector: Connector::new(&options.route, options.connections_max)?,
            turns: Arc::new(Semaphore::new(options.connections_max)),
            patience: Semaphore::new((options.connections_max / 2).max(1)),
            idle: Mutex::new(Vec::new()),
            returned: Notify::new(),
        };
        let (schema, timeout) = (options.schema.clone(), options.timeout);
        Ok(Database { pool: Arc::new(pool), schema, timeout, wrapped: AtomicBool::new(false) })
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

    pub(crate) async fn connection(&self) -> Result<Pooled> {
        let turn = tokio::time::timeout(self.timeout, self.pool.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(StoreError::unavailable("no connection became free in time")) };
        let session = self.pool.session().await?;
        Ok(Pooled { session: Some(session), pool: self.pool.clone(), _turn: turn })
    }

    /// Asks for what changes nothing.
    pub(crate) async fn read(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        Ok(self.ask(sql, params, false).await??)
    }

    /// Asks for one transaction. A connection lost meanwhile leaves its outcome unknown.
    pub(crate) async fn write(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        Ok(self.ask(sql, params, true).await??)
    }

    /// The same for what may have to wait until a stranger's transaction ends: a dedup key, a domain or a sync that it
    /// holds.
    pub(crate) async fn write_patiently(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        Ok(self.try_write_patiently(sql, params).await??)
    }

    /// The same, for a caller who looks at refusals.
    pub(crate) async fn try_write_patiently(&self, sql: &str, params: &[Param<'_>]) -> Result<Answer> {
        let waiting = tokio::time::timeout(self.timeout, self.pool.patience.acquire()).await;
        let Ok(Ok(_waiting)) = waiting else {
            return Err(StoreError::unavailable(
                "half of all connections wait for transactions of others that stay open",
            ));
        };
        self.ask(sql, params, true).await
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
                    self.pool.retire();
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
                    drop(connection.take());
                    self.pool.retire();
                    return Err(error::of(met, writes));
                }
                _ => return Err(error::of(met, writes)),
            }
        }
    }

    /// Asks once. `None` if there was no answer in time; the connection is then gone.
    async fn once(&self, sql: &str, params: &[Param<'_>], wrapped: bool) -> Result<Option<(Pooled, Asked)>> {
        let under_way = UnderWay { connection: Some(self.connection().await?) };
        let asked = tokio::time::timeout(self.timeout, under_way.ask(sql, params, wrapped)).await;
        Ok(asked.ok().map(|asked| (under_way.ended(), asked)))
    }
}

/// Connections that are not in use wait here.
struct Pool {
    connector: Connector,
    /// One for each caller who has a connection, or is about to.
    turns: Arc<Semaphore>,
    /// One for each of them who may have to wait for what others hold.
    patience: Semaphore,
    /// The latest is used first: the others may then be closed by whoever closes what is idle.
    idle: Mutex<Vec<Session>>,
    returned: Notify,
}

impl Pool {
    /// One that is idle, or else a new one.
    async fn session(&self) -> Result<Session> {
        if let Some(idle) = self.idle() {
            return Ok(idle);
        }
        let mut met = Vec::new();
        for server in self.connector.order() {
            let slot = tokio::select! {
                slot = self.connector.slot(server) => slot,
                // Others of this server are still closing, and one that is open has become free.
                returned = self.returned() => return Ok(returned),
            };
            let opened = async { Ok((slot?, self.connector.open(server).await?)) };
            match opened.await {
                Ok((slot, opened)) => return Ok(opened.run(slot, drop)),
                Err(error) => met.push((server, error)),
            }
        }
        Err(self.connector.failed(met))
    }

    fn idle(&self) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|session| !session.is_closed());
        idle.pop()
    }

    async fn returned(&self) -> Session {
        loop {
            let returned = self.returned.notified();
            if let Some(idle) = self.idle() {
                return idle;
            }
            returned.await;
        }
    }

    /// Closes what is idle.
    fn retire(&self) {
        let retired = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(retired);
    }
}

/// A connection in use. Dropped, it goes back to its pool.
pub(crate) struct Pooled {
    session: Option<Session>,
    pool: Arc<Pool>,
    _turn: OwnedSemaphorePermit,
}

impl Pooled {
    /// For good: it does not go back.
    fn take(mut self) -> Session {
        self.session.take().expect("it is there until the end")
    }

    /// Cancels what it is in the middle of, and closes it.
    pub(crate) fn abandon(self) {
        let pool = self.pool.clone();
        let session = self.take();
        // Without a runtime nothing can be sent any more: then it is closed, and that is all.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { pool.connector.stop(session).await });
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        if !session.is_closed() {
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
            self.pool.returned.notify_one();
        }
    }
}

impl Deref for Pooled {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("it is there until the end")
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("it is there until the end")
    }
}

/// A transaction of ours, in which names without a schema mean PostgreSQL's own.
const BEGIN: &str = "begin isolation level read committed; set local search_path = pg_catalog, pg_temp";

/// What a statement came to.
type Asked = std::result::Result<Vec<Row>, tokio_postgres::Error>;

/// A statement under way. Dropped before its end it is cancelled.
struct UnderWay {
    connection: Option<Pooled>,
}

impl UnderWay {
    async fn ask(&self, sql: &str, params: &[Param<'_>], wrapped: bool) -> Asked {
        let connection = self.connection.as_ref().expect("it is there until the end");
        let params = typed(params);
        if !wrapped && !connection.misled() {
            let answer = connection.query_typed(sql, &params).await;
            if answer.is_err() {
                // The server tells of a failure before it has undone the transaction: nothing that the caller does next
                // should meet its locks. This is answered when they are gone.
                let _ = connection.batch_execute("").await;
            }
            return answer;
        }
        // Sent one behind the other in one go, so that whoever leaves early leaves no transaction open. If the statement
        // fails, the commit rolls back.
        let (begun, answer, ended) = tokio::join!(
            biased;
            connection.batch_execute(BEGIN),
            connection.query_typed(sql, &params),
            connection.batch_execute("commit"),
        );
        begun?;
        let rows = answer?;
        ended.map(|()| rows)
    }

    fn ended(mut self) -> Pooled {
        self.connection.take().expect("it is there until the end")
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.abandon();
        }
    }
}

/// A short wait that keeps two rivals from meeting again at once.
fn pause(tries: u32) -> Duration {
    let spread = std::process::id() as u64 % 7 + u64::from(tries) * 3;
    Duration::from_millis((1 << tries.min(6)) + spread)
}
