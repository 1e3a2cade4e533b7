//! The account a private server runs under.
//!
//! PostgreSQL refuses to run as root, so root lends its programs to `nobody`; anyone else runs them as they are.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    Own,
    Nobody,
}

impl Account {
    pub(crate) fn current() -> Self {
        if rustix::process::geteuid().is_root() { Self::Nobody } else { Self::Own }
    }

    /// A command that runs `program` under this account, away from the caller's terminal, working folder and settings.
    pub(crate) fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self {
            Self::Own => Command::new(program),
            Self::Nobody => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
                command
            }
        };
        // `PGDATA`, `PGPORT` and their like would bend the server towards the machine's own.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
            command.env_remove(name);
        }
        // The caller's working folder may be closed to `nobody`. Messages are in English, which `server` reads.
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Hands `folder`, which the caller made, to this account.
    pub(crate) fn give(self, folder: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Nobody => {
                let output = Command::new("chown").arg("nobody:nogroup").arg(folder).output()?;
                if output.status.success() {
                    return Ok(());
                }
                Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
            }
        }
    }
}
