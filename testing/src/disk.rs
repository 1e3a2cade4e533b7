//! A file system of a chosen size, for tests of a disk that runs full.
//!
//! It is a real one (tmpfs), so that the database meets the kernel's own "no space left on device" and nothing imitates
//! it. Mounting takes root; without it there is an error that says so, never a test that passes unseen.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::janitor::Janitor;
use crate::server::{ServerError, new_folder};

/// A folder that holds no more than its size, open to the private servers; unmounted on drop, or when this process ends.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
    janitor: Janitor,
}

impl SmallDisk {
    /// Mounts a new, empty file system of `mebibytes`.
    ///
    /// # Errors
    ///
    /// [`ServerError::Mount`] where mounting is not allowed.
    pub fn mount(mebibytes: u32) -> Result<Self, ServerError> {
        let folder = new_folder()?;
        let mut unmount = Command::new("umount");
        // Lazily: the server that writes there may end a moment later than its owner.
        unmount.arg("--lazy").arg(&folder);
        let janitor = Janitor::hire(&folder, &unmount).map_err(ServerError::io("start `sh`"))?;
        let disk = Self { folder, janitor };
        disk.mount_with(&format!("size={mebibytes}m,mode=0700"))?;
        Account::current().give(&disk.folder).map_err(ServerError::io("hand the disk to nobody"))?;
        Ok(disk)
    }

    /// Gives it another size, as an operator would who adds room.
    ///
    /// # Errors
    ///
    /// [`ServerError::Mount`] if the kernel refuses.
    pub fn resize(&self, mebibytes: u32) -> Result<(), ServerError> {
        self.mount_with(&format!("remount,size={mebibytes}m"))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn mount_with(&self, options: &str) -> Result<(), ServerError> {
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&self.folder)
            .output()
            .map_err(ServerError::io("run mount"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(ServerError::Mount { reason: String::from_utf8_lossy(&output.stderr).trim_end().to_owned() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Err(error) = self.janitor.clean_up() {
            eprintln!("tenure-testing: {} may stay mounted: {error}", self.folder.display());
        }
    }
}
