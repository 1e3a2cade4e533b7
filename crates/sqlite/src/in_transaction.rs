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
//! has one writer, so heartbeats wait while such a transaction is open: keep it short, and never work inside it. A call to
//! the store itself from the task that has it open would wait for itself, and is refused
//! ([`OwnTransaction`](tenure_store::StoreError::OwnTransaction)) if a function of this module was called in it before.
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

pub use crate::sync::in_transaction::{chunk_held, chunk_held_at, complete_chunk, complete_chunk_at};

use crate::fault::{Done, Fault};
use crate::identity::{same_file, several_names};
use crate::inbox::Step;
use crate::savepoint::apart;
use crate::{caller, migrate, queue};
use rusqlite::{Connection, Transaction};
use std::path::Path;
use tenure_core::lease::Presented;
use tenure_core::queue::{Act, Ended, Ending, Enqueued, JobId, NewJob};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Token};
use tenure_store::{Clock, Place};

/// Why nothing was done. The transaction can be used further, whatever the reason, unless it is
/// [`Store`](Error::Store).
pub use tenure_store::TransactionError as Error;

/// Adds jobs, all or none, in this order; claimable once the caller has committed.
pub fn enqueue(tx: &Transaction<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>, Error> {
    NewJob::check_all(jobs)?;
    enqueue_by(tx, &Clock::system(), jobs)
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
    held_by(tx, &Clock::system(), job, owner, token)
}

fn finish(tx: &Transaction<'_>, job: JobId, owner: &str, token: Token, act: Act) -> Result<Ended, Error> {
    let mut ending = Ending { job, owner: owner.to_owned(), token, act };
    ending.check()?;
    finish_by(tx, &Clock::system(), &ending)
}

/// As [`enqueue`], for the store at `place` and by its clock; refuses a connection on another file, or without an open
/// transaction. The jobs were checked.
pub fn enqueue_at(conn: &Connection, place: &Place, jobs: &[NewJob]) -> Result<Vec<Enqueued>, Error> {
    enqueue_by(conn, here(conn, place)?, jobs)
}

/// As [`complete`] and [`fail`], for the store at `place`. The ending was checked.
pub fn finish_at(conn: &Connection, place: &Place, ending: &Ending) -> Result<Ended, Error> {
    finish_by(conn, here(conn, place)?, ending)
}

/// As [`held`], for the store at `place`.
pub fn held_at(conn: &Connection, place: &Place, job: JobId, owner: &str, token: Token) -> Result<(), Error> {
    held_by(conn, here(conn, place)?, job, owner, token)
}

/// The clock of the store at `place`, if `conn` is in a transaction on its very file.
pub(crate) fn here<'p>(conn: &Connection, place: &'p Place) -> Result<&'p Clock, Error> {
    let Place::File { path, clock } = place else {
        return Err(Error::elsewhere("SQLite", place));
    };
    let opened = conn.path().unwrap_or_default();
    if opened.is_empty() || !same_file(Path::new(opened), path) {
        let opened = if opened.is_empty() { "a database in memory" } else { opened };
        return Err(Error::unusable(format!("it is on {opened}, and the store is the file {}", path.display())));
    }
    // Opened under the other name, it would write to another WAL than the store.
    if let Some(several) = several_names(path) {
        return Err(Error::unusable(format!("it is on {}, which {several}", path.display())));
    }
    if conn.is_autocommit() {
        return Err(Error::unusable("none is open on this connection: begin one first"));
    }
    Ok(clock)
}

fn enqueue_by(conn: &Connection, clock: &Clock, jobs: &[NewJob]) -> Result<Vec<Enqueued>, Error> {
    whole(conn, clock, |step| Ok(queue::enqueue::enqueue(step, jobs)?.map_err(Error::Conflict)))
}

fn finish_by(conn: &Connection, clock: &Clock, ending: &Ending) -> Result<Ended, Error> {
    let mut answers = whole(conn, clock, |step| Ok(Ok(queue::finish::finish(step, std::slice::from_ref(ending))?)))?;
    // A refusal is not undone: it is counted with the job (L8).
    let answer = answers.pop().unwrap_or(Err(LostReason::Unknown));
    answer.map_err(Error::LeaseLost)
}

fn held_by(conn: &Connection, clock: &Clock, job: JobId, owner: &str, token: Token) -> Result<(), Error> {
    whole(conn, clock, |step| {
        let (judgement, _) = queue::judge::judge(step, job, Presented { owner, token, verb: None })?;
        Ok(judgement.or_lost().map(drop).map_err(Error::LeaseLost))
    })
}

/// Does `work` under the write lock, at an instant read after it was taken; undone if it fails.
pub(crate) fn whole<T>(
    conn: &Connection,
    clock: &Clock,
    work: impl FnOnce(&Step<'_>) -> Done<Result<T, Error>>,
) -> Result<T, Error> {
    // The lock stays taken whatever becomes of the work, and so does the turn.
    let done = migrate::check(conn)
        .and_then(|()| caller::lock(conn))
        .and_then(|()| apart(conn, || work(&Step::new(conn, clock.now()))));
    done.map_err(|fault: Fault| Error::Store(fault.into()))?
}
