//! What commands have in common that go on until somebody ends them: a log, and patience with their store.

use std::io::IsTerminal;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// How such a command runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// For a store that is away at the start.
    pub(crate) wait_for_store: Duration,
    /// What it logs, unless `TENURE_LOG` says otherwise.
    pub(crate) log: &'static str,
}

impl Service {
    /// Begins to log to stderr.
    pub(crate) fn log(self) {
        // The pool and the driver have a line for each connection that broke.
        let usual = || EnvFilter::new(format!("{},deadpool.postgres=error,tokio_postgres=warn", self.log));
        let filter = EnvFilter::try_from_env("TENURE_LOG").unwrap_or_else(|_| usual());
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .init();
    }
}
