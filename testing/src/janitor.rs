//! The janitor: a shell that cleans up after a private server, however its owner ends.
//!
//! It reads from a pipe whose other end only the owner holds. The kernel closes that end when the owner drops it, exits,
//! or is killed; the janitor then stops the server and removes its folder. So a test that panics, a static that is never
//! dropped and a `kill -9` all end the same way, by the same code.
//!
//! Why not `prctl(PR_SET_PDEATHSIG)`: it fires when the *thread* that started the server ends, which for a test is long
//! before the process does, and it leaves the folder behind.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$1` is the folder, the rest is the command that stops the server. The command fails if the server has stopped
/// already, which is as good. Processes of a server that was killed may write for a moment longer: hence the second try.
const CLEAN_UP: &str = r#"
folder=$1
shift
cat >/dev/null
"$@"
rm -rf -- "$folder" || { sleep 1; rm -rf -- "$folder"; }
"#;

#[derive(Debug)]
pub(crate) struct Janitor {
    shell: Child,
}

impl Janitor {
    /// From now on, the end of this process (or of the returned value) runs `stop` and removes `folder`.
    pub(crate) fn hire(folder: &Path, stop: &Command) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", CLEAN_UP, "janitor"])
            .arg(folder)
            .arg(stop.get_program())
            .args(stop.get_args())
            // The folder goes away, and the owner's may too.
            .current_dir("/")
            // A group of its own: Ctrl-C in the owner's terminal must not take the janitor first.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }

    /// Closes the pipe and waits until all is clean.
    pub(crate) fn clean_up(&mut self) -> io::Result<()> {
        drop(self.shell.stdin.take());
        self.shell.wait().map(drop)
    }
}
