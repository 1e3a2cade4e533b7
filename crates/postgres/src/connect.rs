//! Sessions of a server: opened, cancelled, closed.
//!
//! Always true:
//! - every address of every host has one deadline for all of it: name, socket, encryption, authentication, and whether it
//!   takes writes. A machine that accepts and then says nothing costs that long, and then the next is asked;
//! - nothing is told to a server before it is protected as the address asks;
//! - a session counts until its server has closed it: that the client has left does not end a statement that waits for a
//!   lock or a standby, and a server has only so many.

use crate::address::{Roots, Route, Server};
use crate::error;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use socket2::{SockRef, Socket, TcpKeepalive};
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Shutdown};
use std::ops::{Deref, DerefMut};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tenure_store::{Result, StoreError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{AsyncMessage, Client, Connection, Notification, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long a session that was let go counts, if its server neither closes it nor the network gives it up. Something in
/// between hangs then, and nobody can know; for ever would be a store that never recovers.
const LINGER: Duration = Duration::from_secs(300);

/// A request to cancel is repeated after this, and then more and more rarely, while it has no effect.
const CANCEL_AGAIN: Duration = Duration::from_secs(1);
const CANCEL_AGAIN_MAX: Duration = Duration::from_secs(30);
/// So many of them without effect, and what was given up is waiting where a request to cancel does not reach it.
const CANCELS_TO_LEAVE: u32 = 2;

/// How what is said on a connection is protected on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It does not leave the machine, and nobody can listen.
    Socket,
    /// Encrypted, to a server whose certificate was verified.
    Tls,
    /// In clear text, over the loopback device.
    ClearHere,
    /// In clear text, over a network.
    Clear,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Socket => "a socket of this machine",
            Way::Tls => "TLS, certificate verified",
            Way::ClearHere => "clear text, on this machine",
            Way::Clear => "clear text",
        })
    }
}

/// Opens sessions along one route.
pub(crate) struct Connector {
    servers: Vec<Server>,
    any_order: bool,
    tls: MakeRustlsConnect,
    /// Sessions that may still be opened at each server.
    slots: Vec<Arc<Semaphore>>,
    /// Where a session was opened last: asked first, so that a silent host costs its time once.
    latest: AtomicUsize,
}

impl Connector {
    /// At most `sessions_max` sessions of each server at once.
    pub(crate) fn new(route: &Route, sessions_max: usize) -> Result<Connector> {
        let slots = route.servers.iter().map(|_| Arc::new(Semaphore::new(sessions_max))).collect();
        let (servers, any_order) = (route.servers.clone(), route.any_order);
        Ok(Connector { servers, any_order, tls: tls(&route.roots)?, slots, latest: AtomicUsize::new(0) })
    }

    /// The servers, in the order in which they are to be asked.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> {
        let count = self.servers.len();
        let first = if self.any_order {
            RandomState::new().hash_one(0) as usize % count
        } else {
            self.latest.load(Ordering::Relaxed)
        };
        std::iter::once(first).chain((0..count).filter(move |server| *server != first))
    }

    /// The right to one more session of a server.
    pub(crate) async fn slot(&self, server: usize) -> Result<OwnedSemaphorePermit> {
        let deadline = self.servers[server].deadline;
        match tokio::time::timeout(deadline, self.slots[server].clone().acquire_owned()).await {
            Ok(Ok(slot)) => Ok(slot),
            _ => Err(StoreError::unavailable("calls that were given up still hold all its connections")),
        }
    }

    /// A session of this server that takes writes.
    pub(crate) async fn open(&self, server: usize) -> Result<Opened> {
        let to = &self.servers[server];
        let mut met = StoreError::unavailable("its name has no address");
        for peer in in_time(to.deadline, to.peers()).await? {
            match in_time(to.deadline, self.greet(to, peer)).await {
                Ok((client, wire, socket, way, misled)) => {
                    self.latest.store(server, Ordering::Relaxed);
                    return Ok(Opened { client, wire, socket, way, misled, server, peer });
                }
                Err(error) => met = error,
            }
        }
        Err(met)
    }

    /// What it came to that no server would have us: each with its reason, unless one of them is a matter of rights or
    /// of the address, which another host does not change.
    pub(crate) fn failed(&self, mut met: Vec<(usize, StoreError)>) -> StoreError {
        if let Some(at) = met.iter().position(|(_, error)| !matches!(error, StoreError::Unavailable { .. })) {
            return met.swap_remove(at).1;
        }
        let reasons = met.into_iter().map(|(server, error)| match error {
            StoreError::Unavailable { message, .. } => format!("{}: {message}", self.servers[server]),
            other => other.to_string(),
        });
        StoreError::unavailable(reasons.collect::<Vec<_>>().join("; "))
    }

    async fn greet(&self, to: &Server, peer: Peer) -> Result<(Client, Wire, Socket, Way, bool)> {
        let stream = to.dial(peer).await.map_err(StoreError::unavailable)?;
        let socket = stream.socket().map_err(StoreError::unavailable)?;
        let stream = Lasting(stream);
        let encrypted = Arc::new(AtomicBool::new(false));
        let tls = self.encryption(to, Some(encrypted.clone()))?;
        let (client, mut wire) = to.config.connect_raw(stream, tls).await.map_err(error::of_connect)?;
        if to.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite
            && shown(&client, &mut wire, "show transaction_read_only").await? == "on"
        {
            return Err(StoreError::unavailable("it takes no writes"));
        }
        let misled = misleading(&shown(&client, &mut wire, "show search_path").await?);
        let way = match peer {
            Peer::Socket => Way::Socket,
            Peer::Tcp(_) if encrypted.load(Ordering::Relaxed) => Way::Tls,
            Peer::Tcp(address) if address.to_canonical().is_loopback() => Way::ClearHere,
            Peer::Tcp(_) => Way::Clear,
        };
        Ok((client, wire, socket, way, misled))
    }

    fn encryption(&self, to: &Server, done: Option<Arc<AtomicBool>>) -> Result<Encryption> {
        let name = match &to.host {
            Host::Tcp(name) => name,
            Host::Unix(_) => "",
        };
        let connect = MakeTlsConnect::<Lasting<Stream>>::make_tls_connect(&mut self.tls.clone(), name);
        Ok(Encryption { connect: connect.map_err(StoreError::unavailable)?, done })
    }

    /// Tells the server to stop what a session is in the middle of, until it has. The request goes over a connection of
    /// its own and has no answer: the server closes that connection when it has seen to it.
    ///
    /// The driver's own way closes it first, and a PgBouncer from 1.18.0 to 1.19.0 whose client leaves before it has passed
    /// the request on ends with all its connections. So here, as libpq does, the server's end is waited for.
    ///
    /// A statement that still waits for its turn in a pooler, which is paused or has lost the server, cannot be cancelled: the
    /// pooler forgets it when its client says goodbye. A server in the middle of one reads no goodbye before its end, so
    /// nothing is lost by saying it there too.
    pub(crate) async fn stop(&self, session: Session) {
        if session.is_closed() {
            return;
        }
        let token = session.client.cancel_token();
        let to = &self.servers[session.server];
        let cancel = async || -> Result<()> {
            let stream = Lasting(to.dial(session.peer).await.map_err(StoreError::unavailable)?);
            token.cancel_query_raw(stream, self.encryption(to, None)?).await.map_err(error::of_connect)
        };
        // Answered when the statement before it has ended. A connection closed earlier may take the request to cancel with
        // it: a pooler then knows nobody whom it concerns.
        let mut ended = pin!(session.client.batch_execute(""));
        let stopped = async {
            let mut pause = CANCEL_AGAIN;
            for cancels in 1.. {
                if let Err(error) = in_time(to.deadline, cancel()).await {
                    tracing::debug!(%error, "a statement that was given up could not be cancelled");
                }
                if tokio::time::timeout(pause, &mut ended).await.is_ok() {
                    break;
                }
                if cancels == CANCELS_TO_LEAVE {
                    // Fails where the other end has left before.
                    let _ = session.socket.shutdown(Shutdown::Write);
                }
                pause = (pause * 2).min(CANCEL_AGAIN_MAX);
            }
        };
        let _ = tokio::time::timeout(LINGER, stopped).await;
    }
}

/// `done`, unless it takes longer than it may.
async fn in_time<T>(deadline: Duration, done: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| StoreError::unavailable(format!("it did not answer within {} ms", deadline.as_millis()));
    tokio::time::timeout(deadline, done).await.map_err(late)?
}

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
enum Peer {
    Socket,
    Tcp(IpAddr),
}

impl Server {
    async fn peers(&self) -> Result<Vec<Peer>> {
        let name = match (&self.host, self.address) {
            (Host::Unix(_), _) => return Ok(vec![Peer::Socket]),
            (Host::Tcp(_), Some(address)) => return Ok(vec![Peer::Tcp(address)]),
            (Host::Tcp(name), None) => name.clone(),
        };
        let found = tokio::net::lookup_host((name, self.port)).await.map_err(StoreError::unavailable)?;
        Ok(found.map(|address| Peer::Tcp(address.ip())).collect())
    }

    async fn dial(&self, peer: Peer) -> io::Result<Stream> {
        match (peer, &self.host) {
            (Peer::Tcp(address), _) => {
                let stream = TcpStream::connect((address, self.port)).await?;
                stream.set_nodelay(true)?;
                let socket = SockRef::from(&stream);
                #[cfg(target_os = "linux")]
                socket.set_tcp_user_timeout(self.config.get_tcp_user_timeout().copied())?;
                if self.config.get_keepalives() {
                    let mut keepalive = TcpKeepalive::new().with_time(self.config.get_keepalives_idle());
                    if let Some(interval) = self.config.get_keepalives_interval() {
                        keepalive = keepalive.with_interval(interval);
                    }
                    if let Some(retries) = self.config.get_keepalives_retries() {
                        keepalive = keepalive.with_retries(retries);
                    }
                    socket.set_tcp_keepalive(&keepalive)?;
                }
                Ok(Stream::Tcp(stream))
            }
            #[cfg(unix)]
            (Peer::Socket, Host::Unix(folder)) => {
                Ok(Stream::Unix(UnixStream::connect(folder.join(format!(".s.PGSQL.{}", self.port))).await?))
            }
            _ => Err(io::Error::from(io::ErrorKind::Unsupported)),
        }
    }
}

/// A session that nobody drives yet.
pub(crate) struct Opened {
    client: Client,
    wire: Wire,
    socket: Socket,
    way: Way,
    misled: bool,
    server: usize,
    peer: Peer,
}

impl Opened {
    /// Has a task of its own drive it, which passes on what it hears, and takes `slot` until the server has closed it.
    pub(crate) fn run(
        self,
        slot: OwnedSemaphorePermit,
        mut hear: impl FnMut(Notification) + Send + 'static,
    ) -> Session {
        let Opened { client, mut wire, socket, way, misled, server, peer } = self;
        let (open, mut let_go) = oneshot::channel();
        tokio::spawn(async move {
            let mut closed = pin!(async {
                while let Some(message) = poll_fn(|cx| wire.poll_message(cx)).await {
                    if let AsyncMessage::Notification(note) = message? {
                        hear(note);
                    }
                }
                Ok::<(), tokio_postgres::Error>(())
            });
            let ended = tokio::select! {
                ended = &mut closed => Some(ended),
                _ = &mut let_go => tokio::time::timeout(LINGER, &mut closed).await.ok(),
            };
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection broke");
            }
            drop(slot);
        });
        Session { client, socket, way, misled, server, peer, _open: open }
    }
}

/// A session of a server. Dropped, it is closed, once what it is in the middle of has ended.
pub(crate) struct Session {
    client: Client,
    /// The connection itself, below what drives it.
    socket: Socket,
    way: Way,
    misled: bool,
    server: usize,
    peer: Peer,
    _open: oneshot::Sender<()>,
}

impl Session {
    /// How it is protected.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Whether its search path would have it run what others put there.
    pub(crate) fn misled(&self) -> bool {
        self.misled
    }
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

/// A connection to a server, over TCP or a socket.
enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Stream {
    /// Another handle to it.
    fn socket(&self) -> io::Result<Socket> {
        match self {
            Stream::Tcp(one) => SockRef::from(one).try_clone(),
            #[cfg(unix)]
            Stream::Unix(one) => SockRef::from(one).try_clone(),
        }
    }
}

/// Does the same with either kind.
macro_rules! either {
    ($stream:expr, $one:ident => $what:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($one) => $what,
            #[cfg(unix)]
            Stream::Unix($one) => $what,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        either!(self, one => Pin::new(one).poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, one => Pin::new(one).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, one => Pin::new(one).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, one => Pin::new(one).poll_shutdown(cx))
    }
}

/// What a server answers to `show …`, which is a command: nobody can put a function in its place.
async fn shown(client: &Client, wire: &mut Wire, show: &str) -> Result<String> {
    let mut asked = pin!(client.simple_query(show));
    let answer = poll_fn(|cx| {
        // The connection moves only while it is polled.
        while let Poll::Ready(news) = wire.poll_message(cx) {
            match news {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(error::of_connect(error))),
                None => return Poll::Ready(Err(StoreError::unavailable("it closed the connection"))),
            }
        }
        asked.as_mut().poll(cx).map_err(error::of_connect)
    })
    .await?;
    let rows = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(rows.unwrap_or_default().to_owned())
}

/// Whether a search path puts others before PostgreSQL's own functions and operators, which otherwise come first. The owner
/// of a database may set one for everybody who comes.
fn misleading(path: &str) -> bool {
    path.split(',').skip(1).any(|schema| schema.trim().trim_matches('"') == "pg_catalog")
}

/// A connection under the driver, encrypted or not.
type Wire = Connection<Lasting<Stream>, Lasting<<MakeRustlsConnect as MakeTlsConnect<Lasting<Stream>>>::Stream>>;

/// A connection whose other end closes it first.
struct Lasting<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for Lasting<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lasting<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    /// Waits until there is nothing to close. Even a farewell of TLS would be taken for leaving early.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut bytes = [0; 16];
            let mut buf = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.0).poll_read(cx, &mut buf));
            // An end without a farewell is an end too.
            if read.is_err() || buf.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: TlsStream + Unpin> TlsStream for Lasting<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.0.channel_binding()
    }
}

/// Encrypts a connection, lets the other end close it first, and tells that it was done.
struct Encryption {
    connect: <MakeRustlsConnect as MakeTlsConnect<Lasting<Stream>>>::TlsConnect,
    done: Option<Arc<AtomicBool>>,
}

impl TlsConnect<Lasting<Stream>> for Encryption {
    type Stream = Lasting<<MakeRustlsConnect as MakeTlsConnect<Lasting<Stream>>>::Stream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Stream>> + Send>>;

    fn connect(self, stream: Lasting<Stream>) -> Self::Future {
        let connecting = self.connect.connect(stream);
        Box::pin(async move {
            let stream = Lasting(connecting.await?);
            if let Some(done) = self.done {
                done.store(true, Ordering::Relaxed);
            }
            Ok(stream)
        })
    }
}

/// Encryption is always verified: the certificate must be by one of `roots`, and fit the host.
fn tls(roots: &Roots) -> Result<MakeRustlsConnect> {
    let mut trusted = RootCertStore::empty();
    match roots {
        Roots::Public => trusted.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Roots::File(file) => {
            let unreadable = |reason: &dyn fmt::Display| StoreError::Address {
                message: format!("the certificates of `sslrootcert` cannot be read: {reason}"),
            };
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
                let certificate = certificate.map_err(|error| unreadable(&error))?;
                trusted.add(certificate).map_err(|error| unreadable(&error))?;
            }
            if trusted.is_empty() {
                return Err(unreadable(&"there is none in the file"));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(StoreError::broken)?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
