//! `tenure queue`.

mod limit;

use super::{changes, found, named};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use clap::{Args, Subcommand};
use tenure::changes::{Face, Subject};
use tenure::{Change, Rate, Status, Tenure, bounds};
use tenure_wire::queue::reply;

/// Look at queues, pause and limit them.
#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List queues by name, with what they hold
    List(List),
    /// Show how a queue behaves and what it holds
    #[command(after_help = "Example:\n  tenure queue show images")]
    Show(Named),
    /// Stop claims from a queue
    #[command(after_help = "Example:\n  tenure queue pause images")]
    Pause(Named),
    /// Allow claims from a queue again
    #[command(after_help = "Example:\n  tenure queue resume images")]
    Resume(Named),
    /// Limit what runs, of a queue or in all, or show the limits
    Limit(limit::Limit),
    /// Tell what was changed about a queue, oldest first
    #[command(after_help = "Example:\n  tenure queue timeline images")]
    Timeline(Named),
}

impl Queue {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Queue::List(_) | Queue::Show(_) | Queue::Timeline(_) => true,
            Queue::Limit(limit) => limit.only_reads(),
            Queue::Pause(_) | Queue::Resume(_) => false,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Queue::List(list) => list.run(tenure, output).await,
            Queue::Show(Named { queue }) => show(&queue, tenure, output).await,
            Queue::Pause(Named { queue }) => pause(&queue, true, tenure, output).await,
            Queue::Resume(Named { queue }) => pause(&queue, false, tenure, output).await,
            Queue::Limit(limit) => limit.run(tenure, output).await,
            Queue::Timeline(Named { queue }) => changes::show(Subject::new(Face::Queue, queue), tenure, output).await,
        }
    }
}

/// A queue by its name.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The queue
    queue: String,
}

/// List queues by name, with what they hold.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure queue list")]
pub(crate) struct List {
    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Queues in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let page = tenure.verbs().queues(self.cursor.as_deref(), self.limit).await?;
        output.show(&reply::Queues::from(page), |output, page| {
            output.table(HEADER, page.queues.iter().map(row));
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

async fn show(name: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let queue = found(&named("queue", name), tenure.verbs().queue(name).await?)?;
    output.show(&reply::Queue::from(queue), |output, queue| {
        output.table(HEADER, [row(queue)]);
        output.line("");
        settings(output, queue);
    });
    Ok(())
}

async fn pause(name: &str, paused: bool, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    change(tenure, output, name, Change { paused: Some(paused), ..Change::default() }).await
}

/// The columns of a queue.
const HEADER: [&str; 7] = ["QUEUE", "QUEUED", "RUNNING", "COMPLETED", "FAILED", "OLDEST QUEUED", "PAUSED"];

fn row(queue: &reply::Queue) -> [String; 7] {
    let count = |state: Status, count: u64| {
        if queue.counts_capped.contains(&state) { format!("{count}+") } else { count.to_string() }
    };
    [
        queue.name.clone(),
        count(Status::Queued, queue.counts.queued),
        count(Status::Running, queue.counts.running),
        count(Status::Completed, queue.counts.completed),
        count(Status::Failed, queue.counts.failed),
        or_dash(queue.oldest_queued_at),
        or_dash(queue.settings.paused.then_some("paused")),
    ]
}

/// How a queue behaves, under the names of `--json` and in the words of `tenure queue limit`.
fn settings(output: &Output, queue: &reply::Queue) {
    let set = &queue.settings;
    let limit = |limit: Option<u32>| limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    let rate = |rate: Option<Rate>| rate.map_or_else(|| "none".to_owned(), limit::show_rate);
    for (name, value) in [
        ("paused", set.paused.to_string()),
        ("max_running", limit(set.max_running)),
        ("max_running_per_key", limit(set.max_running_per_key)),
        ("rate_limit", rate(set.rate_limit)),
        ("rate_limit_per_key", rate(set.rate_limit_per_key)),
        ("lane_on_failure", set.lane_on_failure.to_string()),
        ("retention", if set.retention_ms == 0 { "0 (not kept)".to_owned() } else { span::show(set.retention_ms) }),
    ] {
        output.line(&format!("{name:<20}  {value}"));
    }
}

/// Changes a queue's settings. A name that was never used may be a slip, and is told.
async fn change(tenure: &Tenure, output: &Output, name: &str, change: Change) -> Result<(), Failure> {
    let new = tenure.verbs().queue(name).await?.is_none();
    let queue = tenure.verbs().change_queue(name, change).await?;
    output.show(&reply::Queue::from(queue), settings);
    if new {
        output.note(&format!("queue {name} was never used before; it is on record now"));
    }
    Ok(())
}
