//! `tenure queue`.

mod list;
mod show;

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Subcommand;
use tenure::Tenure;
use tenure_wire::{reply, time};

/// Look at queues.
#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List queues by name, with what they hold
    List(list::List),
    /// Show what a queue holds
    Show(show::Show),
}

impl Queue {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Queue::List(list) => list.run(tenure, output).await,
            Queue::Show(show) => show.run(tenure, output).await,
        }
    }
}

/// The columns of a queue.
const HEADER: [&str; 6] = ["QUEUE", "QUEUED", "RUNNING", "COMPLETED", "FAILED", "OLDEST QUEUED"];

fn row(queue: &reply::Queue) -> [String; 6] {
    let count = |state: &str, count: u64| {
        if queue.counts_capped.contains(&state) { format!("{count}+") } else { count.to_string() }
    };
    [
        queue.name.clone(),
        count("queued", queue.counts.queued),
        count("running", queue.counts.running),
        count("completed", queue.counts.completed),
        count("failed", queue.counts.failed),
        or_dash(queue.oldest_queued_at.map(|at| time::show(at.0))),
    ]
}
