//! The workers of a demo: real processes, ended with it.

use super::worker::WORKER;
use crate::failure::Failure;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long they may put their things away at the end.
const GRACE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Crew {
    members: Vec<Child>,
}

impl Crew {
    pub(super) fn start(url: &str, queue: &str, names: &[&str]) -> Result<Crew, Failure> {
        let mut crew = Crew { members: Vec::new() };
        for name in names {
            let member = Command::new("/proc/self/exe")
                .arg0("tenure")
                .args([WORKER, queue, name])
                // Not on the command line, where everybody could read its password.
                .env("TENURE_STORE", url)
                // Ctrl-C is for the demo, which ends them.
                .process_group(0)
                // Held open as long as the demo lives: its end is theirs.
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let member = member.map_err(|error| Failure::unavailable(format!("cannot start a worker: {error}")))?;
            crew.members.push(member);
        }
        Ok(crew)
    }

    /// Ends one as a crash would, and gives its process id.
    pub(super) fn kill(&mut self, which: usize) -> Result<u32, Failure> {
        let pid = self.signal(which, Signal::KILL)?;
        // Dead when this returns.
        let _ = self.members[which].wait();
        Ok(pid)
    }

    /// Stops one, as a paused machine would.
    pub(super) fn freeze(&mut self, which: usize) -> Result<u32, Failure> {
        self.signal(which, Signal::STOP)
    }

    pub(super) fn thaw(&mut self, which: usize) -> Result<u32, Failure> {
        self.signal(which, Signal::CONT)
    }

    fn signal(&mut self, which: usize, signal: Signal) -> Result<u32, Failure> {
        let member = &self.members[which];
        kill_process(Pid::from_child(member), signal)
            .map_err(|error| Failure::unavailable(format!("cannot signal a worker: {error}")))?;
        Ok(member.id())
    }

    /// Lets them go home.
    pub(super) async fn dismiss(mut self) {
        for member in &mut self.members {
            drop(member.stdin.take());
        }
        let began = Instant::now();
        while began.elapsed() < GRACE && self.members.iter_mut().any(|member| matches!(member.try_wait(), Ok(None))) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for member in &mut self.members {
            // Those that have ended already are only waited for.
            let _ = member.kill();
            let _ = member.wait();
        }
    }
}
