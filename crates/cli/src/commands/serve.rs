//! `tenure serve`.

use crate::failure::Failure;
use crate::output::Output;
use crate::service::Service;
use crate::span;
use clap::Args;
use std::net::SocketAddr;
use std::time::Duration;
use tenure::Tenure;
use tenure_server::{Options, ServeError, Server};
use tokio::signal::unix::{SignalKind, signal};

/// Serve the HTTP API until SIGINT or SIGTERM; requests under way are finished first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure serve
  tenure serve --store postgres://app@db.example/work --listen 127.0.0.1:8080
  curl -s http://127.0.0.1:7117/v1/queues/images/claim -H 'Content-Type: application/json' -d '{\"worker\":\"me\"}'")]
pub(crate) struct Serve {
    /// Where to listen; must be a loopback address, because there is no sign-in yet
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7117")]
    listen: SocketAddr,

    /// How long to wait for a store that is away at the start; 0s: not at all
    #[arg(long, default_value = "60s", value_name = "SPAN", value_parser = span::ms)]
    wait_for_store: u64,
}

impl Serve {
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.listen.ip().is_loopback() { Ok(()) } else { Err(ServeError::NotLoopback(self.listen).into()) }
    }

    pub(crate) fn service(&self) -> Service {
        Service { wait_for_store: Duration::from_millis(self.wait_for_store), log: "info" }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let cannot = |error: std::io::Error| Failure::unavailable(format!("cannot listen to signals: {error}"));
        // Before the address is announced: whoever reads it may already send a signal.
        let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
        let described = tenure.describe().await?;
        let server = Server::bind(tenure.clone(), self.listen, Options::default()).await?;
        output.note(&format!("serving http://{} on {described}", server.address()));
        server
            .run(async move {
                tokio::select! {
                    _ = interrupted.recv() => {}
                    _ = terminated.recv() => {}
                }
                // Whoever asks twice does not want to wait for the grace.
                tokio::spawn(async move {
                    tokio::select! {
                        _ = interrupted.recv() => {}
                        _ = terminated.recv() => {}
                    }
                    std::process::exit(1);
                });
            })
            .await;
        output.note("stopped");
        Ok(())
    }
}
