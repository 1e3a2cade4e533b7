//! Cargo, called the way every command here calls it: the same cargo that runs us, at the repository's root, with the
//! versions of the lock file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Failure;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    // Where this very crate was built from; xtask is never installed.
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// `cargo` with these arguments. It reads nothing: a command that waits for an answer would hang where nobody can give it.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        // Joined to the root: cargo reads a relative one from where it runs, which is there.
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Runs `command` to its end and wants it to succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|source| Failure::Run { command: name(command), source })?;
    if status.success() { Ok(()) } else { Err(Failure::Exit { command: name(command), status }) }
}

/// `command` as one would type it.
pub(crate) fn name(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    [program].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
