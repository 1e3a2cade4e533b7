//! What a program leaves behind: processes that outlived it, in its group or out of it.
//!
//! The keeper is a subreaper: a process whose parents are gone becomes its child, whatever group or session it made for
//! itself. So whoever is left is found among the keeper's own children, again and again until there is none.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use std::time::{Duration, Instant};

/// A process that a kernel does not end within this (a disk that does not answer) is left to it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Between looks at processes that were killed and are still going.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Kills every child of this process, and theirs in turn.
pub(super) fn end_all() {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match wait(WaitOptions::NOHANG) {
            // One is gone, and its children are ours now.
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return,
        }
        for child in children() {
            // It may have ended meanwhile; not waited for, its number is still its own.
            let _ = kill_process(child, Signal::KILL);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// All children of this process, of whichever thread.
pub(crate) fn children() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let listed: Vec<String> = listed.collect();
    let pids = listed.iter().flat_map(|pids| pids.split_whitespace());
    pids.filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect()
}
