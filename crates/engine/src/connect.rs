//! From an address to a store: the only place that names a backend.

use crate::Tenure;
use std::sync::Arc;
use tenure_memory::MemoryStore;
use tenure_postgres::PostgresStore;
use tenure_sqlite::SqliteStore;
use tenure_store::{Clock, Store, StoreError};

/// Opens the store at `url`.
pub(crate) async fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new())),
        Some(("sqlite", _)) => Ok(Arc::new(SqliteStore::open(url).await?)),
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(PostgresStore::open(url).await?)),
        _ => Err(StoreError::Address {
            message: "use sqlite:FILE, sqlite::memory:, postgres://USER@HOST/DATABASE or memory:".to_owned(),
        }),
    }
}

/// Brings the store at `url` to the schema of this version; `None` where opening it does that already.
pub(crate) async fn migrate(url: &str) -> Result<Option<i64>, StoreError> {
    match url.split_once(':') {
        Some(("postgres" | "postgresql", _)) => PostgresStore::migrate(url).await.map(Some),
        _ => open(url).await.map(|_| None),
    }
}

/// Another handle on the store at `url`, which shares no connection with `store`. An embedded store has a writer of its
/// own, which nobody else can occupy: it is shared.
pub(crate) async fn apart(store: Arc<dyn Store>, url: Option<&str>) -> Result<Arc<dyn Store>, StoreError> {
    match url.and_then(|url| url.split_once(':')) {
        Some(("postgres" | "postgresql", _)) => open(url.unwrap_or_default()).await,
        _ => Ok(store),
    }
}

/// A store in memory, on a clock that a test moves.
pub(crate) fn in_memory(clock: Clock) -> Tenure {
    Tenure::on(MemoryStore::with_clock(clock))
}
