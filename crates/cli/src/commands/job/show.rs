//! `tenure job show`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, reply, request, text, time};

/// Show all that is known of a job, its claims included.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure job show 42")]
pub(crate) struct Show {
    /// The job's id, as `tenure enqueue` printed it
    id: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let job = tenure.job(request::job_id(&self.id)).await?;
        let job = job.ok_or_else(|| Problem::absent(&format!("job {}", self.id)))?;
        output.show(&reply::Job::whole(job), |output, job| {
            for (name, value) in fields(job) {
                output.line(&format!("{name:<16}  {}", text::escaped(&value)));
            }
            let attempts = job.attempts.iter().flatten();
            let rows: Vec<_> = attempts
                .map(|attempt| {
                    [
                        attempt.token.to_string(),
                        attempt.worker.clone(),
                        time::show(attempt.claimed_at.0),
                        or_dash(attempt.ended_at.map(|at| time::show(at.0))),
                        attempt.outcome.unwrap_or("running").to_owned(),
                        attempt.beats.to_string(),
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
}

/// The fields of `--json`, in its order and under its names; what does not apply is left out.
fn fields(job: &reply::Job) -> Vec<(&'static str, String)> {
    let at = |at: reply::At| time::show(at.0);
    let json = |json: &reply::Json| json.text().to_owned();
    let backoff = |backoff: &reply::Backoff| {
        let reply::Backoff { initial_ms, factor, max_ms, jitter } = backoff;
        format!("{initial_ms} ms × {factor}^n, at most {max_ms} ms, ±{jitter}")
    };
    let fields = [
        ("id", Some(job.id.clone())),
        ("queue", Some(job.queue.clone())),
        ("kind", Some(job.kind.clone())),
        ("status", Some(job.status.to_owned())),
        ("reason", job.reason.map(str::to_owned)),
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
        ("result", job.result.get().map(json)),
        ("progress", job.progress.as_ref().map(json)),
        ("checkpoint", job.checkpoint.get().map(json)),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
