//! The watch over one program: until it has ended, and all that it started with it.

use super::stragglers;
use super::words::{Charge, Ended, Order, Word};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin};
use std::time::Duration;
use tenure::Moment;

/// The longest sleep: a machine that was suspended wakes up into one of these, and then reads the clock.
const TICK: Duration = Duration::from_millis(500);

struct Watch<'a> {
    socket: &'a mut UnixStream,
    program: OwnedFd,
    group: Pid,
    stdin: Option<ChildStdin>,
    payload: Vec<u8>,
    fed: usize,
    heard: Vec<u8>,
    /// The worker is still there.
    attended: bool,
    grace: Duration,
    deadline: Moment,
    /// SIGTERM was sent; SIGKILL follows then.
    kill_at: Option<Moment>,
    overdue: bool,
}

/// Returns when the program has ended and nothing of it is left.
pub(super) fn until_ended(mut child: Child, socket: &mut UnixStream, charge: Charge) -> io::Result<Word> {
    let group = Pid::from_child(&child);
    let watched = watch(&mut child, group, socket, charge);
    // Its leader is dead, but not waited for: the number of the group is still its own.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    stragglers::end_all();
    Ok(Word::Ended(match (watched?, status.code()) {
        (_, Some(code)) => Ended::Exited(code),
        (true, None) => Ended::Overdue,
        (false, None) => Ended::Signalled(status.signal().unwrap_or(0)),
    }))
}

/// Watches until the program has ended; says whether it had to be killed at its deadline.
fn watch(child: &mut Child, group: Pid, socket: &mut UnixStream, charge: Charge) -> io::Result<bool> {
    let Charge { deadline, grace, payload, .. } = charge;
    let stdin = child.stdin.take();
    if let Some(stdin) = &stdin {
        ioctl_fionbio(stdin, true)?;
    }
    socket.set_nonblocking(true)?;
    let mut watch = Watch {
        program: pidfd_open(group, PidfdFlags::empty())?,
        socket,
        group,
        stdin,
        payload,
        fed: 0,
        heard: Vec::new(),
        attended: true,
        grace,
        deadline,
        kill_at: None,
        overdue: false,
    };
    // A few bytes into an empty socket; a worker that has left is noticed by listening.
    let _ = watch.socket.write_all(Word::Started(group.as_raw_nonzero().get()).line().as_bytes());
    watch.run()?;
    Ok(watch.overdue)
}

impl Watch<'_> {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let now = Moment::now();
            self.judge(now);
            let due = self.kill_at.map_or(self.deadline, |at| at.min(self.deadline));
            let rest = if now >= due { TICK } else { now.until(due).min(TICK) };
            let rest = Timespec { tv_sec: 0, tv_nsec: i64::from(rest.subsec_nanos()) };
            let (listening, feeding) = (self.attended, self.stdin.is_some());
            let mut sources = vec![PollFd::new(&self.program, PollFlags::IN)];
            // A socket that nobody holds any more would be reported for ever.
            sources.extend(listening.then(|| PollFd::new(&*self.socket, PollFlags::IN)));
            sources.extend(self.stdin.as_ref().map(|stdin| PollFd::new(stdin, PollFlags::OUT)));
            match poll(&mut sources, Some(&rest)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut came = sources.iter().map(|source| !source.revents().is_empty()).collect::<Vec<_>>().into_iter();
            drop(sources);
            if came.next() == Some(true) {
                return Ok(());
            }
            if listening && came.next() == Some(true) {
                self.listen();
            }
            if feeding && came.next() == Some(true) {
                self.feed();
            }
        }
    }

    /// Ends a program whose time has come.
    fn judge(&mut self, now: Moment) {
        self.overdue |= now >= self.deadline;
        if self.overdue || self.kill_at.is_some_and(|at| now >= at) {
            self.signal(Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        // Nobody there any more is as good.
        let _ = kill_process_group(self.group, signal);
    }

    fn stop(&mut self) {
        if self.kill_at.is_none() {
            self.kill_at = Some(Moment::now().after(self.grace));
            self.signal(Signal::TERM);
            // A program that was stopped (SIGSTOP) must wake up to hear it.
            self.signal(Signal::CONT);
        }
    }

    fn listen(&mut self) {
        let mut part = [0; 4_096];
        match self.socket.read(&mut part) {
            Ok(0) => self.left(),
            Ok(read) => self.heard.extend_from_slice(&part[..read]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.left(),
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            match Order::parse(String::from_utf8_lossy(&line).trim_end()) {
                Some(Order::Renew(until)) => self.deadline = self.deadline.max(until),
                Some(Order::Stop) => self.stop(),
                Some(Order::Kill) => self.kill_at = Some(Moment::now()),
                None => {}
            }
        }
    }

    /// The worker is gone, and so is whoever could keep the lease.
    fn left(&mut self) {
        self.attended = false;
        self.stop();
    }

    /// As much of the payload as the program takes. Then its standard input ends.
    fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(&self.payload[self.fed..]) {
            Ok(written) => self.fed += written,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return,
            // It has closed its standard input: it has read what it wanted.
            Err(_) => self.fed = self.payload.len(),
        }
        if self.fed == self.payload.len() {
            self.stdin = None;
        }
    }
}
