//! `tenure worker`.

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
use tenure::{Sighting, Tenure, WorkerInfo, bounds};
use tenure_wire::queue::reply;

/// Look at workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Worker {
    /// List workers by name: who claimed in the last day, and where
    List(List),
}

impl Worker {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Worker::List(_) => true,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Worker::List(list) => list.run(tenure, output).await,
        }
    }
}

/// List workers by name: who claimed in the last day, where and for which kinds, and how many jobs each holds.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure worker list
  tenure worker list --json | jq -r '.workers[] | select(.running == 0) | .name'

Times are true to a minute.")]
pub(crate) struct List {
    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Workers in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let page = tenure.verbs().workers(self.cursor.as_deref(), self.limit).await?;
        output.show(&reply::Workers::from(page), |output, page| {
            let header = ["WORKER", "RUNNING", "LAST SEEN", "FIRST SEEN", "QUEUES"];
            output.table(header, page.workers.iter().map(row));
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

fn row(worker: &WorkerInfo) -> [String; 5] {
    let mut queues: Vec<String> = worker.sightings.iter().map(place).collect();
    if worker.sightings_capped {
        queues.push("…".to_owned());
    }
    [
        worker.name.clone(),
        format!("{}{}", worker.running, if worker.running_capped { "+" } else { "" }),
        worker.last_seen_at.to_string(),
        worker.first_seen_at.to_string(),
        queues.join(" "),
    ]
}

/// `images`, or `images(resize,thumb)` for one that looks only for some kinds.
fn place(sighting: &Sighting) -> String {
    let Some(kinds) = &sighting.kinds else { return sighting.queue.clone() };
    let more = if sighting.kinds_capped { ",…" } else { "" };
    format!("{}({}{more})", sighting.queue, kinds.join(","))
}
