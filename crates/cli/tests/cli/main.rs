//! The binary, as a shell runs it.

mod absent;
mod actors;
mod addresses;
mod care;
mod commands;
mod demo;
mod domains;
mod escapes;
mod operate;
mod pipelines;
mod roles;
mod schedule;
mod serve;
mod sync;
mod work;

use assert_cmd::Command;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Who runs programs without privileges, where the tests themselves are run by root: `nobody`.
const NOBODY: u32 = 65_534;

/// The binary for somebody without privileges. Root's own build folder may be closed to others: there it is copied.
struct Unprivileged {
    binary: PathBuf,
    _folder: TempDir,
}

impl Unprivileged {
    /// Gives the folder of `place`, and all that is in it, to them.
    fn of(place: &Place) -> Unprivileged {
        let folder = tempfile::tempdir().unwrap();
        let mut binary = assert_cmd::cargo::cargo_bin("tenure");
        if rustix::process::geteuid().is_root() {
            let copy = folder.path().join("tenure");
            std::fs::hard_link(&binary, &copy).or_else(|_| std::fs::copy(&binary, &copy).map(drop)).unwrap();
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
            binary = copy;
            given(place.folder.path());
        }
        Unprivileged { binary, _folder: folder }
    }

    /// `tenure ARGS` in the folder of `place`.
    fn tenure(&self, place: &Place, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.binary);
        command.args(args).current_dir(&place.folder).env("TENURE_STORE", place.store()).env("TENURE_LOG", "off");
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

fn given(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| given(&entry.unwrap().path()));
    }
}

/// A folder of its own with an SQLite store in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.folder.path().join("tenure.db").display())
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// `tenure ARGS` on the store of this place, from inside its folder.
    fn tenure(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("tenure").unwrap();
        command.current_dir(&self.folder).env("TENURE_STORE", self.store()).env_remove("TENURE_LOG").args(args);
        command
    }

    /// What `tenure ARGS` prints to stdout when it succeeds.
    fn out(&self, args: &[&str]) -> String {
        let output = self.tenure(args).assert().success().get_output().clone();
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let printed = self.out(&[args, &["--json"]].concat());
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
    }

    /// What `tenure ARGS` says on stderr when it ends with `exit`; stdout must stay empty.
    fn refused(&self, args: &[&str], exit: i32) -> String {
        self.refused_with(args, "", exit)
    }

    fn refused_with(&self, args: &[&str], stdin: &str, exit: i32) -> String {
        let output = self.tenure(args).write_stdin(stdin).assert().get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(!said.contains('\u{1b}'), "{args:?}: {said:?}");
        said
    }
}
