//! Queue: how fast the library is on each store, with a peer beside it on the same server.
//!
//! Everything goes through `Tenure`, as a user would call it. One markdown table on standard output; progress on standard
//! error. A figure is "a / b", two runs; a ratio is within one run of this program, for absolute numbers belong to the
//! machine.
//!
//! Always true:  a drain counts only if the store accepted every ending and has nothing left · each figure is taken in a
//! store of its own, made empty and removed again · ours and the peer's are taken in turn, so that a slow minute of the
//! machine spoils both.

mod drain;
mod enqueue;
mod heartbeat;
pub(crate) mod machine;
mod million;
mod peer;
mod pickup;
mod place;
pub(crate) mod server;
mod settings;
pub(crate) mod table;
mod worker;

pub(crate) use settings::USAGE;

use anyhow::{Context, Result};
use peer::Peer;
use place::Backend;
use server::Server;
use settings::{Measure, Settings};
use table::Table;

/// Each figure is taken this often and all are shown: one number hides the noise.
const RUNS: usize = 2;

/// Parses the arguments after `queue`, measures, and prints the table.
pub(crate) fn run(args: impl Iterator<Item = String>) -> Result<()> {
    let settings = Settings::parse(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let bench = Bench::prepare(settings).await?;
        let mut table = Table::default();
        let measured = bench.measure(&mut table).await;
        // What was measured before something went wrong is worth as much as before.
        println!("{}\n", bench.header().await?);
        print!("{}", table.markdown());
        if let Some(file) = &bench.settings.json {
            let json = table.json(&bench.header().await?);
            std::fs::write(file, format!("{json:#}\n")).with_context(|| file.display().to_string())?;
        }
        measured
    })
}

/// What is measured, and where.
pub(crate) struct Bench {
    settings: Settings,
    server: Option<Server>,
    peers: Vec<Peer>,
}

impl Bench {
    async fn prepare(settings: Settings) -> Result<Bench> {
        let wanted = settings.million
            || !settings.peers.is_empty()
            || settings.stores.iter().any(|store| matches!(store, Backend::Postgres | Backend::Tried(_)));
        let server = match &settings.postgres {
            Some(url) if wanted => Some(Server::connect(url).await?),
            None if wanted => anyhow::bail!("PostgreSQL is to be measured: set TENURE_BENCH_POSTGRES to its URL"),
            _ => None,
        };
        let peers = settings.peers.iter().map(|name| Peer::named(name)).collect::<Result<_>>()?;
        Ok(Bench { settings, server, peers })
    }

    async fn measure(&self, table: &mut Table) -> Result<()> {
        // First, for it tells how much memory a process needs that has done nothing else.
        if self.settings.million {
            million::measure(self, table).await.context("a million jobs")?;
        }
        for run in 1..=RUNS {
            for &measure in Measure::ALL.iter().filter(|measure| self.settings.wants(**measure)) {
                for &backend in &self.settings.stores {
                    let what = format!("run {run}, {measure} on {}", self.settings.column(backend));
                    eprintln!("{what}");
                    self.ours(measure, backend, table).await.context(what)?;
                }
                for peer in &self.peers {
                    let what = format!("run {run}, {measure} of {}", peer.name());
                    eprintln!("{what}");
                    peer.measure(self.postgres()?, measure, &self.settings, table).await.context(what)?;
                }
            }
        }
        Ok(())
    }

    async fn ours(&self, measure: Measure, backend: Backend, table: &mut Table) -> Result<()> {
        match measure {
            Measure::Enqueue => enqueue::single(self, backend, table).await,
            Measure::Bulk => enqueue::bulk(self, backend, table).await,
            Measure::Drain => drain::plain(self, backend, table).await,
            Measure::Hold => drain::held(self, backend, table).await,
            Measure::Worker => worker::measure(self, backend, table).await,
            Measure::Pickup => pickup::measure(self, backend, table).await,
            Measure::Heartbeat => heartbeat::measure(self, backend, table).await,
        }
    }

    fn postgres(&self) -> Result<&Server> {
        self.server.as_ref().context("no PostgreSQL was named")
    }

    /// Versions, settings and machine: what a figure means nothing without.
    async fn header(&self) -> Result<String> {
        let mut lines = vec![
            format!("tenure {} at commit {}", env!("CARGO_PKG_VERSION"), machine::commit()),
            machine::describe(),
            format!(
                "{} jobs to a drain, {} tasks, {} single enqueues by {} callers; {RUNS} runs, a / b",
                self.settings.jobs,
                drain::TASKS,
                self.settings.singles(),
                enqueue::CALLERS
            ),
        ];
        if let Some(server) = &self.server {
            lines.push(server.describe().await?);
        }
        lines.extend(self.peers.iter().map(Peer::describe));
        Ok(lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n"))
    }
}
