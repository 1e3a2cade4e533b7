//! Where PostgreSQL's programs and the pooler are.
//!
//! `$PG_BIN`, else the newest Debian installation, else root installs Debian's package; whoever is not root is told in
//! one line what to install. PgBouncer likewise: `$PGBOUNCER`, else Debian's, else root installs it. An install never
//! leaves the distribution's own cluster or pooler running: they would take memory and ports 5432 and 6432 on a machine
//! that asked for neither.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::account::Account;

/// Where Debian keeps one folder per major version.
const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

/// Read by Debian's package while it installs; see `create_main_cluster` in pg_createcluster(1).
const CREATE_CLUSTER_FOLDER: &str = "/etc/postgresql-common/createcluster.d";

/// What a server needs: to make its data folder, to run, and to be stopped by someone who is not its parent.
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_ctl"];

/// Where Debian puts the pooler.
const DEBIAN_POOLER: &str = "/usr/sbin/pgbouncer";

/// Asked by Debian's packages whether they may start what they installed; see policy-rc.d in invoke-rc.d(8).
const START_POLICY: &str = "/usr/sbin/policy-rc.d";

/// Why no PostgreSQL, or no pooler, can be used on this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallationError {
    /// Nothing found, and not allowed to install.
    #[error(
        "no PostgreSQL found: install it (Debian: `apt-get install postgresql`) or set PG_BIN to the folder of `initdb`"
    )]
    Absent,
    /// No pooler found, and not allowed to install.
    #[error("no PgBouncer found: install it (Debian: `apt-get install pgbouncer`) or set PGBOUNCER to the program")]
    PoolerAbsent,
    /// The folder lacks a program. Debian's client package, for one, has neither `initdb` nor `postgres`.
    #[error("{} has no `{program}`: PG_BIN must name the folder of the server's programs", folder.display())]
    Incomplete {
        /// The folder looked into.
        folder: PathBuf,
        /// The program it lacks.
        program: &'static str,
    },
    /// Debian's package could not be installed.
    #[error("`{command}` failed: {reason}")]
    Install {
        /// The command, as one could type it.
        command: String,
        /// Its closing lines, or why it did not run.
        reason: String,
    },
}

/// The folder of PostgreSQL's programs, `psql` among them; root installs them where they are missing.
///
/// # Errors
///
/// See [`InstallationError`].
pub fn programs() -> Result<PathBuf, InstallationError> {
    find_or_install(Account::current() == Account::Nobody)
}

/// The folder of PostgreSQL's programs; installs them if `may_install`.
pub(crate) fn find_or_install(may_install: bool) -> Result<PathBuf, InstallationError> {
    if let Some(folder) = std::env::var_os("PG_BIN").filter(|folder| !folder.is_empty()) {
        return complete(PathBuf::from(folder));
    }
    if let Some(folder) = newest(Path::new(DEBIAN_VERSIONS)) {
        return Ok(folder);
    }
    if !may_install || !Path::new("/usr/bin/apt-get").exists() {
        return Err(InstallationError::Absent);
    }
    eprintln!("tenure-testing: no PostgreSQL found, installing Debian's package");
    install()?;
    newest(Path::new(DEBIAN_VERSIONS)).ok_or(InstallationError::Absent)
}

/// Makes sure that there is a pooler for the tests that want one, by installing it where that is allowed.
///
/// # Errors
///
/// See [`InstallationError`].
pub fn install_pooler() -> Result<(), InstallationError> {
    find_or_install_pooler(rustix::process::geteuid().is_root()).map(drop)
}

/// PgBouncer's program; installs it if `may_install`.
pub(crate) fn find_or_install_pooler(may_install: bool) -> Result<PathBuf, InstallationError> {
    let named = std::env::var_os("PGBOUNCER").filter(|program| !program.is_empty()).map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from(DEBIAN_POOLER));
    if program.is_file() {
        return Ok(program);
    }
    if program != Path::new(DEBIAN_POOLER) || !may_install || !Path::new("/usr/bin/apt-get").exists() {
        return Err(InstallationError::PoolerAbsent);
    }
    eprintln!("tenure-testing: no PgBouncer found, installing Debian's package");
    let failed = |error: io::Error| InstallationError::Install {
        command: format!("write {START_POLICY}"),
        reason: error.to_string(),
    };
    let _not_started = NotStarted::ask().map_err(failed)?;
    let _no_cluster = NoMainCluster::ask().map_err(failed)?;
    apt_get(&["update"])?;
    apt_get(&["install", "--yes", "--no-install-recommends", "pgbouncer"])?;
    if program.is_file() { Ok(program) } else { Err(InstallationError::PoolerAbsent) }
}

fn complete(folder: PathBuf) -> Result<PathBuf, InstallationError> {
    match PROGRAMS.into_iter().find(|program| !folder.join(program).is_file()) {
        Some(program) => Err(InstallationError::Incomplete { folder, program }),
        None => Ok(folder),
    }
}

/// The newest version under `versions` that has every program. A removed package may leave its folder behind.
fn newest(versions: &Path) -> Option<PathBuf> {
    fs::read_dir(versions)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let version = version_number(&entry.file_name())?;
            let folder = complete(entry.path().join("bin")).ok()?;
            Some((version, folder))
        })
        .max()
        .map(|(_, folder)| folder)
}

/// `15` → `[15]`, `9.6` → `[9, 6]`: compared as numbers, since `"9.6" > "15"` as text.
fn version_number(name: &OsStr) -> Option<Vec<u32>> {
    name.to_str()?.split('.').map(|part| part.parse().ok()).collect()
}

fn install() -> Result<(), InstallationError> {
    let _no_cluster = NoMainCluster::ask().map_err(|error| InstallationError::Install {
        command: format!("write {CREATE_CLUSTER_FOLDER}"),
        reason: error.to_string(),
    })?;
    apt_get(&["update"])?;
    apt_get(&["install", "--yes", "--no-install-recommends", "postgresql"])
}

fn apt_get(arguments: &[&str]) -> Result<(), InstallationError> {
    // A machine's own first boot often holds the package lock for a minute or two; a mirror may refuse once.
    let patience = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];
    let failed = |reason| InstallationError::Install { command: format!("apt-get {}", arguments.join(" ")), reason };
    let output = Command::new("apt-get")
        .args(patience)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(failed(last_lines(&String::from_utf8_lossy(&text))))
}

/// Tells Debian's package not to make and start a cluster, for as long as this value lives: the machine's owner may
/// want one the next time.
struct NoMainCluster {
    file: PathBuf,
}

impl NoMainCluster {
    fn ask() -> io::Result<Self> {
        let folder = Path::new(CREATE_CLUSTER_FOLDER);
        fs::create_dir_all(folder)?;
        let file = folder.join("tenure-testing.conf");
        fs::write(&file, "create_main_cluster = false\n")?;
        Ok(Self { file })
    }
}

impl Drop for NoMainCluster {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.file) {
            eprintln!("tenure-testing: {} stays behind: {error}", self.file.display());
        }
    }
}

/// Tells Debian's packages not to start what they install, for as long as this value lives. A machine that has a policy
/// of its own keeps it.
struct NotStarted {
    ours: bool,
}

impl NotStarted {
    fn ask() -> io::Result<Self> {
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(START_POLICY);
        match made {
            // 101: forbidden by policy.
            Ok(mut file) => file.write_all(b"#!/bin/sh\nexit 101\n").map(|()| Self { ours: true }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Self { ours: false }),
            Err(error) => Err(error),
        }
    }
}

impl Drop for NotStarted {
    fn drop(&mut self) {
        if self.ours
            && let Err(error) = fs::remove_file(START_POLICY)
        {
            eprintln!("tenure-testing: {START_POLICY} stays behind: {error}");
        }
    }
}

/// The end of a program's output, where it says what went wrong: 20 lines fit on a screen.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of versions, each with the given programs, as Debian lays them out.
    fn versions(name: &str, installed: &[(&str, &[&str])]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tenure-installation-{}-{name}", std::process::id()));
        for (version, programs) in installed {
            let bin = root.join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for program in *programs {
                fs::write(bin.join(program), "").unwrap();
            }
        }
        root
    }

    #[test]
    fn the_newest_version_is_newest_by_number_not_by_text() {
        let root = versions("newest", &[("9.6", &PROGRAMS), ("15", &PROGRAMS), ("16", &PROGRAMS)]);
        assert_eq!(newest(&root), Some(root.join("16/bin")));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_version_without_its_server_is_passed_over() {
        let root = versions("client-only", &[("15", &PROGRAMS), ("16", &["psql"]), ("notes", &PROGRAMS)]);
        assert_eq!(newest(&root), Some(root.join("15/bin")));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_named_folder_without_the_server_says_what_it_lacks() {
        let root = versions("named", &[("15", &["initdb"])]);
        let error = complete(root.join("15/bin")).unwrap_err();
        assert!(matches!(error, InstallationError::Incomplete { program: "postgres", .. }), "{error}");
        fs::remove_dir_all(root).unwrap();
    }
}
