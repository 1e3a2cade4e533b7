//! Whose transaction holds the write lock, where that can be known.
//!
//! A call that waits for a transaction which its own caller has open waits for itself. SQLite does not say who holds the
//! lock; but a transaction in which a verb of [`in_transaction`](crate::in_transaction) was called was seen here,
//! together with the task that called. Only one transaction can hold the lock, so there is one to remember for each file.
//!
//! What is remembered may be over: it was committed if its turn can be read, it was rolled back if anybody else commits,
//! and it has certainly ended once the store's writer has the lock. A transaction in which no verb was called is nobody's.

use crate::fault::Done;
use crate::sql;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Who asks: a task, or where there is none a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Caller {
    /// Whoever runs this.
    pub(crate) fn current() -> Caller {
        match tokio::task::try_id() {
            Some(task) => Caller::Task(task),
            None => Caller::Thread(std::thread::current().id()),
        }
    }
}

/// A caller's transaction that has taken the write lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) by: Caller,
    /// Which of all such transactions of the file it is; others read it once it is committed.
    turn: i64,
}

impl Seen {
    /// Whether it may still be open, as far as `conn`, another connection, can tell.
    pub(crate) fn may_be_open(self, conn: &Connection) -> Done<bool> {
        let committed: i64 = conn.prepare_cached(sql::TURN)?.query_row([], |row| row.get(0))?;
        Ok(committed < self.turn)
    }
}

/// By file; never more than the process has used.
static SEEN: Mutex<BTreeMap<PathBuf, Seen>> = Mutex::new(BTreeMap::new());

/// Takes the write lock in a caller's transaction, and remembers whose it is.
pub(crate) fn lock(conn: &Connection) -> Done<()> {
    let turn = conn.prepare_cached(sql::LOCK)?.query_row([], |row| row.get(0))?;
    if let Some(file) = conn.path().and_then(|path| key(Path::new(path))) {
        seen().insert(file, Seen { by: Caller::current(), turn });
    }
    Ok(())
}

/// The last transaction that was seen on a file.
pub(crate) fn last_seen(file: &Path) -> Option<Seen> {
    seen().get(file).copied()
}

/// It has ended.
pub(crate) fn forget(file: &Path) {
    seen().remove(file);
}

/// A file by the one name it goes by here.
pub(crate) fn key(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

fn seen() -> MutexGuard<'static, BTreeMap<PathBuf, Seen>> {
    // Nothing that can panic runs under this lock.
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}
