//! What `tenure doctor` finds on an SQLite file.

use crate::SqliteStore;
use crate::address::Place;
use crate::connection::wal;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::migrate;
use crate::savepoint::readable;
use std::path::Path;
use tenure_core::queue::JobId;
use tenure_store::{Finding, Level, Result};

/// A log this long means that a reader has kept it from being brought home (C13).
const WAL_BYTES: u64 = 256 << 20;
/// Room for a busy day.
const FREE_BYTES: u64 = 1 << 30;
/// Above this, looking through every page takes minutes.
const CHECKED_BYTES_MAX: u64 = 4 << 30;
/// Rows of each kind that are read one by one.
const ROWS_READ: i64 = 100_000;
/// Damaged rows that are named.
const DAMAGED_NAMED: usize = 5;
/// File systems that come over a network, by the number the kernel gives them: NFS, SMB, SMB2, CIFS, Ceph, 9p.
const NETWORK: [i64; 6] = [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x00c3_6400, 0x0102_1997];

pub(crate) async fn examine(store: &SqliteStore) -> Result<Vec<Finding>> {
    let Place::File(path) = &store.place else {
        let advice = "use sqlite:FILE for work that must survive this process";
        return Ok(vec![Finding::advise("durability", Level::Warning, "in memory", advice)]);
    };
    let waits = store.lock_waits();
    let mut findings = store
        .write(1, |step| {
            let number = |name| step.conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let journal: String = step.conn.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
            Ok(vec![durability(number("synchronous")?, &journal), schema(migrate::applied(step.conn)?)])
        })
        .await?;
    findings.push(lock(store.lock_waits() - waits));
    let path = path.clone();
    let files = tokio::task::spawn_blocking(move || files(&path)).await;
    findings.extend(files.map_err(Fault::broken)?);
    let checked = std::fs::metadata(path_of(store)).map_or(0, |found| found.len());
    findings.push(if checked > CHECKED_BYTES_MAX {
        let found = format!("{} MiB, not looked through", checked >> 20);
        Finding::advise("pages", Level::Note, found, "run `pragma quick_check` in a quiet hour")
    } else {
        store
            .read(|step| {
                let found: String = step.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
                Ok(pages(&found))
            })
            .await?
    });
    if checked <= CHECKED_BYTES_MAX {
        findings.push(store.read(rows).await?);
    }
    Ok(findings)
}

/// Whether the jobs that wait can be read, and the units of pipelines: what damages a row is not always what damages a page.
fn rows(step: &Step<'_>) -> Done<Finding> {
    let ids = |sql: &str| -> Done<Vec<i64>> {
        let mut select = step.conn.prepare(sql)?;
        let ids = select.query_map([ROWS_READ], |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    };
    let mut damaged = Vec::new();
    let jobs = ids("SELECT id FROM tenure_job WHERE place <> 2 ORDER BY id LIMIT ?1")?;
    for id in &jobs {
        if let Err(fault) = readable(crate::queue::read::job(step, JobId(*id)))? {
            damaged.push(format!("job {id} ({fault})"));
        }
    }
    let units = ids("SELECT id FROM tenure_unit WHERE status <> 'RUNNING' ORDER BY id LIMIT ?1")?;
    for id in &units {
        if let Err(fault) = readable(crate::pipeline::readable_unit(step, *id))? {
            damaged.push(format!("unit {id} of a pipeline ({fault})"));
        }
    }
    if damaged.is_empty() {
        return Ok(Finding::fine("rows", format!("{} that wait, all readable", jobs.len() + units.len())));
    }
    let more = damaged.len().saturating_sub(DAMAGED_NAMED);
    damaged.truncate(DAMAGED_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let advice = "claims pass over them: mend or remove them by hand, or restore a backup; they are tried again when the \
                  store is opened next";
    Ok(Finding::advise("rows", Level::Wrong, format!("cannot be read: {}{more}", damaged.join(", ")), advice))
}

fn path_of(store: &SqliteStore) -> &Path {
    match &store.place {
        Place::File(path) => path,
        Place::Memory => Path::new(""),
    }
}

fn durability(synchronous: i64, journal: &str) -> Finding {
    let mode = ["off", "normal", "full", "extra"].get(usize::try_from(synchronous).unwrap_or(0)).unwrap_or(&"off");
    let found = format!("journal {journal}, synchronous {mode}");
    match synchronous {
        0 => {
            let advice = "leave `synchronous` out of the store address: a power failure may damage the file";
            Finding::advise("durability", Level::Wrong, found, advice)
        }
        1 => {
            let advice = "a power failure may lose the last moments of what was answered; `full` does not";
            Finding::advise("durability", Level::Warning, found, advice)
        }
        _ => Finding::fine("durability", found),
    }
}

fn schema(found: i64) -> Finding {
    Finding::fine("schema", format!("SQLite {}, schema version {found} of {}", rusqlite::version(), migrate::KNOWN))
}

fn lock(waits: u64) -> Finding {
    if waits == 0 {
        return Finding::fine("write lock", "free");
    }
    let advice = "a long write transaction of another program on this file holds up heartbeats too: keep them short";
    Finding::advise("write lock", Level::Warning, format!("taken; {waits} tries until it was free"), advice)
}

fn files(path: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let wal_bytes = std::fs::metadata(wal(path)).map_or(0, |wal| wal.len());
    findings.push(if wal_bytes > WAL_BYTES {
        let found = format!("{} MiB", wal_bytes >> 20);
        let advice = "a reader has kept its snapshot open for long: find the program that does, and end it";
        Finding::advise("write-ahead log", Level::Warning, found, advice)
    } else {
        Finding::fine("write-ahead log", format!("{} KiB", wal_bytes >> 10))
    });
    findings.push(readers(path));
    if let Ok(stat) = rustix::fs::statfs(path) {
        findings.push(file_system(stat.f_type));
        findings.push(room(stat.f_bavail * stat.f_bsize as u64));
    }
    findings
}

fn readers(path: &Path) -> Finding {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o777);
    let found = format!("mode {mode:o}");
    if mode & 0o077 == 0 {
        return Finding::fine("permissions", found);
    }
    let advice = format!("others on this machine can read the payloads: chmod 600 {}", path.display());
    Finding::advise("permissions", Level::Warning, found, advice)
}

fn file_system(kind: i64) -> Finding {
    if NETWORK.contains(&kind) {
        let advice =
            "put the file on a local disk: locks over a network are not reliable; use PostgreSQL for many machines";
        return Finding::advise("file system", Level::Wrong, "on a network", advice);
    }
    Finding::fine("file system", "local")
}

fn room(bytes: u64) -> Finding {
    let found = format!("{} MiB free", bytes >> 20);
    if bytes > FREE_BYTES {
        return Finding::fine("disk", found);
    }
    Finding::advise("disk", Level::Warning, found, "make room: a full disk refuses new work until there is some")
}

fn pages(found: &str) -> Finding {
    if found == "ok" {
        return Finding::fine("pages", "every one was looked at, and they hang together");
    }
    let advice = "restore the file from a backup, then run `tenure store new-epoch`";
    Finding::advise("pages", Level::Wrong, found.replace('\n', " "), advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_promise_is_wrong_and_what_may_hurt_is_a_warning() {
        let level = |finding: Finding| finding.level;
        assert_eq!([0, 1, 2].map(|mode| level(durability(mode, "wal"))), [Level::Wrong, Level::Warning, Level::Fine]);
        assert_eq!(level(file_system(0x6969)), Level::Wrong);
        assert_eq!(level(file_system(0xef53)), Level::Fine);
        assert_eq!([level(room(1 << 20)), level(room(1 << 40))], [Level::Warning, Level::Fine]);
        assert_eq!([level(lock(0)), level(lock(3))], [Level::Fine, Level::Warning]);
        assert_eq!([level(pages("ok")), level(pages("row 1 missing"))], [Level::Fine, Level::Wrong]);
    }
}
