//! The worker's own children: keepers, and what a keeper that was killed has left behind.
//!
//! The worker is a subreaper, as each keeper is: what is below a keeper stays there while it lives, and becomes the
//! worker's when it dies. So a child that was not started as a keeper is an orphan of some program, and its job is over:
//! it is killed, and so are its own children, which come next.
//!
//! Two kinds of children are not: those the worker was born with (a shell became it), and strangers whose parents died, which
//! the first process of a container is given. A program's processes cannot gain privileges (`no_new_privs`), a mark that nobody
//! can take off again: only who has it is killed.

use crate::keeper::stragglers::{LOOK_AGAIN, PATIENCE, children};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::process::{Child, Command};

/// The children of this process.
#[derive(Debug)]
pub(super) struct Children {
    /// Not to be taken for orphans. Locked while one is started, and while orphans are looked for.
    keepers: Mutex<HashSet<Pid>>,
    born_with: HashSet<Pid>,
}

impl Children {
    /// Begins to inherit orphans.
    pub(super) fn begin() -> io::Result<Children> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(Children { keepers: Mutex::default(), born_with: children().into_iter().collect() })
    }

    /// Starts a keeper.
    pub(super) fn start(&self, keeper: &mut Command) -> io::Result<(Child, Pid)> {
        let mut keepers = self.keepers();
        let child = keeper.spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.ok_or_else(|| io::Error::other("a keeper without a number"))?;
        keepers.insert(pid);
        Ok((child, pid))
    }

    /// A keeper has done its work.
    pub(super) fn dismiss(&self, keeper: Pid) {
        self.keepers().remove(&keeper);
    }

    /// Kills what was left behind, and what that leaves behind, until there is nobody.
    pub(super) fn end_orphans(&self) {
        let began = Instant::now();
        while self.kill_orphans() > 0 && began.elapsed() < PATIENCE {
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// How many there were.
    fn kill_orphans(&self) -> usize {
        let keepers = self.keepers();
        let of_a_program = |pid: &Pid| !keepers.contains(pid) && !self.born_with.contains(pid) && marked(*pid);
        let orphans: Vec<Pid> = children().into_iter().filter(of_a_program).collect();
        for orphan in &orphans {
            // Nobody else waits for it, so its number is still its own.
            let _ = kill_process(*orphan, Signal::KILL);
            let _ = waitpid(Some(*orphan), WaitOptions::NOHANG);
        }
        orphans.len()
    }

    fn keepers(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a process cannot gain privileges.
fn marked(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("NoNewPrivs:").is_some_and(|is| is.trim() == "1"))
}
