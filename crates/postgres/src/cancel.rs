//! Telling a server to stop what a connection is in the middle of.
//!
//! The request goes over a connection of its own and has no answer: the server closes that connection when it has seen to
//! it. The driver's own way closes it first, and a PgBouncer from 1.18.0 to 1.19.0 whose client leaves before it has passed
//! the request on ends with all its connections. So here, as libpq does, the server's end is waited for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_postgres::config::{Config, Host};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Cancels what `token` stands for. Where the address names several servers each is asked: the token has a secret of the
/// one it is about, and says nothing to the others.
pub(crate) async fn cancel(config: &Config, token: &CancelToken, tls: Option<&MakeRustlsConnect>) {
    for (i, host) in config.get_hosts().iter().enumerate() {
        let ports = config.get_ports();
        let port = ports.get(i).or(ports.first()).copied().unwrap_or(5432);
        let asked = match host {
            Host::Tcp(name) => {
                let address = config.get_hostaddrs().get(i).map_or_else(|| name.clone(), ToString::to_string);
                over_tcp((&address, port), name, token, tls).await
            }
            #[cfg(unix)]
            Host::Unix(folder) => match UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await {
                Ok(stream) => token.cancel_query_raw(Lasting(stream), NoTls).await.map_err(io::Error::other),
                Err(error) => Err(error),
            },
            #[cfg(not(unix))]
            Host::Unix(_) => continue,
        };
        if let Err(error) = asked {
            tracing::debug!(%error, "a statement that was given up could not be cancelled");
        }
    }
}

async fn over_tcp(
    address: (&str, u16),
    name: &str,
    token: &CancelToken,
    tls: Option<&MakeRustlsConnect>,
) -> io::Result<()> {
    let stream = Lasting(TcpStream::connect(address).await?);
    let asked = match tls {
        None => token.cancel_query_raw(stream, NoTls).await,
        Some(tls) => {
            let tls = MakeTlsConnect::<Lasting<TcpStream>>::make_tls_connect(&mut tls.clone(), name);
            token.cancel_query_raw(stream, LastingTls(tls.map_err(io::Error::other)?)).await
        }
    };
    asked.map_err(io::Error::other)
}

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

/// Encrypts a connection, and lets the other end close it first.
struct LastingTls<T>(T);

impl<S, T> TlsConnect<S> for LastingTls<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
{
    type Stream = Lasting<T::Stream>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.0.connect(stream);
        Box::pin(async move { Ok(Lasting(connecting.await?)) })
    }
}
