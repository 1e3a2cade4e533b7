//! The keeper: a small process that stands between a worker and the program of one job.
//!
//! It is this same binary, started by `tenure work` for each job. It starts the program in a process group of its own,
//! feeds it its payload, and watches three things: the program, the worker, and the clock. The worker is watched
//! through a socket, of which the worker holds the other end: however the worker ends, the kernel closes it.
//!
//! Always true:
//! - when the keeper has reported how the program ended, nothing that the program started is left: not its group, and
//!   not what left the group either, because orphans of the program become the keeper's own (a subreaper);
//! - a worker that dies or stops takes its programs with it: SIGTERM, and SIGKILL after the grace;
//! - a program is killed before the store can give its work away (L5), also while its worker is frozen: the deadline is
//!   the keeper's own to watch, and only the worker's word of a renewed lease moves it.
//!
//! It is single-threaded, runs no user code, and never sees the store's address. A program can kill it or stop it, being
//! of the same user: then its worker does what it did not do.

mod limit;
pub(crate) mod stragglers;
mod watch;
mod words;

pub(crate) use limit::{Limit, Limits};
pub(crate) use words::{Charge, Ended, Order, Word};

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// The first argument that makes this binary a keeper.
pub(crate) const KEEP: &str = "__keep";

/// A charge that is longer than a payload and a few numbers is none of ours.
const CHARGE_BYTES_MAX: usize = tenure::bounds::BODY_BYTES_MAX + 4_096;

/// Keeps a program, if that is what this process was started for.
pub(crate) fn asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != KEEP {
        return None;
    }
    let (Some(program), Ok(mut socket)) = (arguments.next(), socket()) else {
        eprintln!("tenure: {KEEP} is started by `tenure work`, and by nobody else");
        return Some(ExitCode::from(2));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let kept = keep(command, &mut socket).unwrap_or_else(|error| Word::Failed(error.to_string()));
    // A worker that is gone has nobody left to tell.
    let _ = socket.set_nonblocking(false).and_then(|()| socket.write_all(kept.line().as_bytes()));
    Some(ExitCode::SUCCESS)
}

/// The worker's socket is our standard input.
fn socket() -> io::Result<UnixStream> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.peer_addr().map(|_| socket)
}

fn keep(mut command: Command, socket: &mut UnixStream) -> io::Result<Word> {
    let charge = charge(socket)?;
    // From here on, what the program leaves behind is ours to end.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::thread::set_no_new_privs(true)?;
    charge.limits.bind()?;
    let child = command.stdin(Stdio::piped()).process_group(0).spawn();
    let child = child.map_err(|error| io::Error::new(error.kind(), format!("cannot be started: {error}")))?;
    watch::until_ended(child, socket, charge)
}

/// What the worker says first.
fn charge(socket: &mut UnixStream) -> io::Result<Charge> {
    let mut said = Vec::new();
    loop {
        if let Some(charge) = Charge::parse(&said)? {
            return Ok(charge);
        }
        let mut part = [0; 65_536];
        let read = socket.read(&mut part)?;
        if read == 0 || said.len() + read > CHARGE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the worker left before the program was started"));
        }
        said.extend_from_slice(&part[..read]);
    }
}
