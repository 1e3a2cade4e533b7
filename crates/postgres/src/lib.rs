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
mod cursor;
mod error;
mod listen;
mod migrate;
mod pipeline;
mod pool;
mod queue;
mod transaction;
mod upkeep;
mod value;

pub use address::PostgresOptions;
pub use transaction::{TransactionError, enqueue_in, finish_in, held_in};

use cursor::Cursors;
use pool::Database;
use std::sync::Arc;
use tenure_store::{Result, Signals};

/// A store in one schema of a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    database: Arc<Database>,
    cursors: Cursors,
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
        Ok(PostgresStore { database, cursors: Cursors::default(), signals, listening })
    }

    /// Brings the schema of the store at `url` to the version this crate knows. Returns the version it has now.
    pub async fn migrate(url: &str) -> Result<i64> {
        let database = Database::connect(&PostgresOptions::parse(url)?)?;
        migrate::prepare(&database, true).await?;
        Ok(migrate::known())
    }
}
