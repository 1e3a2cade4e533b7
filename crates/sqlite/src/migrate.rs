//! The layout of the file, in numbered steps.
//!
//! A file older than this program is brought up to date when it is opened, under the write lock, all steps or none;
//! a newer one is refused by name and left alone.

use crate::fault::{Done, Fault};
use crate::sql;
use rusqlite::Connection;
use tenure_core::Time;

/// Name and text of each step, in order; its number is its place, from 1. Never edited once released.
const MIGRATIONS: &[(&str, &str)] = &[
    ("queue", include_str!("../migrations/0001_queue.sql")),
    ("schedule", include_str!("../migrations/0002_schedule.sql")),
    ("domain", include_str!("../migrations/0003_domain.sql")),
    ("sync", include_str!("../migrations/0004_sync.sql")),
    ("pipeline", include_str!("../migrations/0005_pipeline.sql")),
];

/// The last step this program knows.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Brings the file up to date.
pub(crate) fn migrate(conn: &mut Connection, now: Time) -> Done<()> {
    // Most openings find nothing to do and should not wait for a writer.
    if applied(conn)? == KNOWN {
        return Ok(());
    }
    let tx = crate::connection::immediate(conn)?;
    // Read again under the lock: another process may have been first.
    let found = applied(&tx)?;
    tx.execute(sql::SCHEMA_CREATE, [])?;
    for (version, (name, text)) in (1..).zip(MIGRATIONS) {
        if version > found {
            tx.execute_batch(text)?;
            tx.execute(sql::SCHEMA_RECORD, (version, name, now.0))?;
        }
    }
    Ok(tx.commit()?)
}

/// Refuses a file that would have to be laid out or brought up to date first.
pub(crate) fn check_applied(conn: &Connection) -> Done<()> {
    match applied(conn)? {
        KNOWN => Ok(()),
        0 => Err(Fault::Absent("none of its tables are Tenure's".to_owned())),
        found => Err(Fault::Older(found, KNOWN)),
    }
}

/// Refuses a file that this program has not brought up to date.
pub(crate) fn check(conn: &Connection) -> Done<()> {
    match applied(conn)? {
        KNOWN => Ok(()),
        0 => Err(Fault::broken("there is no work queue in this file yet: open it with SqliteStore::open first")),
        found => {
            Err(Fault::broken(format!("its layout is {found}, and {KNOWN} is needed: open it with SqliteStore first")))
        }
    }
}

/// The last step that was applied, if this program knows it.
pub(crate) fn applied(conn: &Connection) -> Done<i64> {
    let begun: bool = conn.query_row(sql::SCHEMA_EXISTS, [], |row| row.get(0))?;
    let found = if begun { conn.query_row(sql::SCHEMA, [], |row| row.get::<_, Option<i64>>(0))? } else { None };
    match found.unwrap_or(0) {
        found if found > KNOWN => Err(Fault::Newer(found, KNOWN)),
        found => Ok(found),
    }
}
