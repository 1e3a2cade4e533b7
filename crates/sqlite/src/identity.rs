//! Whether the file we write is still the file that others would open (C17).
//!
//! A file that was deleted or replaced can still be written to, and every answer would be lost with the process. So
//! after each commit, before anyone is answered, the names are looked up again; it costs two system calls.

use crate::connection::wal;
use crate::fault::{Done, Fault};
use std::path::{Path, PathBuf};

/// The files of one open database.
#[derive(Debug)]
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

    /// Refuses to go on if a name leads elsewhere than the first time.
    pub(crate) fn check(&mut self) -> Done<()> {
        for (path, known) in &mut self.files {
            let found = file_id(path);
            match known {
                None => *known = found,
                Some(_) if *known == found => {}
                Some(_) => {
                    let what = if found.is_none() { "deleted" } else { "replaced" };
                    return Err(Fault::broken(format!("{} was {what} while it was in use", path.display())));
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
