//! `tenure schedule add`.

use crate::failure::Failure;
use crate::output::Output;
use crate::span;
use clap::{Args, ValueEnum};
use tenure::schedule::{CatchUp, NewSchedule};
use tenure::{NewJob, Tenure, bounds};

/// Put a schedule in place, or change it; prints it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure schedule add nightly '30 2 * * *' reports '{\"format\":\"pdf\"}' --kind report --zone Europe/Berlin
  tenure schedule add heartbeat '@every 90s' ops --catch-up none
  tenure schedule add billing '0 0 1 * *' billing --kind close-month --catch-up all --ordering-key close-month

CRON has 5 fields (minute hour day month weekday), or 6 with seconds in front; or is @hourly, @daily, @weekly, @monthly,
@yearly, or @every and a span. `tenure schedule next --cron EXPR` shows what it means. The jobs are enqueued by `tenure
serve`; any number of servers may run, and each slot is enqueued once.")]
pub(crate) struct Add {
    /// The schedule; changed if it is there already
    schedule: String,

    /// When: a cron expression
    cron: String,

    /// The queue its jobs are enqueued in
    queue: String,

    /// The payload of each job: any JSON, kept as it is; null if left out
    #[arg(value_name = "JSON")]
    payload: Option<String>,

    /// What a worker must know to run it
    #[arg(long, default_value = "default")]
    kind: String,

    /// The zone in which the expression is read, by its IANA name
    #[arg(long, default_value = "UTC")]
    zone: String,

    /// What becomes of slots that nobody looked at in time
    #[arg(long, value_enum, default_value_t = Policy::Latest)]
    catch_up: Policy,

    /// Put it in place resting; without this, whether it rests stays as it is
    #[arg(long)]
    paused: bool,

    /// Higher is claimed first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// Attempts each job may have
    #[arg(long, value_name = "N", default_value_t = bounds::ATTEMPTS_DEFAULT)]
    attempts_max: u32,

    /// How long one attempt may take, such as 90s or 5m
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    timeout: Option<u64>,

    /// Jobs of one such key run one at a time, in the order they were enqueued
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,

    /// The tenant whose limit they count against
    #[arg(long, value_name = "KEY")]
    limit_key: Option<String>,
}

/// The policies, as `--help` explains them.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// Nothing: a slot is fired within a minute, or not at all
    None,
    /// The latest of them is fired, once
    Latest,
    /// Each is fired, oldest first; of very many, the last thousand
    All,
}

impl Add {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let payload = self.payload.unwrap_or_else(|| "null".to_owned());
        let mut job =
            NewJob::new(self.queue, self.kind, payload).priority(self.priority).attempts_max(self.attempts_max);
        job.timeout_ms = self.timeout;
        job.ordering_key = self.ordering_key;
        job.limit_key = self.limit_key;
        let catch_up = match self.catch_up {
            Policy::None => CatchUp::None,
            Policy::Latest => CatchUp::Latest,
            Policy::All => CatchUp::All,
        };
        let mut schedule = NewSchedule::new(self.schedule, self.cron, job).zone(self.zone).catch_up(catch_up);
        schedule.paused = self.paused.then_some(true);
        let schedule = tenure.verbs().put_schedule(schedule).await?;
        output.show(&schedule, super::details);
        Ok(())
    }
}
