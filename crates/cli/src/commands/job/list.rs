//! `tenure job list`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::{Filter, JobId, Status, Tenure, bounds};
use tenure_wire::{reply, time};

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
    #[arg(long, value_parser = cursor)]
    cursor: Option<JobId>,

    /// Jobs in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let filter = Filter { queue: self.queue, status: self.status, kind: self.kind };
        let page = tenure.jobs(filter, self.cursor, self.limit).await?;
        output.show(&reply::Jobs::from(page), |output, page| {
            let rows = page.jobs.iter().map(|job| {
                let status = job.reason.map_or(job.status.to_owned(), |reason| format!("{} ({reason})", job.status));
                [
                    job.id.clone(),
                    job.queue.clone(),
                    job.kind.clone(),
                    status,
                    job.priority.to_string(),
                    format!("{}/{}", job.attempt, job.attempts_max),
                    time::show(job.run_at.0),
                    or_dash(job.worker.as_deref()),
                ]
            });
            output.table(["ID", "QUEUE", "KIND", "STATUS", "PRIORITY", "ATTEMPT", "RUN AT", "WORKER"], rows);
            if let Some(cursor) = &page.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}

pub(super) fn status(word: &str) -> Result<Status, String> {
    Status::parse(word).ok_or_else(|| "use queued, running, completed or failed".to_owned())
}

fn cursor(text: &str) -> Result<JobId, String> {
    text.parse().map_err(|()| "use the cursor that an earlier page gave".to_owned())
}
