//! A TCP connection that breaks on request: between a program and its PostgreSQL, on the loopback address.
//!
//! Faults are aimed at a statement by a piece of its text, so that a test says which call is to suffer, whichever
//! connection of a pool carries it. A request that was cut *after* it was forwarded has been carried out: the proxy
//! reads the server's whole reply, up to "ready for query", before it drops both ends.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// More than any one request or reply of the tests; what is larger comes in several pieces.
const PIECE: usize = 64 * 1024;

/// PostgreSQL's "ready for query": the transaction of the request has ended.
const READY: u8 = b'Z';

#[derive(Debug, Clone)]
enum Fault {
    None,
    /// The next request with this text never reaches the server.
    CutBefore(String),
    /// The next request with this text is carried out, and its reply lost.
    CutAfter(String),
    /// Nothing moves, and nobody is told.
    Blackhole,
    /// Every piece comes this much later.
    Delay(Duration),
}

#[derive(Debug)]
struct Shared {
    fault: Mutex<Fault>,
    struck: Notify,
    upstream: SocketAddr,
}

impl Shared {
    fn fault(&self) -> Fault {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

/// A proxy in front of one server; it and its connections end on drop.
#[derive(Debug)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    url: String,
    task: JoinHandle<()>,
}

impl FaultProxy {
    /// Listens on a free port in front of the server at `url`, which must be on TCP, without encryption.
    ///
    /// # Errors
    ///
    /// If the address cannot be read or no port be had.
    pub async fn in_front_of(url: &str) -> io::Result<Self> {
        let unreadable = || io::Error::other(format!("no postgres://…@ADDRESS:PORT/… but {url}"));
        let (before, rest) = url.rsplit_once('@').ok_or_else(unreadable)?;
        let (address, database) = rest.split_once('/').ok_or_else(unreadable)?;
        let upstream = address.parse().map_err(|_| unreadable())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("{before}@{}/{database}", listener.local_addr()?);
        let shared = Arc::new(Shared { fault: Mutex::new(Fault::None), struck: Notify::new(), upstream });
        let task = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { shared, url, task })
    }

    /// Where the server is reached through the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next request that contains `text` is dropped, with its connection, before the server sees it.
    pub fn cut_before(&self, text: &str) {
        self.shared.set(Fault::CutBefore(text.to_owned()));
    }

    /// The next request that contains `text` is carried out by the server; then its connection is dropped.
    pub fn cut_after(&self, text: &str) {
        self.shared.set(Fault::CutAfter(text.to_owned()));
    }

    /// From now on nothing moves, and no connection is closed. Those that were used meanwhile never recover.
    pub fn blackhole(&self) {
        self.shared.set(Fault::Blackhole);
    }

    /// Every piece, in both directions, comes this much later.
    pub fn delay(&self, by: Duration) {
        self.shared.set(Fault::Delay(by));
    }

    /// No more faults, for what comes now.
    pub fn heal(&self) {
        self.shared.set(Fault::None);
    }

    /// Returns when a cut has struck, once for each.
    pub async fn struck(&self) {
        self.shared.struck.notified().await;
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and with it every connection.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(carry(client, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// One connection, until either end closes or a fault strikes it.
async fn carry(client: TcpStream, shared: Arc<Shared>) {
    if matches!(shared.fault(), Fault::Blackhole) {
        return swallow(client).await;
    }
    let Ok(server) = TcpStream::connect(shared.upstream).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let lost = Arc::new(Mutex::new(Reply::Wanted));
    let mut requests = tokio::spawn(requests(from_client, to_server, shared.clone(), lost.clone()));
    let mut replies = tokio::spawn(replies(from_server, to_client, shared, lost));
    // Whichever way ends first takes the other along.
    tokio::select! {
        _ = &mut requests => {}
        _ = &mut replies => {}
    }
    requests.abort();
    replies.abort();
}

/// Whether the reply under way is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Wanted,
    Lost,
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: Arc<Shared>, reply: Arc<Mutex<Reply>>) {
    let mut piece = vec![0; PIECE];
    loop {
        let Ok(length @ 1..) = from.read(&mut piece).await else { return };
        let request = &piece[..length];
        match shared.fault() {
            Fault::CutBefore(text) if contains(request, &text) => {
                shared.set(Fault::None);
                shared.struck.notify_one();
                return;
            }
            Fault::CutAfter(text) if contains(request, &text) => {
                shared.set(Fault::None);
                *reply.lock().unwrap_or_else(PoisonError::into_inner) = Reply::Lost;
            }
            Fault::Blackhole => std::future::pending().await,
            Fault::Delay(by) => tokio::time::sleep(by).await,
            Fault::None | Fault::CutBefore(_) | Fault::CutAfter(_) => {}
        }
        if to.write_all(request).await.is_err() {
            return;
        }
    }
}

async fn replies(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: Arc<Shared>, reply: Arc<Mutex<Reply>>) {
    let mut piece = vec![0; PIECE];
    let mut messages = Messages::default();
    loop {
        let Ok(length @ 1..) = from.read(&mut piece).await else { return };
        if *reply.lock().unwrap_or_else(PoisonError::into_inner) == Reply::Lost {
            if messages.has_ready(&piece[..length]) {
                shared.struck.notify_one();
                return;
            }
            continue;
        }
        match shared.fault() {
            Fault::Blackhole => std::future::pending().await,
            Fault::Delay(by) => tokio::time::sleep(by).await,
            Fault::None | Fault::CutBefore(_) | Fault::CutAfter(_) => {}
        }
        if to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

/// Reads for ever and says nothing, until the other end gives up.
async fn swallow(mut client: TcpStream) {
    let mut piece = vec![0; PIECE];
    while matches!(client.read(&mut piece).await, Ok(1..)) {}
}

fn contains(request: &[u8], text: &str) -> bool {
    request.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The server's messages as they come in pieces: a letter, a length that counts itself, and a body.
#[derive(Debug, Default)]
struct Messages {
    header: Vec<u8>,
    body_left: usize,
}

impl Messages {
    /// Whether `piece` brings a "ready for query" to its end. The first piece must begin at a message.
    fn has_ready(&mut self, mut piece: &[u8]) -> bool {
        let mut ready = false;
        while let Some((&byte, rest)) = piece.split_first() {
            if self.header.len() < 5 {
                self.header.push(byte);
                piece = rest;
                if let &[_, a, b, c, d] = self.header.as_slice() {
                    self.body_left = (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(4);
                }
            } else {
                let taken = self.body_left.min(piece.len());
                self.body_left -= taken;
                piece = &piece[taken..];
            }
            if self.header.len() == 5 && self.body_left == 0 {
                ready |= self.header[0] == READY;
                self.header.clear();
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_found_at_a_message_only_and_over_pieces() {
        // A row whose bytes look like "ready for query", then the real one.
        let reply = b"D\0\0\0\x0aZ\0\0\0\x05IZ\0\0\0\x05I";
        let mut whole = Messages::default();
        assert!(whole.has_ready(reply));
        let mut pieces = Messages::default();
        let found: Vec<bool> = reply.iter().map(|byte| pieces.has_ready(&[*byte])).collect();
        assert_eq!(found.iter().position(|found| *found), Some(reply.len() - 1));
    }
}
