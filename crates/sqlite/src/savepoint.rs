//! Work whose failure undoes nothing but itself.

use crate::fault::{Done, Fault};
use rusqlite::Connection;

/// Does `work` inside a savepoint. A fault of the database undoes it and is passed on; an inner `Err` undoes it and
/// is the answer.
pub(crate) fn apart<T, E>(conn: &Connection, work: impl FnOnce() -> Done<Result<T, E>>) -> Done<Result<T, E>> {
    execute(conn, "SAVEPOINT apart")?;
    let done = work();
    // After some faults SQLite has rolled back everything, the savepoint too.
    if conn.is_autocommit() {
        return done.and(Err(Fault::broken("the transaction ended inside a step")));
    }
    if !matches!(done, Ok(Ok(_))) {
        execute(conn, "ROLLBACK TO apart")?;
    }
    execute(conn, "RELEASE apart")?;
    done
}

/// What is wrong with some rows, apart from what is wrong with the database.
pub(crate) fn readable<T>(done: Done<T>) -> Done<Result<T, String>> {
    match done {
        Ok(value) => Ok(Ok(value)),
        Err(Fault::Broken(fault)) => Ok(Err(fault)),
        Err(fault) => Err(fault),
    }
}

/// Runs a statement without parameters.
pub(crate) fn execute(conn: &Connection, sql: &str) -> Done<()> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}
