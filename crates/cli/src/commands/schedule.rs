//! `tenure schedule`.

mod add;

use super::{changes, found, named};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use clap::{Args, Subcommand};
use tenure::changes::{Face, Subject};
use tenure::schedule::Firing;
use tenure::serial::raw;
use tenure::{Tenure, bounds};
use tenure_wire::schedule::reply;
use tenure_wire::{Problem, text};

/// Enqueue jobs by the clock, each slot once however many machines serve.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// List schedules by name, with how they stand
    List(List),
    /// Show what a schedule does, how it stands and its last firings
    #[command(after_help = "Example:\n  tenure schedule show nightly-report")]
    Show(Named),
    /// Put a schedule in place, or change it
    Add(add::Add),
    /// Remove a schedule; the jobs it enqueued stay
    #[command(after_help = "Example:\n  tenure schedule remove nightly-report")]
    Remove(Named),
    /// Let a schedule rest
    #[command(after_help = "Example:\n  tenure schedule pause nightly-report")]
    Pause(Named),
    /// End the rest of a schedule
    #[command(after_help = "Example:\n  tenure schedule resume nightly-report")]
    Resume(Named),
    /// Preview the slots of a schedule, or of an expression
    Next(Next),
    /// Tell what was changed about a schedule, oldest first, and by whom; it may have been removed
    #[command(after_help = "Example:\n  tenure schedule timeline nightly")]
    Timeline(Named),
}

impl Schedule {
    /// Whether it asks nothing of the store.
    pub(super) fn needs_no_store(&self) -> bool {
        matches!(self, Schedule::Next(Next { schedule: None, .. }))
    }

    pub(super) fn only_reads(&self) -> bool {
        match self {
            Schedule::List(_) | Schedule::Show(_) | Schedule::Next(_) | Schedule::Timeline(_) => true,
            Schedule::Add(_) | Schedule::Remove(_) | Schedule::Pause(_) | Schedule::Resume(_) => false,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Schedule::List(list) => list.run(tenure, output).await,
            Schedule::Show(Named { schedule }) => show(&schedule, tenure, output).await,
            Schedule::Add(add) => add.run(tenure, output).await,
            Schedule::Remove(Named { schedule }) => remove(&schedule, tenure, output).await,
            Schedule::Pause(Named { schedule: name }) => {
                let schedule = found(&named("schedule", &name), tenure.verbs().pause_schedule(&name).await?)?;
                output.show(&schedule, details);
                Ok(())
            }
            Schedule::Resume(Named { schedule: name }) => {
                let schedule = found(&named("schedule", &name), tenure.verbs().resume_schedule(&name).await?)?;
                output.show(&schedule, details);
                Ok(())
            }
            Schedule::Next(next) => next.run(tenure, output).await,
            Schedule::Timeline(Named { schedule }) => {
                changes::show(Subject::new(Face::Schedule, schedule), tenure, output).await
            }
        }
    }
}

/// A schedule by its name.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The schedule
    schedule: String,
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
        let page = tenure.verbs().schedules(self.cursor.as_deref(), self.limit).await?;
        output.show(&reply::Schedules::from(page), |output, page| {
            output.table(HEADER, page.schedules.iter().map(row));
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

/// Firings that are shown.
const FIRINGS: u32 = 10;

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
                let definition = found(&named("schedule", &name), tenure.verbs().schedule(&name).await?)?.definition;
                (definition.cron, definition.zone)
            }
        };
        let slots = tenure.verbs().preview(&cron, &zone, self.count).await?;
        output.show(&reply::Slots { slots }, |output, slots| {
            output.table(["SLOT", "LOCAL"], slots.slots.iter().map(|slot| [slot.at.to_string(), slot.local.clone()]));
        });
        Ok(())
    }
}

async fn show(name: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let schedule = found(&named("schedule", name), tenure.verbs().schedule(name).await?)?;
    let firings = tenure.verbs().firings(name, None, FIRINGS).await?.items;
    output.show(&schedule, |output, schedule| {
        details(output, schedule);
        output.line("");
        let row = |firing: &Firing| [firing.slot.to_string(), firing.fired_at.to_string(), firing.job.to_string()];
        output.table(["SLOT", "FIRED", "JOB"], firings.iter().map(row));
    });
    Ok(())
}

async fn remove(name: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    if !tenure.verbs().remove_schedule(name).await? {
        return Err(Problem::absent(&named("schedule", name)).into());
    }
    output.note(&format!("schedule {} is removed", name));
    Ok(())
}

const HEADER: [&str; 8] = ["SCHEDULE", "CRON", "ZONE", "QUEUE", "KIND", "NEXT", "LAST JOB", "MISSED"];

fn row(schedule: &tenure::schedule::Schedule) -> [String; 8] {
    let definition = &schedule.definition;
    let next = if definition.paused { Some("paused".to_owned()) } else { schedule.next_at.map(|at| at.to_string()) };
    [
        schedule.name.clone(),
        definition.cron.clone(),
        definition.zone.clone(),
        definition.job.queue.clone(),
        definition.job.kind.clone(),
        or_dash(next),
        or_dash(schedule.last.map(|last| last.job)),
        schedule.missed.to_string(),
    ]
}

/// What a schedule does and how it stands, under the names of `--json`.
fn details(output: &Output, schedule: &tenure::schedule::Schedule) {
    let definition = &schedule.definition;
    let job = &definition.job;
    let optional = |text: &Option<String>| or_dash(text.as_deref().map(text::escaped));
    for (name, value) in [
        ("cron", text::escaped(&definition.cron)),
        ("zone", text::escaped(&definition.zone)),
        ("catch_up", definition.catch_up.to_string()),
        ("paused", definition.paused.to_string()),
        ("next_at", or_dash(schedule.next_at)),
        ("fired", schedule.fired.to_string()),
        ("missed", schedule.missed.to_string()),
        ("missed_at", or_dash(schedule.missed_at)),
        ("job.queue", text::escaped(&job.queue)),
        ("job.kind", text::escaped(&job.kind)),
        ("job.payload", text::escaped(raw::shown(&job.payload))),
        ("job.priority", job.priority.to_string()),
        ("job.attempts_max", job.attempts_max.to_string()),
        ("job.timeout", or_dash(job.timeout_ms.map(span::show))),
        ("job.ordering_key", optional(&job.ordering_key)),
        ("job.limit_key", optional(&job.limit_key)),
    ] {
        output.line(&format!("{name:<20}  {value}"));
    }
}
