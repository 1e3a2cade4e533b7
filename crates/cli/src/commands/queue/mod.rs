//! `tenure queue`.

mod limit;
mod list;
mod pause;
mod resume;
mod show;
mod timeline;

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use clap::Subcommand;
use tenure::{Change, Tenure};
use tenure_wire::{reply, time};

/// Look at queues, pause and limit them.
#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List queues by name, with what they hold
    List(list::List),
    /// Show how a queue behaves and what it holds
    Show(show::Show),
    /// Stop claims from a queue
    Pause(pause::Pause),
    /// Allow claims from a queue again
    Resume(resume::Resume),
    /// Limit what runs, of a queue or in all, or show the limits
    Limit(limit::Limit),
    /// Tell what was changed about a queue, oldest first
    Timeline(timeline::Timeline),
}

impl Queue {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Queue::List(list) => list.run(tenure, output).await,
            Queue::Show(show) => show.run(tenure, output).await,
            Queue::Pause(pause) => pause.run(tenure, output).await,
            Queue::Resume(resume) => resume.run(tenure, output).await,
            Queue::Limit(limit) => limit.run(tenure, output).await,
            Queue::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}

/// The columns of a queue.
const HEADER: [&str; 7] = ["QUEUE", "QUEUED", "RUNNING", "COMPLETED", "FAILED", "OLDEST QUEUED", "PAUSED"];

fn row(queue: &reply::Queue) -> [String; 7] {
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
        or_dash(queue.paused.then_some("paused")),
    ]
}

/// How a queue behaves, under the names of `--json` and in the words of `tenure queue limit`.
fn settings(output: &Output, queue: &reply::Queue) {
    let limit = |limit: Option<u32>| limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    let rate = |rate: &Option<reply::Rate>| rate.as_ref().map_or_else(|| "none".to_owned(), limit::show_rate);
    for (name, value) in [
        ("paused", queue.paused.to_string()),
        ("max_running", limit(queue.max_running)),
        ("max_running_per_key", limit(queue.max_running_per_key)),
        ("rate_limit", rate(&queue.rate_limit)),
        ("rate_limit_per_key", rate(&queue.rate_limit_per_key)),
        ("lane_on_failure", queue.lane_on_failure.to_owned()),
        ("retention", if queue.retention_ms == 0 { "0 (not kept)".to_owned() } else { span::show(queue.retention_ms) }),
    ] {
        output.line(&format!("{name:<20}  {value}"));
    }
}

/// Changes a queue's settings. A name that was never used may be a slip, and is told.
async fn change(tenure: &Tenure, output: &Output, name: &str, change: Change) -> Result<(), Failure> {
    let new = tenure.queue(name).await?.is_none();
    let queue = tenure.change_queue(name, change).await?;
    output.show(&reply::Queue::from(queue), settings);
    if new {
        output.note(&format!("queue {name} was never used before; it is on record now"));
    }
    Ok(())
}
