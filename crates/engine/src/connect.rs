//! From an address to a store, and from a driver's transaction to its backend: the only place that names a backend.

use crate::outage::Outage;
use crate::surroundings::Surroundings;
use crate::{Tenure, program};
use futures_util::future::BoxFuture;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tenure_memory::MemoryStore;
#[cfg(feature = "postgres")]
use tenure_postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
use tenure_sqlite::{SqliteOptions, SqliteStore};
use tenure_store::{Address, Clock, Store, StoreError};

#[cfg(feature = "postgres")]
pub use tenure_postgres::tokio_postgres;
#[cfg(feature = "sqlite")]
pub use tenure_sqlite::rusqlite;

/// How a store is opened; `.await` opens it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
/// # use std::time::Duration;
/// use tenure::Tenure;
///
/// // A service that starts before its database, and makes the store if it is the first.
/// let tenure = Tenure::open("memory:").within(Duration::from_secs(60)).await?;
/// // A tool that only looks: what is not there is not made.
/// let absent = Tenure::open("sqlite:/nowhere/tenure.db").create(false).await;
/// assert_eq!(absent.unwrap_err().code(), "store_absent");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before it is awaited"]
pub struct Open {
    url: Address,
    create: bool,
    patience: Duration,
}

impl Open {
    pub(crate) fn new(url: &str) -> Open {
        Open { url: Address::new(url), create: true, patience: Duration::ZERO }
    }

    /// Whether opening may change what is there: make a store, upgrade an older one, switch the journal of a file. It
    /// may, unless it is told not to; then what is not there is answered as [`StoreError::Absent`] and left as it was.
    /// A store in memory is made in any case: there is nothing to change.
    pub fn create(mut self, create: bool) -> Open {
        self.create = create;
        self
    }

    /// Waits up to `patience` for a store that is away, as a service does that starts before its database. What no
    /// waiting mends (a wrong address or password, another schema) is answered at once.
    pub fn within(mut self, patience: Duration) -> Open {
        self.patience = patience;
        self
    }
}

impl IntoFuture for Open {
    type Output = crate::Result<Tenure>;
    type IntoFuture = BoxFuture<'static, crate::Result<Tenure>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (around, outage) = (Surroundings::default(), Arc::new(Outage::default()));
            let store = open_within(&self, &outage).await?;
            Ok(Tenure { store: store.acting_as(program()), url: Some(self.url.as_str().into()), outage, around })
        })
    }
}

/// Opens the store at `url`, or where it may `create` one.
async fn open(url: &str, create: bool) -> Result<Arc<dyn Store>, StoreError> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new())),
        #[cfg(feature = "sqlite")]
        Some(("sqlite", _)) => Ok(Arc::new(SqliteStore::open_with(url, SqliteOptions::new().create(create)).await?)),
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => {
            Ok(Arc::new(PostgresStore::open_with(PostgresOptions::parse(url)?.create(create)).await?))
        }
        #[cfg(not(feature = "sqlite"))]
        Some(("sqlite", _)) => Err(left_out("sqlite", create)),
        #[cfg(not(feature = "postgres"))]
        Some(("postgres" | "postgresql", _)) => Err(left_out("postgres", create)),
        _ => Err(StoreError::Address {
            message: "use sqlite:FILE, sqlite::memory:, postgres://USER@HOST/DATABASE or memory:".to_owned(),
        }),
    }
}

/// A backend that this program was built without, whether it was to `create` a store or not.
#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
fn left_out(feature: &str, _create: bool) -> StoreError {
    let message = format!("this program was built without the feature `{feature}` of the crate `tenure`");
    StoreError::Address { message }
}

/// The longest pause between two tries to open a store that is away.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// Opens a store, and tries again while it is away, as long as it may.
async fn open_within(how: &Open, outage: &Outage) -> Result<Arc<dyn Store>, StoreError> {
    let Open { url, create, patience } = how;
    let deadline = tokio::time::Instant::now() + *patience;
    let mut pause = OPEN_AGAIN / 10;
    loop {
        // What nobody waits for, and what no waiting mends, is told by the answer alone.
        let attempt = async {
            match open(url.as_str(), *create).await {
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
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => PostgresStore::migrate(url).await.map(Some),
        _ => open(url, true).await.map(|_| None),
    }
}

/// Another handle on the store at `url`, which shares no connection with `store`. An embedded store has a writer of its
/// own, which nobody else can occupy: it is shared. Asks nothing, so it works while the store is away.
pub(crate) fn apart(store: Arc<dyn Store>, url: Option<&str>) -> Result<Arc<dyn Store>, StoreError> {
    match url.and_then(|url| url.split_once(':')) {
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => {
            Ok(Arc::new(PostgresStore::opened_before(&unheard(url.unwrap_or_default()))?))
        }
        _ => Ok(store),
    }
}

#[cfg(feature = "postgres")]
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
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => tenure_postgres::roles(url).map(Some),
        _ => Ok(None),
    }
}

#[cfg(feature = "postgres")]
mod in_postgres {
    use super::tokio_postgres;
    use crate::CallerTransaction;
    use tenure_core::Token;
    use tenure_core::queue::{Ended, Ending, Enqueued, JobId, NewJob};
    use tenure_core::sync::ClaimedChunk;
    use tenure_store::{Place, TransactionError};

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

        async fn chunk_held(
            &mut self,
            place: &Place,
            chunk: &ClaimedChunk,
            owner: &str,
        ) -> Result<(), TransactionError> {
            tenure_postgres::in_transaction::chunk_held(self, place, chunk, owner).await
        }
    }
}

#[cfg(feature = "sqlite")]
mod in_sqlite {
    use super::rusqlite;
    use crate::CallerTransaction;
    use tenure_core::Token;
    use tenure_core::queue::{Ended, Ending, Enqueued, JobId, NewJob};
    use tenure_core::sync::ClaimedChunk;
    use tenure_sqlite::in_transaction;
    use tenure_store::{Place, TransactionError};

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
}
