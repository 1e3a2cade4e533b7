//! Worker processes: started, struck, and replaced.

use crate::places::Place;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How the workers of a test are set up.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) lease_ms: u64,
    pub(crate) concurrency: u32,
    pub(crate) prefetch: u32,
}

pub(crate) struct Member {
    child: Child,
    /// Frozen until then.
    thaw_at: Option<Instant>,
    /// It was asked to leave.
    pub(crate) leaving: bool,
}

impl Member {
    pub(crate) fn start(place: &impl Place, setup: Setup, name: &str) -> Member {
        let file = |suffix: &str| place.folder().join(format!("{name}.{suffix}"));
        let numbers = [setup.lease_ms, setup.concurrency.into(), setup.prefetch.into()].map(|n| n.to_string());
        let child = Command::new(env!("CARGO_BIN_EXE_fault-worker"))
            .args([place.url(), name.to_owned(), file("record").display().to_string()])
            .args(numbers)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(file("log")).unwrap())
            .spawn()
            .unwrap();
        Member { child, thaw_at: None, leaving: false }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // Not waited for yet, so the number is its own; it may be dead already.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Stops it for `span`. Woken by a task of its own: frozen inside a write to an SQLite file, it holds up whoever
    /// would wake it.
    pub(crate) fn freeze(&mut self, span: Duration) {
        let pid = Pid::from_child(&self.child);
        self.signal(Signal::STOP);
        self.thaw_at = Some(Instant::now() + span);
        tokio::spawn(async move {
            tokio::time::sleep(span).await;
            let _ = kill_process(pid, Signal::CONT);
        });
    }

    pub(crate) fn tell(&mut self, order: &str) {
        // It may be dead already.
        let _ = self.child.stdin.as_mut().map(|stdin| writeln!(stdin, "{order}"));
    }

    pub(crate) fn gone(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Workers that are replaced when they die.
pub(crate) struct Fleet<'a, P: Place> {
    place: &'a P,
    setup: Setup,
    size: usize,
    started: usize,
    pub(crate) members: Vec<Member>,
}

impl<'a, P: Place> Fleet<'a, P> {
    pub(crate) fn new(place: &'a P, setup: Setup, size: usize) -> Fleet<'a, P> {
        let mut fleet = Fleet { place, setup, size, started: 0, members: Vec::new() };
        fleet.muster();
        fleet
    }

    /// Buries the dead, and fills the ranks.
    pub(crate) fn muster(&mut self) {
        for member in &mut self.members {
            member.thaw_at = member.thaw_at.filter(|at| Instant::now() < *at);
        }
        self.members.retain_mut(|member| !member.gone());
        while self.members.iter().filter(|member| !member.leaving).count() < self.size {
            self.started += 1;
            self.members.push(Member::start(self.place, self.setup, &format!("worker-{}", self.started)));
        }
    }

    /// Those that can be struck.
    pub(crate) fn standing(&mut self) -> Vec<&mut Member> {
        self.members.iter_mut().filter(|member| !member.leaving && member.thaw_at.is_none()).collect()
    }

    pub(crate) fn started(&self) -> usize {
        self.started
    }

    /// Sends everybody home, and waits for them.
    pub(crate) async fn disband(mut self) {
        for member in &self.members {
            member.signal(Signal::CONT);
            member.signal(Signal::TERM);
        }
        while !self.members.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.members.retain_mut(|member| !member.gone());
        }
    }
}
