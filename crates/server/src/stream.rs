//! The bytes of one connection, watched on their way.
//!
//! Always true:
//! - a head that frames its body in two ways (two `Content-Length`, two `Transfer-Encoding`, one of each) is noticed
//!   before the parser sees it, which would keep one of them and drop the other without a word: two readers of such a
//!   request may disagree where the next one begins;
//! - a caller who does not take his answer is cut after a while, so that he holds a connection no longer than that.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream that is watched; `S` is a socket.
pub(crate) struct Watched<S> {
    inner: S,
    framing: Framing,
    ambiguous: Ambiguous,
    write_timeout: Duration,
    /// Runs while the caller takes nothing of what is to be written.
    stalled: Option<Pin<Box<Sleep>>>,
}

/// Whether a head of this connection framed its body in two ways; what follows on it cannot be told apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ambiguous(Arc<AtomicBool>);

impl Ambiguous {
    pub(crate) fn seen(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S> Watched<S> {
    pub(crate) fn new(inner: S, write_timeout: Duration) -> Watched<S> {
        let (framing, ambiguous) = (Framing::default(), Ambiguous::default());
        Watched { inner, framing, ambiguous, write_timeout, stalled: None }
    }

    /// What is noticed about the heads that pass.
    pub(crate) fn ambiguous(&self) -> Ambiguous {
        self.ambiguous.clone()
    }

    /// Lets `wrote` pass, or an error once it has been pending for too long.
    fn in_time<T>(&mut self, wrote: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let deadline = Instant::now() + self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the caller does not take the answer")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buf))?;
        // Nothing more is asked once it is known: the connection ends with the answer.
        if !self.ambiguous.seen() && self.framing.ambiguous(&buf.filled()[before..]) {
            self.ambiguous.0.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(context, buf);
        self.in_time(wrote, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(context, bufs);
        self.in_time(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.in_time(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Bytes of a line that are kept: enough for the names and numbers that matter here.
const LINE_KEPT: usize = 64;

/// Where in the messages of a connection we are. What is malformed is the parser's business: it ends the connection, so
/// it does not matter what is made of the bytes behind it.
#[derive(Debug, Default)]
struct Framing {
    at: At,
    line: Vec<u8>,
    lengths: u32,
    encodings: u32,
    /// The `Content-Length` of this head.
    length: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// The request line, or empty lines before it.
    #[default]
    Start,
    Head,
    /// In a body of so many more bytes.
    Body(u64),
    ChunkSize,
    /// In a chunk, with the line's end behind it.
    Chunk(u64),
    Trailers,
}

impl Framing {
    /// Takes note of `bytes`; whether a head among them framed its body in two ways.
    fn ambiguous(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if let At::Body(left) | At::Chunk(left) = self.at {
                let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                bytes = &bytes[skipped..];
                let left = left - skipped as u64;
                self.at = match self.at {
                    At::Chunk(_) if left == 0 => At::ChunkSize,
                    At::Chunk(_) => At::Chunk(left),
                    _ if left == 0 => At::Start,
                    _ => At::Body(left),
                };
                continue;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.line.extend(part.iter().take(LINE_KEPT - self.line.len()));
            let Some(end) = end else { return false };
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            if self.ended(line.strip_suffix(b"\r").unwrap_or(&line)) {
                return true;
            }
        }
        false
    }

    /// A line has ended; whether it ended an ambiguous head.
    fn ended(&mut self, line: &[u8]) -> bool {
        match self.at {
            At::Start if line.is_empty() => {}
            At::Start => {
                *self = Framing { at: At::Head, ..Framing::default() };
            }
            At::Head if line.is_empty() => {
                self.at = match (self.encodings, self.length) {
                    (0, 0) => At::Start,
                    (0, length) => At::Body(length),
                    _ => At::ChunkSize,
                };
                return self.lengths + self.encodings > 1;
            }
            At::Head => self.header(line),
            At::ChunkSize => {
                let size = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                let size = std::str::from_utf8(size).ok().and_then(|size| u64::from_str_radix(size, 16).ok());
                self.at = match size {
                    Some(0) | None => At::Trailers,
                    Some(size) => At::Chunk(size.saturating_add(2)),
                };
            }
            At::Trailers if line.is_empty() => self.at = At::Start,
            At::Trailers | At::Body(_) | At::Chunk(_) => {}
        }
        false
    }

    fn header(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            self.length = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()).unwrap_or(0);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            // Of two codings (`gzip, chunked`) some readers know only the last.
            self.encodings += if value.eq_ignore_ascii_case(b"chunked") { 1 } else { 2 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever pieces they come in.
    fn ambiguous(sent: &str) -> bool {
        let found = |size: usize| {
            let mut framing = Framing::default();
            sent.as_bytes().chunks(size).any(|piece| framing.ambiguous(piece))
        };
        let whole = found(sent.len());
        for size in 1..sent.len() {
            assert_eq!(found(size), whole, "{sent:?} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn s1_a_body_framed_in_two_ways_is_noticed_wherever_it_comes() {
        let plain = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na\nb";
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n\r\n\r\n\r\n0\r\nT: 1\r\n\r\n";
        let empty = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        for fine in [plain, chunked, empty] {
            assert!(!ambiguous(fine), "{fine:?}");
        }
        assert!(!ambiguous(&[plain, chunked, empty, plain].concat()));
        for headers in [
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "content-length:3\r\nX: y\r\nCONTENT-LENGTH: 4\r\n",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
        ] {
            let bad = format!("POST / HTTP/1.1\r\n{headers}\r\n");
            assert!(ambiguous(&bad), "{bad:?}");
            assert!(ambiguous(&[plain, chunked, empty, &bad].concat()), "{bad:?}");
        }
        // In a body they are words like others.
        assert!(!ambiguous(
            "POST / HTTP/1.1\r\nContent-Length: 42\r\n\r\n\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"
        ));
    }
}
