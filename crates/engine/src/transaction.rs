//! The queue inside a transaction of the caller's own (Q10).
//!
//! Where an application keeps its tables in the database of the store, a job can be enqueued in the transaction that
//! writes the row it is about, and work completed in the transaction that stores its outcome: both are committed, or
//! neither. The transaction is the driver's own, of [`tokio_postgres`](crate::tokio_postgres) or
//! [`rusqlite`](crate::rusqlite); other drivers do the same on PostgreSQL by SQL.
//!
//! Always true:
//! - nothing here commits, and nothing is tried again: the caller's commit decides;
//! - the rules and the clock are those of every other call (L3, L4, L5, L12, Q7);
//! - bad input and a transaction of another store are refused before the transaction is touched;
//! - what else is refused on PostgreSQL, a lost lease above all, gives the transaction up, so that a caller who goes on
//!   by mistake cannot commit. On SQLite every refusal leaves it usable, and the caller must roll back.

use crate::error::Refused;
use crate::{Error, Result, Verbs};
use std::future::Future;
use tenure_core::bounds::{self, Code};
use tenure_core::queue::{Act, Ended, Ending, Enqueued, JobId, NewJob};
use tenure_core::sync::ClaimedChunk;
use tenure_core::{Invalid, Token};
use tenure_store::{Place, TransactionError};

/// An open transaction of a driver, as [`in_tx`](crate::queue::Enqueue::in_tx) and its siblings take it.
///
/// Implemented for `tokio_postgres::Transaction`; and for `rusqlite::Transaction`, `rusqlite::Savepoint` and, where one
/// was begun by hand, `rusqlite::Connection`. A transaction of rusqlite cannot be sent to another thread, and neither can
/// a future that holds one: where that is in the way, begin it by hand on a connection.
pub trait CallerTransaction {
    /// Adds jobs, all or none, in this order, to the store at `place`. They were checked.
    fn enqueue(
        &mut self,
        place: &Place,
        jobs: &[NewJob],
    ) -> impl Future<Output = std::result::Result<Vec<Enqueued>, TransactionError>>;

    /// Completes or fails held work. The ending was checked.
    fn finish(
        &mut self,
        place: &Place,
        ending: &Ending,
    ) -> impl Future<Output = std::result::Result<Ended, TransactionError>>;

    /// Refuses unless the lease is held, and keeps others from the work until the transaction ends.
    fn held(
        &mut self,
        place: &Place,
        job: JobId,
        owner: &str,
        token: Token,
    ) -> impl Future<Output = std::result::Result<(), TransactionError>>;

    /// Completes a held chunk of a sync.
    fn complete_chunk(
        &mut self,
        place: &Place,
        chunk: &ClaimedChunk,
        owner: &str,
        row_count: Option<u64>,
        cursor: Option<&str>,
    ) -> impl Future<Output = std::result::Result<(), TransactionError>>;

    /// Refuses unless the chunk is held, and keeps others from it until the transaction ends.
    fn chunk_held(
        &mut self,
        place: &Place,
        chunk: &ClaimedChunk,
        owner: &str,
    ) -> impl Future<Output = std::result::Result<(), TransactionError>>;
}

impl Verbs<'_> {
    /// Adds jobs in the caller's transaction, all or none, in this order.
    pub async fn enqueue_all_in<T: CallerTransaction>(self, tx: &mut T, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        NewJob::check_all(jobs)?;
        Ok(tx.enqueue(&self.tenure.store.place(), jobs).await?)
    }

    /// Ends a claim as done, if the caller's transaction is committed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let file = folder.path().join("app.db");
    /// use tenure::rusqlite::{Connection, TransactionBehavior};
    /// use tenure::{NewJob, Status, Tenure};
    ///
    /// let tenure = Tenure::open(&format!("sqlite:{}", file.display())).await?;
    /// # tenure.enqueue(NewJob::new("mail", "send", "7")).await?;
    /// let mut app = Connection::open(&file)?;
    /// # app.execute_batch("CREATE TABLE sent (invoice INTEGER)")?;
    /// let job = tenure.queue("mail").claim().worker("worker-1").one().await?.expect("one waits");
    ///
    /// let mut tx = app.transaction_with_behavior(TransactionBehavior::Immediate)?;
    /// tx.execute("INSERT INTO sent VALUES (7)", [])?;
    /// let ended = job.complete_in(&mut tx, &()).await?;
    /// tx.commit()?;
    ///
    /// assert_eq!(ended.status, Status::Completed);
    /// # Ok(()) }
    /// ```
    pub async fn complete_in<T: CallerTransaction>(
        self,
        tx: &mut T,
        job: JobId,
        owner: &str,
        token: Token,
        result: Option<String>,
    ) -> Result<Ended> {
        self.finish_in(tx, Ending { job, owner: owner.to_owned(), token, act: Act::Complete { result } }).await
    }

    /// Ends a claim as failed, if the caller's transaction is committed; tried again by the job's backoff while it has
    /// attempts.
    pub async fn fail_in<T: CallerTransaction>(
        self,
        tx: &mut T,
        job: JobId,
        owner: &str,
        token: Token,
        error: &str,
    ) -> Result<Ended> {
        let act = Act::Fail { error: error.to_owned(), retry: self.tenure.around.by_policy() };
        self.finish_in(tx, Ending { job, owner: owner.to_owned(), token, act }).await
    }

    /// Ends a claim in the caller's transaction: [`Act::Complete`], or [`Act::Fail`] with a [`Retry`](crate::Retry) of
    /// one's own. Work is given back outside of transactions.
    pub async fn finish_in<T: CallerTransaction>(self, tx: &mut T, mut ending: Ending) -> Result<Ended> {
        ending.check()?;
        if let Act::Snooze { .. } | Act::Release = ending.act {
            let limit = "complete or fail inside a transaction";
            return Err(Invalid::new(Code::OutOfBounds, "act", limit, ending.act.verb().as_str()).into());
        }
        Ok(tx.finish(&self.tenure.store.place(), &ending).await?)
    }

    /// Fences the caller's transaction: refuses unless the lease is held at this moment; if it is, nobody else is given
    /// the work before the transaction ends, even if the lease runs out meanwhile. A finish later in the transaction is
    /// still judged by the clock (L4). On PostgreSQL no heartbeat waits for it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let database = tenure_testing::TestDatabase::create().await?;
    /// # let url = database.url();
    /// # use tenure::{Error, NewJob, Tenure, Token};
    /// # let tenure = Tenure::open(url).await?;
    /// # let (mut client, connection) = tenure::tokio_postgres::connect(url, tenure::tokio_postgres::NoTls).await?;
    /// # tokio::spawn(connection);
    /// # client.batch_execute("create table invoice (n integer, sent boolean)").await?;
    /// # tenure.enqueue(NewJob::new("mail", "send", "7")).await?;
    /// let job = tenure.queue("mail").claim().worker("worker-1").one().await?.expect("one waits");
    ///
    /// let mut tx = client.transaction().await?;
    /// job.held_in(&mut tx).await?;
    /// tx.execute("update invoice set sent = true where n = 7", &[]).await?;
    /// tx.commit().await?;
    ///
    /// // Whoever has lost the lease gets no further than this line.
    /// let mut tx = client.transaction().await?;
    /// let stale = Token(job.token.0 - 1);
    /// let refused = tenure.verbs().held_in(&mut tx, job.id, "worker-1", stale).await;
    /// assert!(matches!(refused, Err(Error::LeaseLost(_))));
    /// # Ok(()) }
    /// ```
    pub async fn held_in<T: CallerTransaction>(self, tx: &mut T, job: JobId, owner: &str, token: Token) -> Result<()> {
        bounds::name("worker", owner)?;
        Ok(tx.held(&self.tenure.store.place(), job, owner, token).await?)
    }

    /// Completes a chunk of a sync in the transaction that wrote its rows: both are committed, or neither. Call it last.
    pub async fn complete_chunk_in<T: CallerTransaction>(
        self,
        tx: &mut T,
        chunk: &ClaimedChunk,
        owner: &str,
        row_count: Option<u64>,
        cursor: Option<&str>,
    ) -> Result<()> {
        bounds::name("worker", owner)?;
        Ok(tx.complete_chunk(&self.tenure.store.place(), chunk, owner, row_count, cursor).await?)
    }

    /// Makes the caller's transaction fenced by a chunk's lease, as [`held_in`](Verbs::held_in) does by a job's.
    pub async fn chunk_held_in<T: CallerTransaction>(
        self,
        tx: &mut T,
        chunk: &ClaimedChunk,
        owner: &str,
    ) -> Result<()> {
        bounds::name("worker", owner)?;
        Ok(tx.chunk_held(&self.tenure.store.place(), chunk, owner).await?)
    }
}

impl From<TransactionError> for Error {
    fn from(error: TransactionError) -> Error {
        match error {
            TransactionError::Invalid(invalid) => Error::Invalid(invalid),
            TransactionError::LeaseLost(reason) => Error::LeaseLost(reason),
            TransactionError::Conflict(conflict) => conflict.into(),
            TransactionError::Unusable { message } => Refused::Transaction { message }.into(),
            TransactionError::Store(error) => error.into(),
            other => Refused::Transaction { message: other.to_string() }.into(),
        }
    }
}
