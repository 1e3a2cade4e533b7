//! Tenure on PostgreSQL, shared by any number of machines.
//!
//! The verbs are functions in the database (`functions/queue/*.sql`): one statement, one round trip, one transaction,
//! so they work alike behind a pooler in transaction mode and from plain SQL. This crate calls them, keeps a hint
//! where its last claim ended (`cursor.rs`), and listens for wake-ups.
//!
//! Always true:
//! - only the database's clock judges a lease, read after the rows are locked (L5);
//! - no statement is prepared by name and no session state is kept, except by the listener;
//! - what the connection lost during a write is an unknown outcome, told as such.

mod address;
mod cancel;
mod cursor;
mod domain;
mod error;
mod examine;
mod listen;
mod migrate;
mod names;
mod pipeline;
mod pool;
mod queue;
mod schedule;
mod sync;
mod told;
pub mod transaction;
mod trust;
mod upkeep;
mod value;

pub use address::PostgresOptions;
/// The PostgreSQL driver (0.7), for callers who share a transaction with the queue: [`transaction`].
pub use tokio_postgres;

use cursor::Cursors;
use pool::Database;
use std::sync::Arc;
use tenure_store::{Result, Sightings, Signals, StoreError};
use told::Told;

/// A store in one schema of a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    database: Arc<Database>,
    urgent: Database,
    cursors: Cursors,
    chunk_cursors: sync::ChunkCursors,
    sightings: Sightings,
    /// Queues that other processes were told of, or would be soon.
    told: Told,
    signals: Signals,
    listening: listen::Listening,
}

impl PostgresStore {
    /// Opens the store at `url`. An empty database gets the schema; an older one is refused until it is migrated.
    pub async fn open(url: &str) -> Result<PostgresStore> {
        PostgresStore::open_with(PostgresOptions::parse(url)?).await
    }

    /// Opens a store with options set by hand.
    pub async fn open_with(options: PostgresOptions) -> Result<PostgresStore> {
        let database = Arc::new(Database::connect(&options)?);
        migrate::prepare(&database, options.auto_migrate).await?;
        upkeep::check_epoch(&database).await?;
        let signals = Signals::default();
        let listening = listen::start(&options, signals.clone());
        // Heartbeats have connections of their own: whoever waits for a lock with all the others holds none of them up.
        let urgent = Database::connect(&PostgresOptions { connections_max: URGENT_CONNECTIONS, ..options })?;
        Ok(PostgresStore {
            database,
            urgent,
            cursors: Cursors::default(),
            chunk_cursors: Default::default(),
            sightings: Sightings::default(),
            told: Told::default(),
            signals,
            listening,
        })
    }

    /// Brings the schema of the store at `url` to the version this crate knows. Returns the version it has now.
    pub async fn migrate(url: &str) -> Result<i64> {
        let database = Database::connect(&PostgresOptions::parse(url)?)?;
        migrate::prepare(&database, true).await?;
        Ok(migrate::known())
    }
}

/// Few: a heartbeat waits for nobody.
const URGENT_CONNECTIONS: usize = 2;

/// The statements that set up roles with no more rights than they need, for the database and schema that `url` names: an
/// owner, and for whoever operates, only works, only enqueues, or only reads (docs/decisions/0009). To be run in that
/// database by an administrator after every migration; what was done before is left as it is.
pub fn roles(url: &str) -> Result<String> {
    let options = PostgresOptions::parse(url)?;
    let database = options.config.get_dbname().or(options.config.get_user());
    let database = database.ok_or_else(|| StoreError::Address { message: "it names no database".to_owned() })?;
    let names = names::RoleNames::of(database, &options.schema);
    let script = ["owner", "runtime", "work", "enqueue", "read"]
        .iter()
        .fold(include_str!("../roles.sql").to_owned(), |script, what| {
            script.replace(&format!("{{{what}}}"), &names.role(what))
        });
    Ok(script.replace("{schema}", &options.schema).replace("{database}", &database.replace('\'', "''")))
}
