//! From an address to a store, and from a driver's transaction to its backend: the only place that names a backend.

use crate::outage::Outage;
use crate::{CallerTransaction, Tenure};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::Token;
use tenure_core::queue::{Ended, Ending, Enqueued, JobId, NewJob};
use tenure_core::sync::ClaimedChunk;
use tenure_memory::MemoryStore;
use tenure_postgres::PostgresStore;
use tenure_sqlite::SqliteStore;
use tenure_sqlite::in_transaction;
use tenure_store::{Clock, Place, Store, StoreError, TransactionError};

pub use tenure_postgres::tokio_postgres;
pub use tenure_sqlite::rusqlite;

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

/// The longest pause between two tries to open a store that is away.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// Opens the store at `url`, and tries again for `patience` while it is away.
pub(crate) async fn open_within(url: &str, patience: Duration, outage: &Outage) -> Result<Arc<dyn Store>, StoreError> {
    let deadline = tokio::time::Instant::now() + patience;
    let mut pause = OPEN_AGAIN / 10;
    loop {
        // What nobody waits for, and what no waiting mends, is told by the answer alone.
        let attempt = async {
            match open(url).await {
                Err(away @ StoreError::Unavailable { .. }) if !patience.is_zero() => Err(away),
                answered => Ok(answered),
            }
        };
        let opened = outage.watch("opening", attempt).await.and_then(|answered| answered);
        match opened {
            Err(StoreError::Unavailable { .. }) if tokio::time::Instant::now() + pause < deadline => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(OPEN_AGAIN);
            }
            opened => return opened,
        }
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
/// own, which nobody else can occupy: it is shared. Asks nothing, so it works while the store is away.
pub(crate) fn apart(store: Arc<dyn Store>, url: Option<&str>) -> Result<Arc<dyn Store>, StoreError> {
    match url.and_then(|url| url.split_once(':')) {
        Some(("postgres" | "postgresql", _)) => {
            Ok(Arc::new(PostgresStore::opened_before(&unheard(url.unwrap_or_default()))?))
        }
        _ => Ok(store),
    }
}

/// The same address, for a handle that only renews leases: it neither hears nor tells of new work.
fn unheard(url: &str) -> String {
    if url.contains("listen_url=") {
        return url.to_owned();
    }
    format!("{url}{}listen_url=none", if url.contains('?') { '&' } else { '?' })
}

/// A store in memory, on a clock that a test moves.
pub(crate) fn in_memory(clock: Clock) -> Tenure {
    Tenure::on(MemoryStore::with_clock(clock))
}
/// The statements that set up roles with no more rights than they need, for the PostgreSQL store at `url`; `None` where
/// a store has no roles.
pub(crate) fn roles(url: &str) -> Result<Option<String>, StoreError> {
    match url.split_once(':') {
        Some(("postgres" | "postgresql", _)) => tenure_postgres::roles(url).map(Some),
        _ => Ok(None),
    }
}

impl CallerTransaction for tokio_postgres::Transaction<'_> {
    async fn enqueue(&mut self, place: &Place, jobs: &[NewJob]) -> Result<Vec<Enqueued>, TransactionError> {
        tenure_postgres::in_transaction::enqueue(self, place, jobs).await
    }

    async fn finish(&mut self, place: &Place, ending: &Ending) -> Result<Ended, TransactionError> {
        tenure_postgres::in_transaction::finish(self, place, ending).await
    }

    async fn held(&mut self, place: &Place, job: JobId, owner: &str, token: Token) -> Result<(), TransactionError> {
        tenure_postgres::in_transaction::held(self, place, job, owner, token).await
    }

    async fn complete_chunk(
        &mut self,
        place: &Place,
        chunk: &ClaimedChunk,
        owner: &str,
        row_count: Option<u64>,
        cursor: Option<&str>,
    ) -> Result<(), TransactionError> {
        tenure_postgres::in_transaction::complete_chunk(self, place, chunk, owner, row_count, cursor).await
    }

    async fn chunk_held(&mut self, place: &Place, chunk: &ClaimedChunk, owner: &str) -> Result<(), TransactionError> {
        tenure_postgres::in_transaction::chunk_held(self, place, chunk, owner).await
    }
}

/// A transaction of rusqlite, and what stands for one: a savepoint in it, or a connection on which one was begun by
/// hand. Calls block as every call of rusqlite does.
macro_rules! rusqlite_transaction {
    ($($of:ty),+) => {$(
        impl CallerTransaction for $of {
            async fn enqueue(&mut self, place: &Place, jobs: &[NewJob]) -> Result<Vec<Enqueued>, TransactionError> {
                in_transaction::enqueue_at(self, place, jobs)
            }

            async fn finish(&mut self, place: &Place, ending: &Ending) -> Result<Ended, TransactionError> {
                in_transaction::finish_at(self, place, ending)
            }

            async fn held(
                &mut self,
                place: &Place,
                job: JobId,
                owner: &str,
                token: Token,
            ) -> Result<(), TransactionError> {
                in_transaction::held_at(self, place, job, owner, token)
            }

            async fn complete_chunk(
                &mut self,
                place: &Place,
                chunk: &ClaimedChunk,
                owner: &str,
                row_count: Option<u64>,
                cursor: Option<&str>,
            ) -> Result<(), TransactionError> {
                in_transaction::complete_chunk_at(self, place, chunk, owner, row_count, cursor)
            }

            async fn chunk_held(
                &mut self,
                place: &Place,
                chunk: &ClaimedChunk,
                owner: &str,
            ) -> Result<(), TransactionError> {
                in_transaction::chunk_held_at(self, place, chunk, owner)
            }
        }
    )+};
}

rusqlite_transaction!(rusqlite::Transaction<'_>, rusqlite::Savepoint<'_>, rusqlite::Connection);
