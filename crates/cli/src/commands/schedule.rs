//! `tenure schedule`.

mod add;

use super::{changes, found, named};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use clap::{Args, Subcommand};
use tenure::changes::{Face, Subject};
use tenure::{Tenure, bounds};
use tenure_wire::reply::At;
use tenure_wire::schedule::reply;
use tenure_wire::{Problem, text, time};

/// Enqueue jobs by the clock, each slot once however many machines serve.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// List schedules by name, with how they stand
    List(List),
    /// Show what a schedule does, how it stands and its last firings
    Show(Show),
    /// Put a schedule in place, or change it
    Add(add::Add),
    /// Remove a schedule; the jobs it enqueued stay
    Remove(Remove),
    /// Let a schedule rest
    Pause(Pause),
    /// End the rest of a schedule
    Resume(Resume),
    /// Preview the slots of a schedule, or of an expression
    Next(Next),
    /// Tell what was changed about a schedule, oldest first, and by whom; it may have been removed
    Timeline(Timeline),
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

/// List schedules by name, with how they stand.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule list")]
pub(crate) struct List {
    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Schedules in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let page = tenure.schedules(self.cursor.as_deref(), self.limit).await?;
        output.show(&reply::Schedules::from(page), |output, page| {
            output.table(HEADER, page.schedules.iter().map(row));
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

/// Firings that are shown.
const FIRINGS: u32 = 10;

/// Show what a schedule does, how it stands and its last firings: which slot became which job.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule show nightly-report")]
pub(crate) struct Show {
    /// The schedule
    schedule: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let schedule = found(&named("schedule", &self.schedule), tenure.schedule(&self.schedule).await?)?;
        let firings = tenure.firings(&self.schedule, None, FIRINGS).await?;
        let firings = reply::Firings::from(firings);
        output.show(&reply::Schedule::from(schedule), |output, schedule| {
            details(output, schedule);
            output.line("");
            let row =
                |firing: &reply::Firing| [time::show(firing.slot.0), time::show(firing.fired_at.0), firing.job.clone()];
            output.table(["SLOT", "FIRED", "JOB"], firings.firings.iter().map(row));
        });
        Ok(())
    }
}

/// Remove a schedule and the record of its firings; the jobs it enqueued stay.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule remove nightly-report")]
pub(crate) struct Remove {
    /// The schedule
    schedule: String,
}

impl Remove {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        if !tenure.remove_schedule(&self.schedule).await? {
            return Err(Problem::absent(&named("schedule", &self.schedule)).into());
        }
        output.note(&format!("schedule {} is removed", self.schedule));
        Ok(())
    }
}

/// Let a schedule rest: no slot is fired, and none counts as missed. Prints it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule pause nightly-report")]
pub(crate) struct Pause {
    /// The schedule
    schedule: String,
}

impl Pause {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let schedule = found(&named("schedule", &self.schedule), tenure.pause_schedule(&self.schedule).await?)?;
        output.show(&reply::Schedule::from(schedule), details);
        Ok(())
    }
}

/// End the rest of a schedule: it goes on with the first slot after now. Prints it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule resume nightly-report")]
pub(crate) struct Resume {
    /// The schedule
    schedule: String,
}

impl Resume {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let schedule = found(&named("schedule", &self.schedule), tenure.resume_schedule(&self.schedule).await?)?;
        output.show(&reply::Schedule::from(schedule), details);
        Ok(())
    }
}

/// Preview the slots of a schedule, or of an expression that is not put in place yet.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure schedule next nightly-report
  tenure schedule next --cron '30 2 * * *' --zone Europe/Berlin --count 3")]
pub(crate) struct Next {
    /// The schedule
    #[arg(required_unless_present = "cron", conflicts_with = "cron")]
    schedule: Option<String>,

    /// An expression instead
    #[arg(long, value_name = "EXPR")]
    cron: Option<String>,

    /// The zone in which that expression is read
    #[arg(long, requires = "cron", default_value = "UTC")]
    zone: String,

    /// How many slots, 1 to 1,000
    #[arg(long, default_value_t = 10)]
    count: u32,
}

impl Next {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let (cron, zone) = match (self.cron, self.schedule) {
            (Some(cron), _) => (cron, self.zone),
            (None, name) => {
                let name = name.unwrap_or_default();
                let definition = found(&named("schedule", &name), tenure.schedule(&name).await?)?.definition;
                (definition.cron, definition.zone)
            }
        };
        let slots = tenure.preview(&cron, &zone, self.count).await?;
        output.show(&reply::Slots::from(slots), |output, slots| {
            output.table(["SLOT", "LOCAL"], slots.slots.iter().map(|slot| [time::show(slot.at.0), slot.local.clone()]));
        });
        Ok(())
    }
}

/// Tell what was changed about a schedule, oldest first, and by whom; it may have been removed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule timeline nightly")]
pub(crate) struct Timeline {
    /// The schedule
    schedule: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::new(Face::Schedule, self.schedule), tenure, output).await
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
    let at = |at: Option<At>| or_dash(at.map(|at| time::show(at.0)));
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
