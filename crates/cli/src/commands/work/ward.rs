//! The worker's end of a [keeper](crate::keeper): one program, as long as it runs.

use super::capture::Capture;
use super::children::Children;
use crate::keeper::{Charge, KEEP, Order, Word};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

/// This very binary, even if its file was replaced meanwhile.
const SELF: &str = "/proc/self/exe";

/// How long a keeper that was told to kill its program is listened to in silence: that takes a moment. Then it is stopped,
/// or worse, and its program is killed by hand.
const DYING: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A program and its keeper. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Ward {
    socket: UnixStream,
    children: Arc<Children>,
    /// Not waited for before this is dropped: until then its number is its own.
    keeper: Pid,
    _child: Child,
    heard: Vec<u8>,
    group: Option<Pid>,
    ended: bool,
}

impl Ward {
    /// Starts a keeper for the program, in the program's own environment and folder.
    pub(super) fn start(
        program: &super::Program,
        environment: Vec<(OsString, OsString)>,
        children: Arc<Children>,
    ) -> io::Result<(Ward, Capture, Capture)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ((out, to_out), (err, to_err)) = (io::pipe()?, io::pipe()?);
        let mut command = Command::new(SELF);
        command
            .arg0("tenure")
            .arg(KEEP)
            .arg(&program.path)
            .args(&program.arguments)
            .env_clear()
            .envs(environment)
            .current_dir(&program.folder)
            // Ctrl-C in the worker's terminal is for the worker alone.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(to_out)
            .stderr(to_err);
        let capture = |pipe: io::PipeReader| Receiver::from_owned_fd(pipe.into()).map(Capture::of);
        let (socket, out, err) = (UnixStream::from_std(ours)?, capture(out)?, capture(err)?);
        let (child, keeper) = children.start(&mut command)?;
        let ward = Ward { socket, children, keeper, _child: child, heard: Vec::new(), group: None, ended: false };
        Ok((ward, out, err))
    }

    /// Tells the keeper what to do.
    pub(super) async fn charge(&mut self, charge: &Charge) -> io::Result<()> {
        self.socket.write_all(&charge.bytes()).await
    }

    /// Gives an order. A keeper that is gone is noticed by listening.
    pub(super) fn order(&mut self, order: Order) {
        // A few bytes, and nothing else is waiting to be written. Not by way of the runtime, which may not know yet that
        // the socket takes them.
        let _ = rustix::io::write(&self.socket, order.line().as_bytes());
        self.wake();
    }

    /// Wakes the keeper, if somebody has stopped it (SIGSTOP). One that runs does not notice.
    pub(super) fn wake(&self) {
        let _ = kill_process(self.keeper, Signal::CONT);
    }

    /// The keeper's next word; `None` if it is gone. May be dropped and called again.
    pub(super) async fn word(&mut self) -> Option<Word> {
        loop {
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                let word = Word::parse(String::from_utf8_lossy(&line).trim_end())?;
                match &word {
                    Word::Started(group) => self.group = Pid::from_raw(*group),
                    Word::Ended(_) | Word::Failed(_) => self.ended = true,
                }
                return Some(word);
            }
            self.socket.readable().await.ok()?;
            match self.socket.try_read_buf(&mut self.heard) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Listens until the keeper is gone, or silent for too long; answers whether it has said how its program ended.
    fn last_word(&mut self) -> bool {
        let mut part = [0; 256];
        loop {
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&DYING)) {
                Ok(1..) => {}
                Err(Errno::INTR) => continue,
                Ok(0) | Err(_) => break,
            }
            match rustix::io::read(&self.socket, &mut part) {
                Ok(read @ 1..) => self.heard.extend_from_slice(&part[..read]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(0) | Err(_) => break,
            }
        }
        let heard = String::from_utf8_lossy(&self.heard);
        heard.lines().filter_map(Word::parse).any(|word| !matches!(word, Word::Started(_)))
    }

    /// The keeper is gone without a word, or does not answer: its program is ended by hand, with all that it started.
    pub(super) fn forsaken(&mut self) {
        self.ended = true;
        self.children.dismiss(self.keeper);
        let _ = kill_process(self.keeper, Signal::KILL);
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.children.end_orphans();
    }
}

impl Drop for Ward {
    /// Returns when the program is dead: whoever is given its job next must not meet it.
    fn drop(&mut self) {
        if self.ended {
            return self.children.dismiss(self.keeper);
        }
        self.order(Order::Kill);
        if self.last_word() {
            self.children.dismiss(self.keeper);
        } else {
            self.forsaken();
        }
    }
}
