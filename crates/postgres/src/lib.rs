//! Tenure on PostgreSQL, shared by any number of machines.
//!
//! The verbs are functions in the database (`functions/queue/*.sql`): one statement, one round trip, one transaction,
//! so they work alike behind a pooler in transaction mode and from plain SQL. This crate calls them, keeps a hint
//! where its last claim ended (`queue/cursor.rs`), and listens for wake-ups.
//!
//! Always true:
//! - only the database's clock judges a lease, read after the rows are locked (L5);
//! - no statement is prepared by name and no session state is kept, except by the listener;
//! - what the connection lost during a write is an unknown outcome, told as such.

mod address;
mod connect;
mod domain;
mod error;
mod examine;
pub mod in_transaction;
mod listen;
mod migrate;
mod names;
mod pipeline;
mod pool;
mod queue;
mod schedule;
mod sync;
mod told;
mod trust;
mod upkeep;
mod value;

pub use address::PostgresOptions;
/// The PostgreSQL driver (0.7), for callers who share a transaction with the queue: [`in_transaction`].
pub use tokio_postgres;

use migrate::May;
use pool::Database;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::Actor;
use tenure_store::{Result, Sightings, Signals, StoreError};
use told::Told;

/// A store in one schema of a PostgreSQL database.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    database: Arc<Database>,
    urgent: Arc<Database>,
    cursors: Arc<queue::Cursors>,
    chunk_cursors: Arc<sync::ChunkCursors>,
    sightings: Arc<Sightings>,
    /// Queues that other processes were told of, or would be soon.
    told: Arc<Told>,
    signals: Signals,
    /// Ended with the last handle.
    listening: Arc<listen::Listening>,
    /// Who acts through this handle.
    actor: Actor,
}

impl PostgresStore {
    /// Opens the store at `url`. An empty database gets the schema; an older one is refused until it is migrated.
    pub async fn open(url: &str) -> Result<PostgresStore> {
        PostgresStore::open_with(PostgresOptions::parse(url)?).await
    }

    /// Opens a store with options set by hand.
    pub async fn open_with(options: PostgresOptions) -> Result<PostgresStore> {
        let may = May { create: options.create, upgrade: options.create && options.auto_migrate };
        let store = PostgresStore::unasked(options)?;
        store.prepared(may).await?;
        Ok(store)
    }

    /// Another handle on a store that this process has opened before. Asks nothing, so the server may be away: whoever
    /// uses it is told then.
    pub fn opened_before(url: &str) -> Result<PostgresStore> {
        PostgresStore::unasked(PostgresOptions::parse(url)?)
    }

    /// Makes sure of the schema. A connection that breaks meanwhile, as all do when a server restarts or a pooler is
    /// reloaded, is no reason to give up at once.
    async fn prepared(&self, may: May) -> Result<()> {
        let began = Instant::now();
        let mut pause = PREPARE_AGAIN;
        loop {
            match migrate::prepare(&self.database, may).await {
                Err(StoreError::Unavailable { .. }) if began.elapsed() + pause < PREPARE_FOR => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                prepared => return prepared,
            }
        }
    }

    fn unasked(options: PostgresOptions) -> Result<PostgresStore> {
        let database = Arc::new(Database::connect(&options)?);
        let signals = Signals::default();
        let listening = listen::start(&options, signals.clone())?;
        // Heartbeats have connections of their own: whoever waits for a lock with all the others holds none of them up.
        let urgent = Database::connect(&PostgresOptions { connections_max: URGENT_CONNECTIONS, ..options })?;
        Ok(PostgresStore {
            database,
            urgent: Arc::new(urgent),
            cursors: Arc::default(),
            chunk_cursors: Arc::default(),
            sightings: Arc::default(),
            told: Arc::default(),
            signals,
            listening: Arc::new(listening),
            actor: Actor::default(),
        })
    }

    /// Brings the schema of the store at `url` to the version this crate knows. Returns the version it has now.
    pub async fn migrate(url: &str) -> Result<i64> {
        let database = Database::connect(&PostgresOptions::parse(url)?)?;
        migrate::prepare(&database, May { create: true, upgrade: true }).await?;
        Ok(migrate::known())
    }
}

/// How long opening is tried again, from the first pause on, which doubles: long enough for a server that ends its
/// connections, short enough for somebody at a terminal whose server is not there at all.
const PREPARE_FOR: Duration = Duration::from_secs(1);
const PREPARE_AGAIN: Duration = Duration::from_millis(20);

/// Few: a heartbeat waits for nobody.
const URGENT_CONNECTIONS: usize = 2;

/// The statements that set up roles with no more rights than they need, for the database and schema that `url` names: an
/// owner, and for whoever operates, only works, only enqueues, or only reads (docs/decisions/0009). To be run in that
/// database by an administrator after every migration; what was done before is left as it is.
pub fn roles(url: &str) -> Result<String> {
    let options = PostgresOptions::parse(url)?;
    let config = options.route.servers.first().map(|server| &server.config);
    let database = config.and_then(|config| config.get_dbname().or(config.get_user()));
    let database = database.ok_or_else(|| StoreError::Address { message: "it names no database".to_owned() })?;
    let names = names::RoleNames::of(database, &options.schema);
    let script = ["owner", "runtime", "work", "enqueue", "read"]
        .iter()
        .fold(include_str!("../roles.sql").to_owned(), |script, what| {
            script.replace(&format!("{{{what}}}"), &names.role(what))
        });
    Ok(script.replace("{schema}", &options.schema).replace("{database}", &database.replace('\'', "''")))
}
