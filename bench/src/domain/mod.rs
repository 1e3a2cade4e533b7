//! Domains: how many offsets a second go through, and what a domain costs.
//!
//! A pair is one acquire and one succeed. In memory everything runs on one thread, and a second is one of its processor
//! time, so that a busy machine does not blur what one core can do. The databases are asked for many
//! domains at once; what that gains is in the table. One markdown table on standard output, progress on standard error.
//!
//! Always true:  a pair counts only if it was answered `ACQUIRED` and `NO_BACKLOG` or `NEXT_HINT` · each figure is taken
//! in a store of its own.

mod pairs;
mod place;
mod size;

use crate::queue::machine;
use crate::queue::server::Server;
use crate::queue::table::Table;
use anyhow::{Context, Result, bail, ensure};
use place::Backend;

pub(crate) const USAGE: &str =
    "tenure-bench domain [--stores memory,sqlite,postgres] [--pairs N] [--domains N] [--runs N]";

/// What is measured.
pub(crate) struct Settings {
    stores: Vec<Backend>,
    /// Pairs of each figure in a database; in memory twenty times as many.
    pairs: u64,
    /// Domains that exist when sizes are taken.
    domains: u64,
    runs: usize,
}

impl Settings {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Settings> {
        let mut settings = Settings { stores: Backend::ALL.to_vec(), pairs: 50_000, domains: 200_000, runs: 2 };
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} wants a value: {USAGE}"))?;
            match flag.as_str() {
                "--stores" => settings.stores = value.split(',').map(Backend::named).collect::<Result<_>>()?,
                "--pairs" => settings.pairs = value.parse().context("--pairs")?,
                "--domains" => settings.domains = value.parse().context("--domains")?,
                "--runs" => settings.runs = value.parse().context("--runs")?,
                _ => bail!("{flag} is not known: {USAGE}"),
            }
        }
        ensure!(settings.pairs >= 1_000 && settings.domains >= 1_000, "fewer than a thousand tell nothing");
        Ok(settings)
    }
}

/// Parses the arguments after `domain`, measures, and prints the table.
pub(crate) fn run(args: impl Iterator<Item = String>) -> Result<()> {
    let settings = Settings::parse(args)?;
    // One thread for everything of ours: the bar is set for one core.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = match std::env::var("TENURE_BENCH_POSTGRES") {
            Ok(url) if settings.stores.contains(&Backend::Postgres) => Some(Server::connect(&url).await?),
            Err(_) if settings.stores.contains(&Backend::Postgres) => {
                bail!("set TENURE_BENCH_POSTGRES to a server's URL")
            }
            _ => None,
        };
        let mut table = Table::default();
        for run in 1..=settings.runs {
            for &backend in &settings.stores {
                eprintln!("run {run} on {backend}");
                // Sizes first: memory that an earlier measurement gave back would be used again unseen.
                size::measure(&settings, backend, server.as_ref(), run == 1, &mut table).await?;
                pairs::measure(&settings, backend, server.as_ref(), &mut table).await?;
            }
        }
        println!("- tenure {} at commit {}", env!("CARGO_PKG_VERSION"), machine::commit());
        println!("- {}", machine::describe());
        println!("- {} pairs (memory: × 20), {} domains, {} runs", settings.pairs, settings.domains, settings.runs);
        if let Some(server) = &server {
            println!("- {}", server.describe().await?);
        }
        print!("\n{}", table.markdown());
        Ok(())
    })
}
