//! `tenure schedule`.

mod add;
mod list;
mod next;
mod pause;
mod remove;
mod resume;
mod show;
mod timeline;

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use clap::Subcommand;
use tenure::Tenure;
use tenure_wire::{Problem, reply, text, time};

/// Enqueue jobs by the clock, each slot once however many machines serve.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// List schedules by name, with how they stand
    List(list::List),
    /// Show what a schedule does, how it stands and its last firings
    Show(show::Show),
    /// Put a schedule in place, or change it
    Add(add::Add),
    /// Remove a schedule; the jobs it enqueued stay
    Remove(remove::Remove),
    /// Let a schedule rest
    Pause(pause::Pause),
    /// End the rest of a schedule
    Resume(resume::Resume),
    /// Preview the slots of a schedule, or of an expression
    Next(next::Next),
    /// Tell what was changed about a schedule, oldest first, and by whom; it may have been removed
    Timeline(timeline::Timeline),
}

impl Schedule {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Schedule::List(list) => list.run(tenure, output).await,
            Schedule::Show(show) => show.run(tenure, output).await,
            Schedule::Add(add) => add.run(tenure, output).await,
            Schedule::Remove(remove) => remove.run(tenure, output).await,
            Schedule::Pause(pause) => pause.run(tenure, output).await,
            Schedule::Resume(resume) => resume.run(tenure, output).await,
            Schedule::Next(next) => next.run(tenure, output).await,
            Schedule::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}

const HEADER: [&str; 8] = ["SCHEDULE", "CRON", "ZONE", "QUEUE", "KIND", "NEXT", "LAST JOB", "MISSED"];

fn row(schedule: &reply::Schedule) -> [String; 8] {
    let next = if schedule.paused { Some("paused".to_owned()) } else { schedule.next_at.map(|at| time::show(at.0)) };
    [
        schedule.name.clone(),
        schedule.cron.clone(),
        schedule.zone.clone(),
        schedule.job.queue.clone(),
        schedule.job.kind.clone(),
        or_dash(next),
        or_dash(schedule.last.as_ref().map(|last| &last.job)),
        schedule.missed.to_string(),
    ]
}

/// What a schedule does and how it stands, under the names of `--json`.
fn details(output: &Output, schedule: &reply::Schedule) {
    let at = |at: Option<reply::At>| or_dash(at.map(|at| time::show(at.0)));
    let job = &schedule.job;
    let optional = |text: &Option<String>| or_dash(text.as_deref().map(text::escaped));
    for (name, value) in [
        ("cron", text::escaped(&schedule.cron)),
        ("zone", text::escaped(&schedule.zone)),
        ("catch_up", schedule.catch_up.to_owned()),
        ("paused", schedule.paused.to_string()),
        ("next_at", at(schedule.next_at)),
        ("fired", schedule.fired.to_string()),
        ("missed", schedule.missed.to_string()),
        ("missed_at", at(schedule.missed_at)),
        ("job.queue", text::escaped(&job.queue)),
        ("job.kind", text::escaped(&job.kind)),
        ("job.payload", text::escaped(job.payload.text())),
        ("job.priority", job.priority.to_string()),
        ("job.attempts_max", job.attempts_max.to_string()),
        ("job.timeout", or_dash(job.timeout_ms.map(span::show))),
        ("job.ordering_key", optional(&job.ordering_key)),
        ("job.limit_key", optional(&job.limit_key)),
    ] {
        output.line(&format!("{name:<20}  {value}"));
    }
}

/// There is no such schedule.
fn absent(name: &str) -> Failure {
    Problem::absent(&format!("schedule {}", text::cut(name, 128))).into()
}
