//! Whether the file we write is still the file that others would open (C17).
//!
//! A file that was deleted, moved or replaced can still be read and written, and every answer would be lost with the
//! process. So the names are looked up again, two system calls each time: before anything is read or written, where
//! nothing was changed; and after a commit, before anyone is answered, where nobody can say any more what it was worth.
//!
//! A file with a second name (a hard link) has a second WAL, and whoever opens it under the other name sees nothing of
//! this one. So it is not used before it has one name again; symbolic links lead to the one name, and are fine.

use crate::connection::wal;
use crate::fault::{Done, Fault};
use std::path::{Path, PathBuf};

/// The files of one open database.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    files: [(PathBuf, Option<FileId>); 2],
}

/// Device and number: what stays when a file is renamed, and changes when it is replaced.
type FileId = (u64, u64);

/// What a name leads to.
struct Found {
    id: FileId,
    /// How many names the file has.
    names: u64,
}

impl Identity {
    /// The database at `path` as it is now.
    pub(crate) fn of(path: &Path) -> Identity {
        Identity { files: [path.to_owned(), wal(path)].map(|path| (path, None)) }
    }

    /// Refuses to begin if a name leads elsewhere than the first time, or the database has another name now. Nothing was
    /// changed.
    pub(crate) fn check(&mut self) -> Done<()> {
        let names = self.check_same()?;
        if names <= 1 {
            return Ok(());
        }
        Err(Fault::Gone(format!("{} {}", self.files[0].0.display(), several(names))))
    }

    /// Refuses to go on if a name leads elsewhere than the first time; else how many names the database has. What was
    /// committed while it got another is where it belongs: nobody could open it under that one.
    pub(crate) fn check_same(&mut self) -> Done<u64> {
        let mut names = 1;
        for (at, (path, known)) in self.files.iter_mut().enumerate() {
            let found = look(path);
            if let (0, Some(found)) = (at, &found) {
                names = found.names;
            }
            let found = found.map(|found| found.id);
            match known {
                None => *known = found,
                Some(_) if *known == found => {}
                Some(_) => {
                    let what = if found.is_none() { "deleted or moved" } else { "replaced" };
                    return Err(Fault::Gone(format!(
                        "{} was {what} while it was in use; put it back, or begin anew with what is there",
                        path.display()
                    )));
                }
            }
        }
        Ok(names)
    }
}

/// What is wrong with a file that has several names, if it has.
pub(crate) fn several_names(path: &Path) -> Option<String> {
    look(path).filter(|found| found.names > 1).map(|found| several(found.names))
}

fn several(names: u64) -> String {
    format!(
        "has {names} names (hard links), each with a write-ahead log of its own: what is written under one is lost \
         under another; remove the other names, or put a copy in the place of this one"
    )
}

/// Whether both names lead to one file.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    match (look(one), look(other)) {
        (Some(one), Some(other)) => one.id == other.id,
        _ => one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other)),
    }
}

#[cfg(unix)]
fn look(path: &Path) -> Option<Found> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| Found { id: (found.dev(), found.ino()), names: found.nlink() })
}

/// Elsewhere an open file cannot be deleted or replaced.
#[cfg(not(unix))]
fn look(_path: &Path) -> Option<Found> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use crate::{SqliteStore, queue};
    use tenure_core::queue::NewJob;
    use tenure_store::{Outcome, StoreError};

    /// What was committed to a file that went away meanwhile is neither called done nor undone.
    #[tokio::test]
    async fn c17_a_file_that_goes_while_it_is_written_leaves_the_outcome_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tenure.db");
        let store = SqliteStore::open(&format!("sqlite:{}", path.display())).await.unwrap();
        let written = store.write(1, move |step| {
            std::fs::remove_file(&path).unwrap();
            queue::enqueue::enqueue(step, &[NewJob::new("q", "kind", "{}")])
        });
        let error = written.await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { outcome: Outcome::Unknown, .. }), "{error}");
    }
}
