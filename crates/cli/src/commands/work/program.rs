//! The program of a worker: found, and known to be one, before the first job is claimed.

use crate::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is run for each job: fixed here, once, from the command line alone.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Where it runs.
    pub(super) folder: PathBuf,
}

impl Program {
    /// Looks for `name` as a shell would: in the folders of PATH, or, with a slash in it, where it says.
    pub(super) fn find(name: &OsStr, arguments: &[OsString], folder: &Path) -> Result<Program, Failure> {
        let at = |path: &Path, error| Failure::unreadable(&path.display().to_string(), &error);
        let folder = folder.canonicalize().map_err(|error| at(folder, error))?;
        if !folder.is_dir() {
            return Err(at(&folder, io::Error::from(io::ErrorKind::NotADirectory)));
        }
        let path = if Path::new(name).components().count() > 1 || name.as_encoded_bytes().contains(&b'/') {
            let path = std::path::absolute(name).map_err(|error| at(Path::new(name), error))?;
            let found = path.metadata().map_err(|error| at(&path, error))?;
            if !executable(&found) {
                return Err(Failure::not_allowed(format!("{} is not an executable file", path.display())));
            }
            path
        } else {
            on_path(name)?
        };
        Ok(Program { path, arguments: arguments.to_vec(), folder })
    }
}

fn on_path(name: &OsStr) -> Result<PathBuf, Failure> {
    let path = super::environment::path();
    let mut refused = None;
    for folder in std::env::split_paths(&path) {
        let candidate = folder.join(name);
        match candidate.metadata() {
            Ok(found) if executable(&found) => {
                return std::path::absolute(&candidate)
                    .map_err(|error| Failure::unreadable(&candidate.display().to_string(), &error));
            }
            Ok(found) if found.is_file() => refused = Some(candidate),
            _ => {}
        }
    }
    let name = name.to_string_lossy();
    Err(match refused {
        Some(file) => Failure::not_allowed(format!("{} is not an executable file", file.display())),
        None => Failure::missing(format!("there is no program {name} in the folders of PATH")),
    })
}

fn executable(found: &Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}
