//! The queue inside the caller's own transaction (Q10), for an application that keeps its tables in the same file.
//!
//! What is written here is committed or rolled back with everything else the caller wrote: a job enqueued beside the
//! row it is about, work completed in the transaction that stores its outcome.
//!
//! Always true:
//! - the same rules judge as everywhere (L3, L4, L12, Q7), by the machine's clock, read after the write lock was taken
//!   (L5); so whoever [holds](held) the work keeps it until the transaction ends;
//! - each function happens whole or not at all, and what it refuses changes nothing but the count of refusals.
//!
//! The transaction is of [rusqlite] 0.41, which is re-exported so that versions cannot disagree. The
//! file must have been opened by this version of Tenure before. Best begun with `TransactionBehavior::Immediate`: a
//! deferred one that has read before meets SQLite's `SQLITE_BUSY_SNAPSHOT` when somebody else wrote meanwhile. SQLite
//! has one writer, so heartbeats wait while such a transaction is open: keep it short, and never work inside it.
//!
//! ```
//! use tenure_core::queue::NewJob;
//! use tenure_sqlite::{SqliteStore, in_transaction, rusqlite};
//! use tenure_store::QueueStore;
//!
//! # let runtime = tokio::runtime::Runtime::new().unwrap();
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("app.db");
//! # runtime.block_on(async {
//! let store = SqliteStore::open(&format!("sqlite:{}", path.display())).await.unwrap();
//! let mut conn = rusqlite::Connection::open(&path).unwrap();
//! conn.execute_batch("CREATE TABLE invoice (n INTEGER)").unwrap();
//!
//! let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
//! tx.execute("INSERT INTO invoice VALUES (7)", []).unwrap();
//! in_transaction::enqueue(&tx, &[NewJob::new("mail", "send", "7")]).unwrap();
//! tx.commit().unwrap();
//!
//! assert_eq!(store.queue("mail").await.unwrap().unwrap().counts.queued, 1);
//! # });
//! ```

pub use crate::sync::in_transaction::{chunk_held, complete_chunk};

use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::apart;
use crate::{migrate, queue, sql};
use rusqlite::Transaction;
use std::fmt;
use tenure_core::bounds::Invalid;
use tenure_core::queue::rules::{Judgement, Presented};
use tenure_core::queue::{Act, Conflict, Ended, Ending, Enqueued, JobId, NewJob, Retry};
use tenure_core::{LostReason, Token};
use tenure_store::{Clock, StoreError};

/// Why nothing was done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The lease is not held: stop working on it, and roll back (L3).
    LeaseLost(LostReason),
    /// Another body was sent under a key that is remembered (Q7).
    Conflict(Conflict),
    /// Out of bounds.
    Invalid(Invalid),
    /// The file did not do what it was asked. Roll back.
    Store(StoreError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::LeaseLost(reason) => write!(f, "lease_lost ({reason}): {}", reason.sentence()),
            Error::Conflict(Conflict { index, id: Some(id) }) => {
                write!(f, "dedup_conflict: job {index} of the call has the key of job {id}, but another body")
            }
            Error::Conflict(Conflict { index, id: None }) => {
                write!(f, "dedup_conflict: job {index} of the call has the key of an earlier one, but another body")
            }
            Error::Invalid(invalid) => invalid.fmt(f),
            Error::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(error) => Some(error),
            Error::LeaseLost(_) | Error::Conflict(_) | Error::Invalid(_) => None,
        }
    }
}

/// Adds jobs, all or none, in this order; claimable once the caller has committed.
pub fn enqueue(tx: &Transaction<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>, Error> {
    NewJob::check_all(jobs).map_err(Error::Invalid)?;
    whole(tx, |step| Ok(queue::enqueue::enqueue(step, jobs)?.map_err(Error::Conflict)))
}

/// Completes held work, with an optional result as JSON.
pub fn complete(
    tx: &Transaction<'_>,
    job: JobId,
    owner: &str,
    token: Token,
    result: Option<&str>,
) -> Result<Ended, Error> {
    finish(tx, job, owner, token, Act::Complete { result: result.map(str::to_owned) })
}

/// Fails held work; it is tried again as `retry` says.
pub fn fail(
    tx: &Transaction<'_>,
    job: JobId,
    owner: &str,
    token: Token,
    error: &str,
    retry: Retry,
) -> Result<Ended, Error> {
    finish(tx, job, owner, token, Act::Fail { error: error.to_owned(), retry })
}

/// Refuses unless the lease is held at this moment. If it is, nobody else can take the work before the transaction
/// ends, even if the lease runs out meanwhile; a finish later in the transaction is still judged by the clock (L4).
pub fn held(tx: &Transaction<'_>, job: JobId, owner: &str, token: Token) -> Result<(), Error> {
    whole(tx, |step| {
        let (judgement, _) = queue::judge::judge(step, job, Presented { owner, token, verb: None })?;
        Ok(match judgement {
            Judgement::Held => Ok(()),
            // A receipt is only for the verb that wrote it.
            Judgement::Already(_) => Err(Error::LeaseLost(LostReason::Finished)),
            Judgement::Lost(reason) => Err(Error::LeaseLost(reason)),
        })
    })
}

fn finish(tx: &Transaction<'_>, job: JobId, owner: &str, token: Token, act: Act) -> Result<Ended, Error> {
    let mut ending = Ending { job, owner: owner.to_owned(), token, act };
    ending.check().map_err(Error::Invalid)?;
    let mut answers = whole(tx, |step| Ok(Ok(queue::finish::finish(step, std::slice::from_ref(&ending))?)))?;
    // A refusal is not undone: it is counted with the job (L8).
    let answer = answers.pop().unwrap_or(Err(LostReason::Unknown));
    answer.map_err(Error::LeaseLost)
}

/// Does `work` under the write lock, at an instant read after it was taken; undone if it fails.
pub(crate) fn whole<T>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Step<'_>) -> Done<Result<T, Error>>,
) -> Result<T, Error> {
    let done = apart(tx, || {
        migrate::check(tx)?;
        tx.prepare_cached(sql::LOCK)?.execute([])?;
        work(&Step::new(tx, Clock::default().now()))
    });
    done.map_err(|fault: Fault| Error::Store(fault.into()))?
}
