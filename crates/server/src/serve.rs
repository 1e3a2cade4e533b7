//! The API on a socket, with recovery beside it, until it is asked to stop.

use crate::app::Options;
use crate::router_until;
use crate::stream::{Ambiguous, Watched};
use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tenure::Tenure;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Bytes of a request's head that are buffered at all; the exact limits are the guard's.
const HEAD_BYTES_MAX: usize = 128 << 10;
/// The wait after the system refused a connection (no files left), so that the loop does not spin.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Why the API is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Anyone who can reach the address could do anything: there is no sign-in yet.
    #[error("{0} is not a loopback address, and there is no sign-in yet: listen on 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Bind(SocketAddr, io::Error),
}

/// The API, bound to its address but not yet answering.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tenure: Tenure,
    options: Options,
}

impl Server {
    /// Binds `address`, which must be a loopback one; port 0 takes any that is free.
    pub async fn bind(tenure: Tenure, address: SocketAddr, options: Options) -> Result<Server, ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        let refused = |error| ServeError::Bind(address, error);
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Server { listener, address, tenure, options })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `shutdown`, then lets requests under way finish: long-polls are answered early with what they
    /// have, and whatever outlives the grace is cut.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Server { listener, tenure, options, .. } = self;
        let (stop, stopping) = watch::channel(false);
        let router = router_until(tenure.clone(), options.clone(), stopping);
        let connections = Arc::new(Semaphore::new(options.connections_max));
        let graceful = GracefulShutdown::new();
        let end = async {
            let mut shutdown = pin!(shutdown);
            loop {
                tokio::select! {
                    () = &mut shutdown => break,
                    () = accept(&listener, &connections, &graceful, &router, &options) => {}
                }
            }
            drop(listener);
            let _ = stop.send(true);
            if tokio::time::timeout(options.grace, graceful.shutdown()).await.is_err() {
                tracing::warn!("some requests outlived the grace and were cut");
            }
        };
        tokio::select! {
            () = end => {}
            () = tenure.upkeep() => {}
        }
    }
}

/// Serves the API on `address` until `shutdown`.
pub async fn serve(
    tenure: Tenure,
    address: SocketAddr,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    Server::bind(tenure, address, options).await?.run(shutdown).await;
    Ok(())
}

/// Lets one caller in. Dropped while it waits, it has let in nobody.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
    graceful: &GracefulShutdown,
    router: &Router,
    options: &Options,
) {
    // The semaphore is never closed.
    let Ok(room) = connections.clone().acquire_owned().await else { return };
    match listener.accept().await {
        Ok((stream, peer)) => {
            let connection = graceful.watch(connection(stream, peer, router.clone(), options));
            tokio::spawn(async move {
                // A caller who hangs up or talks nonsense is no news.
                let _ = connection.await;
                drop(room);
            });
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_AGAIN).await;
        }
    }
}

/// The router, which is told with each request what was noticed on its connection, and from where it is asked: requests
/// know that from their connection alone.
struct Routed {
    router: TowerToHyperService<Router>,
    peer: SocketAddr,
    ambiguous: Ambiguous,
}

impl Service<Request<Incoming>> for Routed {
    type Response = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.ambiguous.clone());
        request.extensions_mut().insert(ConnectInfo(self.peer));
        self.router.call(request)
    }
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    options: &Options,
) -> http1::Connection<TokioIo<Watched<TcpStream>>, Routed> {
    // A reply is one small packet that someone waits for.
    let _ = stream.set_nodelay(true);
    let stream = Watched::new(stream, options.write_timeout);
    let routed = Routed { router: TowerToHyperService::new(router), peer, ambiguous: stream.ambiguous() };
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.head_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), routed)
}
