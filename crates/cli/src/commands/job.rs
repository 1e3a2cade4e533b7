//! `tenure job`.

mod which;

use super::{cursor, found};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::{Args, Subcommand};
use tenure::serial::raw;
use tenure::{Action, AttemptOutcome, Backoff, Event, Filter, JobId, Status, Tenure, Time, bounds};
use tenure_wire::queue::{reply, request};
use tenure_wire::text;
use which::Which;

/// Look at jobs, cancel them or try them again.
#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(List),
    /// Show all that is known of a job
    #[command(after_help = "Example:\n  tenure job show 42")]
    Show(Id),
    /// Tell what happened to a job, oldest first
    #[command(after_help = "Example:\n  tenure job timeline 42")]
    Timeline(Id),
    /// Say why a job is not running
    #[command(after_help = "Example:\n  tenure job explain 42")]
    Explain(Id),
    /// End a job, or all that match
    Cancel(Cancel),
    /// Put a finished job back, or all that match
    Retry(Retry),
}

impl Job {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Job::List(_) | Job::Show(_) | Job::Timeline(_) | Job::Explain(_) => true,
            Job::Cancel(_) | Job::Retry(_) => false,
        }
    }

    /// Refuses what is wrong whatever the store holds.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Job::Cancel(cancel) => cancel.which.check(),
            Job::Retry(retry) => retry.which.check(),
            _ => Ok(()),
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Job::List(list) => list.run(tenure, output).await,
            Job::Show(Id { id }) => show(&id, tenure, output).await,
            Job::Timeline(Id { id }) => timeline(&id, tenure, output).await,
            Job::Explain(Id { id }) => explain(&id, tenure, output).await,
            Job::Cancel(cancel) => cancel.run(tenure, output).await,
            Job::Retry(retry) => retry.run(tenure, output).await,
        }
    }
}

/// A job by its id.
#[derive(Debug, Args)]
pub(crate) struct Id {
    /// The job's id, as `tenure enqueue` printed it
    id: String,
}

/// List jobs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure job list --queue images --status failed
  tenure job list --json | jq -r '.jobs[].id'")]
pub(crate) struct List {
    /// Only of this queue
    #[arg(long)]
    queue: Option<String>,

    /// Only in this state: queued, running, completed or failed
    #[arg(long, value_parser = status)]
    status: Option<Status>,

    /// Only of this kind
    #[arg(long)]
    kind: Option<String>,

    /// Where an earlier page said that the next begins
    #[arg(long, value_parser = cursor::<JobId>)]
    cursor: Option<JobId>,

    /// Jobs in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let filter = Filter { queue: self.queue, status: self.status, kind: self.kind };
        let page = tenure.verbs().jobs(filter, self.cursor, self.limit).await?;
        output.show(&reply::Jobs::from(page), |output, page| {
            let rows = page.jobs.iter().map(|job| {
                let status = job.reason.map_or(job.status.to_string(), |reason| format!("{} ({reason})", job.status));
                [
                    job.id.to_string(),
                    job.queue.clone(),
                    job.kind.clone(),
                    status,
                    job.priority.to_string(),
                    format!("{}/{}", job.attempt, job.attempts_max),
                    job.run_at.to_string(),
                    or_dash(job.worker.as_deref()),
                ]
            });
            output.table(["ID", "QUEUE", "KIND", "STATUS", "PRIORITY", "ATTEMPT", "RUN AT", "WORKER"], rows);
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

pub(super) fn status(word: &str) -> Result<Status, String> {
    Status::parse(word).ok_or_else(|| "use queued, running, completed or failed".to_owned())
}

async fn show(id: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let job = found(&format!("job {}", id), tenure.verbs().job(request::job_id(id)).await?)?;
    output.show(&reply::Job::whole(job), |output, job| {
        for (name, value) in fields(job) {
            output.line(&format!("{name:<16}  {}", text::escaped(&value)));
        }
        let attempts = job.attempts.iter().flatten();
        let rows: Vec<_> = attempts
            .map(|attempt| {
                [
                    attempt.token.to_string(),
                    attempt.owner.clone(),
                    attempt.claimed_at.to_string(),
                    or_dash(attempt.ended_at),
                    attempt.outcome.map_or("running", AttemptOutcome::as_str).to_owned(),
                    attempt.pulse.beats.to_string(),
                    or_dash(attempt.error.as_deref()),
                ]
            })
            .collect();
        if !rows.is_empty() {
            output.line("");
            output.table(["TOKEN", "WORKER", "CLAIMED", "ENDED", "OUTCOME", "BEATS", "ERROR"], rows);
        }
    });
    Ok(())
}

async fn timeline(id: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let events = found(&format!("job {}", id), tenure.verbs().timeline(request::job_id(id)).await?)?;
    output.timeline(events, Event::message, |event| (event.at, event.what.as_str()));
    Ok(())
}

async fn explain(id: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let explanation = found(&format!("job {}", id), tenure.verbs().explain(request::job_id(id)).await?)?;
    output.show(&explanation, Output::reasons);
    Ok(())
}

/// The fields of `--json`, in its order and under its names; what does not apply is left out.
fn fields(job: &reply::Job) -> Vec<(&'static str, String)> {
    let at = |at: Time| at.to_string();
    let json = |json: &String| raw::shown(json).to_owned();
    let backoff = |backoff: &Backoff| {
        let Backoff { initial_ms, factor, max_ms, jitter } = backoff;
        format!("{initial_ms} ms × {factor}^n, at most {max_ms} ms, ±{jitter}")
    };
    let fields = [
        ("id", Some(job.id.to_string())),
        ("queue", Some(job.queue.clone())),
        ("kind", Some(job.kind.clone())),
        ("status", Some(job.status.to_string())),
        ("reason", job.reason.map(|reason| reason.to_string())),
        ("payload", job.payload.as_ref().map(json)),
        ("priority", Some(job.priority.to_string())),
        ("attempt", Some(format!("{} of {}", job.attempt, job.attempts_max))),
        ("created_at", Some(at(job.created_at))),
        ("run_at", Some(at(job.run_at))),
        ("started_at", job.started_at.map(at)),
        ("updated_at", Some(at(job.updated_at))),
        ("finished_at", job.finished_at.map(at)),
        ("timeout_ms", job.timeout_ms.map(|ms| ms.to_string())),
        ("backoff", job.backoff.as_ref().map(backoff)),
        ("ordering_key", job.ordering_key.clone()),
        ("limit_key", job.limit_key.clone()),
        ("cancel_requested", job.cancel_requested.then(|| "true".to_owned())),
        ("worker", job.worker.clone()),
        ("token", job.token.map(|token| token.to_string())),
        ("lease_expires_at", job.lease_expires_at.map(at)),
        ("error", job.error.clone()),
        ("result", job.result.iter().flatten().next().map(json)),
        ("progress", job.progress.as_ref().map(json)),
        ("checkpoint", job.checkpoint.iter().flatten().next().map(json)),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// End a job, or all jobs that match: a waiting one at once, a running one by asking its holder with the next heartbeat.
/// Prints where the job stands then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure job cancel 42 --reason 'wrong customer'
  tenure job cancel --queue images --kind resize --yes

Exit code 65 if the job has already ended.")]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(super) which: Which,

    /// Why; kept with the event
    #[arg(long)]
    reason: Option<String>,

    /// End running jobs now, whatever their holders do
    #[arg(long)]
    force: bool,
}

impl Cancel {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let Cancel { which, reason, force } = self;
        let Some(id) = which.one() else {
            let action = Action::Cancel { reason, force };
            return which.all("cancel", action, None, tenure, output).await;
        };
        let status = tenure.verbs().cancel(id, reason.as_deref(), force).await?;
        output.show(&reply::Cancelled::from(status), |output, cancelled| {
            output.line(cancelled.status.as_str());
            if cancelled.cancel_requested {
                output.note("its holder is asked to stop with the next heartbeat; --force ends it now");
            }
        });
        Ok(())
    }
}

/// Put a finished job back with its attempts anew, or all that match: the failed ones, unless --status says completed.
/// Prints where the job stands then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure job retry 42
  tenure job retry --queue images --status failed --yes

Exit code 65 if the job has not ended.")]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(super) which: Which,
}

impl Retry {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let Retry { which } = self;
        let Some(id) = which.one() else {
            return which.all("retry", Action::Retry, Some(Status::Failed), tenure, output).await;
        };
        let status = tenure.verbs().retry(id).await?;
        output.show(&reply::Retried { status }, |output, retried| output.line(retried.status.as_str()));
        Ok(())
    }
}
