//! A folder for one demo, removed with it.

use crate::failure::Failure;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Removed on drop, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    pub(super) fn make() -> Result<Folder, Failure> {
        let drawn = tenure::worker_name();
        let drawn = drawn.rsplit(':').next().unwrap_or_default();
        let path = std::env::temp_dir().join(format!("tenure-demo-{}-{drawn}", std::process::id()));
        // Refuses what is there already, and lets nobody else in.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Failure::unavailable(format!("cannot make a folder at {}: {error}", path.display())))?;
        Ok(Folder { path, keep: false })
    }

    /// Leaves it where it is.
    pub(super) fn keep(&mut self) {
        self.keep = true;
    }

    /// The store in it.
    pub(super) fn url(&self) -> String {
        format!("sqlite:{}", self.path.join("demo.db").display())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // Best effort: there is nobody left to tell.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
