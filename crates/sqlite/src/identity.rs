//! Whether the file we write is still the file that others would open (C17).
//!
//! A file that was deleted, moved or replaced can still be read and written, and every answer would be lost with the
//! process. So the names are looked up again, two system calls each time: before anything is read or written, where
//! nothing was changed; and after a commit, before anyone is answered, where nobody can say any more what it was worth.

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

impl Identity {
    /// The database at `path` as it is now.
    pub(crate) fn of(path: &Path) -> Identity {
        Identity { files: [path.to_owned(), wal(path)].map(|path| (path, None)) }
    }

    /// Refuses to go on if a name leads elsewhere than the first time. Nothing was changed.
    pub(crate) fn check(&mut self) -> Done<()> {
        for (path, known) in &mut self.files {
            let found = file_id(path);
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
        Ok(())
    }
}

/// Whether both names lead to one file.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    match (file_id(one), file_id(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other)),
    }
}

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Elsewhere an open file cannot be deleted or replaced.
#[cfg(not(unix))]
fn file_id(_path: &Path) -> Option<FileId> {
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
