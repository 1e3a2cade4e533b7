//! `tenure sync show`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use std::io::{self, IsTerminal};
use std::time::Duration;
use tenure::Tenure;
use tenure::sync::{ChunkFilter, SyncId};
use tenure_wire::reply::sync::WholeSync;
use tenure_wire::request::sync::sync_id;
use tenure_wire::{Problem, text, time};

/// How often a watched sync is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Show how far a sync has come; with --watch, until it has ended.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure sync show 7\n  tenure sync show 7 --watch")]
pub(crate) struct Show {
    /// The sync's id, as `tenure sync plan` printed it
    id: String,

    /// Go on until it has ended, with a progress bar on a terminal
    #[arg(long)]
    watch: bool,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let id = sync_id(&self.id);
        let progress = io::stderr().is_terminal();
        let (shown, line) = loop {
            let (shown, line) = self.look(tenure, id).await?;
            let ended = shown.sync.completed_at.is_some() || shown.sync.failed_at.is_some();
            if ended || !self.watch {
                if self.watch && progress {
                    eprintln!("\r{line}\u{1b}[K");
                }
                break (shown, line);
            }
            if progress {
                eprint!("\r{line}\u{1b}[K");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let line = &line;
        output.show(&shown, |output, shown| {
            for (name, value) in fields(shown, line) {
                output.line(&format!("{name:<14}  {}", text::escaped(&value)));
            }
        });
        Ok(())
    }

    async fn look(&self, tenure: &Tenure, id: SyncId) -> Result<(WholeSync, String), Failure> {
        let info = tenure.sync(id).await?.ok_or_else(|| Problem::absent(&format!("sync {}", self.id)))?;
        let chunks = tenure.chunks(id, ChunkFilter::default(), 0, tenure::bounds::LIST_DEFAULT).await?;
        let line = info.progress.to_string();
        Ok((WholeSync::new(info, chunks), line))
    }
}

fn fields(shown: &WholeSync, line: &str) -> Vec<(&'static str, String)> {
    let (sync, progress) = (&shown.sync, &shown.progress);
    vec![
        ("id", sync.id.clone()),
        ("matrix", sync.matrix_id.clone()),
        ("state", sync.state.to_owned()),
        ("progress", line.to_owned()),
        ("available", progress.available.to_string()),
        ("running", progress.running.to_string()),
        ("expired", progress.expired.to_string()),
        ("completed", format!("{} ({} skipped)", progress.completed, progress.skipped)),
        ("failed", progress.failed.to_string()),
        ("rows", progress.rows.to_string()),
        ("priority", sync.priority.to_string()),
        ("worker", or_dash(sync.locked_by.as_deref())),
        ("locked until", or_dash(sync.locked_until.map(|at| time::show(at.0)))),
        ("crashes", sync.crashes_max.map_or(sync.crashes.to_string(), |max| format!("{} of {max}", sync.crashes))),
        ("planned at", time::show(sync.created_at.0)),
        ("completed at", or_dash(sync.completed_at.map(|at| time::show(at.0)))),
        ("failed at", or_dash(sync.failed_at.map(|at| time::show(at.0)))),
        ("error", or_dash(sync.error_message.as_deref())),
    ]
}
