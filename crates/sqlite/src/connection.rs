//! Connections: how the file is opened, and what is refused before anything is written to it.
//!
//! Always true: a file that is not ours to use, not a database, or damaged where we looked is refused with one line and
//! left as it was; a file we create can be read by its owner only.

use crate::address::{Place, SqliteOptions};
use crate::fault::{Done, Fault, busy};
use crate::identity::several_names;
use crate::migrate;
use crate::patience::{LOCK_WAIT_MAX, Patience};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// 3.51.3 mends a race of checkpoints that could corrupt the file (C15).
const VERSION_FLOOR: (i32, &str) = (3_051_003, "3.51.3");
/// Pages of WAL (4 KiB each) after which a commit also writes them back: often enough to stay small, seldom enough
/// that pages which change in every commit are written back once for many.
const CHECKPOINT_PAGES: i64 = 4_000;
/// What is kept of the WAL once a long reader has let go of it (C13).
const WAL_BYTES_KEPT: i64 = 64 << 20;
/// Page cache of the writer, in KiB; taken only as it is needed.
const WRITER_CACHE_KIB: i64 = 32 << 10;
/// Page cache of each reader, in KiB.
const READER_CACHE_KIB: i64 = 4 << 10;
/// Statements kept prepared: more than there are in `queries/`.
const STATEMENTS_KEPT: usize = 320;
/// Readers wait only while another process mends the WAL after a crash.
const READER_WAIT: Duration = Duration::from_secs(10);

/// Files up to here are looked through when they are opened, in some ten milliseconds; larger ones only by `doctor`.
const CHECKED_BYTES_MAX: u64 = 8 << 20;

/// Refuses a SQLite that is older than the floor.
pub(crate) fn check_version(number: i32, version: &str) -> Done<()> {
    if number >= VERSION_FLOOR.0 {
        return Ok(());
    }
    Err(Fault::Denied(format!("SQLite {version} is in use, and {} or newer is needed", VERSION_FLOOR.1)))
}

/// The connection that writes. Creates the file if there is none, unless `options` say otherwise.
pub(crate) fn writer(place: &Place, options: &SqliteOptions) -> Done<Connection> {
    check_version(rusqlite::version_number(), rusqlite::version())?;
    let conn = match place {
        Place::Memory => Connection::open_in_memory()?,
        Place::File(path) => {
            prepare_file(path, options.create)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(path, flags)?
        }
    };
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // While it is being opened any statement may meet a process that mends the WAL, or that lays the file out.
    conn.busy_timeout(LOCK_WAIT_MAX)?;
    patiently(|| Ok(conn.pragma_query(None, "schema_version", |_| Ok(()))?))?;
    if let Place::File(path) = place {
        check_pages(&conn, path)?;
    }
    if options.create && matches!(place, Place::File(_)) {
        let journal: String =
            patiently(|| Ok(conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?))?;
        if journal != "wal" {
            let why = format!("its journal cannot be WAL, only {journal}; is it on a network file system?");
            return Err(Fault::Denied(why));
        }
    }
    conn.pragma_update(None, "synchronous", options.synchronous.as_str())?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    conn.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    conn.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    conn.pragma_update(None, "temp_store", "memory")?;
    common(&conn)?;
    Ok(conn)
}

/// A connection that only reads, beside an open writer.
pub(crate) fn reader(path: &Path) -> Done<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    conn.busy_timeout(READER_WAIT)?;
    conn.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    common(&conn)?;
    Ok(conn)
}

fn common(conn: &Connection) -> Done<()> {
    // A mapped page is not checked when it is read, and a stray write through the map would damage the file.
    conn.pragma_update(None, "mmap_size", 0)?;
    conn.pragma_update(None, "foreign_keys", false)?;
    // A plan depends on the statement alone. Otherwise SQLite plans anew for every value bound, at a quarter of the
    // cost of a small claim.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A damaged page is met as an error, not as nonsense (C16).
    conn.pragma_update(None, "cell_size_check", true)?;
    Ok(conn.pragma_update(None, "trusted_schema", false)?)
}

/// Begins a transaction, waiting for whoever holds the write lock.
pub(crate) fn immediate(conn: &mut Connection) -> Done<Transaction<'_>> {
    let conn = &*conn;
    patiently(|| Ok(Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?))
}

/// Tries again while another process holds the file.
fn patiently<T>(mut attempt: impl FnMut() -> Done<T>) -> Done<T> {
    let mut patience = Patience::new(LOCK_WAIT_MAX);
    loop {
        match attempt() {
            Err(Fault::Busy(_)) if patience.pause() => {}
            other => return other,
        }
    }
}

/// From now on the writer waits for the lock in a loop of its own ([`begin`]), which counts and spreads its tries.
pub(crate) fn opened(writer: &Connection) -> Done<()> {
    Ok(writer.busy_timeout(Duration::ZERO)?)
}

/// Begins the writer's transaction; `waited` is told after each try that found the lock taken how long it has been, and
/// answers whether to go on.
pub(crate) fn begin(conn: &Connection, mut waited: impl FnMut(Duration) -> bool) -> Done<()> {
    let mut begin = conn.prepare_cached("BEGIN IMMEDIATE")?;
    let mut patience = Patience::new(LOCK_WAIT_MAX);
    loop {
        match begin.execute([]) {
            Ok(_) => return Ok(()),
            Err(error) if busy(&error) => {
                if !waited(patience.waited()) || !patience.pause() {
                    let seconds = patience.waited().as_secs();
                    return Err(Fault::Busy(format!(
                        "another transaction has held the write lock for {seconds} s; if it is one of this program's \
                         own, end it before other calls, or take part in it with `enqueue_in` and its siblings"
                    )));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes sure that `path` is a file of ours, or an empty one that only we may read; unless it may `create` one, that it is
/// a store already.
fn prepare_file(path: &Path, create: bool) -> Done<()> {
    let denied = |why: &dyn std::fmt::Display| Err(Fault::Denied(why.to_string()));
    check_beside(path)?;
    if create && create_file(path)? {
        // Whoever moved the file away since it was looked for has left its log. The empty one in its place does no harm,
        // and is not removed: it may be the right one again by now.
        return check_beside(path);
    }
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound && !create => {
            return Err(Fault::Absent("no such file".to_owned()));
        }
        Err(error) => return denied(&error),
    };
    if !found.is_file() {
        return denied(&if found.is_dir() { "it is a directory" } else { "it is not a plain file" });
    }
    // SQLite would open it read-only and fail at the first write.
    if let Err(error) = OpenOptions::new().read(true).write(true).open(path) {
        return denied(&error);
    }
    if let Some(several) = several_names(path) {
        return denied(&format_args!("it {several}"));
    }
    check_beside(path)?;
    match (create, found.len()) {
        (true, _) => Ok(()),
        (false, 0) => Err(Fault::Absent("the file is empty".to_owned())),
        (false, _) => migrate::check_applied(&glance(path)?),
    }
}

/// Whether the file was made now: one that only we may read.
fn create_file(path: &Path) -> Done<bool> {
    let mut create = OpenOptions::new();
    create.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    match create.open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Fault::Denied("its directory does not exist".to_owned()))
        }
        Err(error) => Err(Fault::Denied(error.to_string())),
    }
}

/// A connection for a look at a file that may be anybody's: it leaves nothing behind, in the file or beside it.
///
/// A file in WAL mode gets a log and an index as soon as it is read, and a connection that may only read leaves them
/// there. Where there is no log nobody has the file open and all of it is in it, so it can be read as one that does not
/// change.
fn glance(path: &Path) -> Done<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = if in_wal_mode(path) && !wal(path).exists() {
        let encoded: String = path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("%{byte:02x}")).collect();
        Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    conn.busy_timeout(READER_WAIT)?;
    Ok(conn)
}

/// Whether a database says of itself that it is read and written with a WAL.
fn in_wal_mode(path: &Path) -> bool {
    // The version that a reader must know is the 20th byte.
    let mut head = [0; 20];
    let mut read = || std::fs::File::open(path)?.read_exact(&mut head);
    read().is_ok() && head[19] == 2
}

/// Refuses a database that is missing or empty beside a log of it that is not. SQLite would take it for a new one and
/// delete the log, which may hold all that is left, or what was committed last (C16).
fn check_beside(path: &Path) -> Done<()> {
    // The log is looked at first: whoever lays a new file out writes to that before there is anything in a log.
    let Some(log) = log_beside(path) else { return Ok(()) };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Fault::broken(format!(
            "it is not there, but its {log} file is, and what was committed last may be in that alone; put it back, or, \
             to begin anew, move that away too"
        ))),
        Ok(found) if found.len() == 0 && found.is_file() => {
            Err(Fault::broken(format!("it is empty, but its {log} file is not; restore it from a backup")))
        }
        _ => Ok(()),
    }
}

/// Which log beside a database has something of it.
fn log_beside(path: &Path) -> Option<&'static str> {
    if std::fs::metadata(wal(path)).is_ok_and(|wal| wal.len() > 0) {
        return Some("-wal");
    }
    undoes_pages(&beside(path, "-journal")).then_some("-journal")
}

/// Whether a rollback journal was begun when the database had pages already. That of a new file brings nothing back: it
/// is there while the file is laid out, and after a crash in the middle of that.
fn undoes_pages(journal: &Path) -> bool {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    // Magic, records, nonce, pages.
    let mut head = [0; 20];
    let mut read = || std::fs::File::open(journal)?.read_exact(&mut head);
    std::fs::metadata(journal).is_ok_and(|found| found.is_file())
        && read().is_ok()
        && head[..8] == MAGIC
        && head[16..] != [0; 4]
}

/// Refuses a small file whose pages do not hang together (C16), before anything is written to it.
fn check_pages(conn: &Connection, path: &Path) -> Done<()> {
    if std::fs::metadata(path).is_ok_and(|found| found.len() > CHECKED_BYTES_MAX) {
        return Ok(());
    }
    let found: String = patiently(|| Ok(conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?))?;
    if found == "ok" { Ok(()) } else { Err(Fault::broken(found.replace('\n', " "))) }
}

/// The write-ahead log beside a database: beside the file itself, where `path` is a link to it.
pub(crate) fn wal(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c15_an_sqlite_below_the_floor_is_refused() {
        let refused = check_version(3_050_004, "3.50.4").unwrap_err();
        assert!(matches!(refused, Fault::Denied(why) if why.contains("3.50.4") && why.contains("3.51.3")));
        check_version(rusqlite::version_number(), rusqlite::version()).unwrap();
    }
}
