//! `tenure job timeline`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, reply, request, time};

/// Tell what happened to a job, oldest first: who held it when, and which stale write was refused.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure job timeline 42")]
pub(crate) struct Timeline {
    /// The job's id, as `tenure enqueue` printed it
    id: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let events = tenure.timeline(request::job_id(&self.id)).await?;
        let events = events.ok_or_else(|| Problem::absent(&format!("job {}", self.id)))?;
        output.show(&reply::Timeline::from(events), |output, timeline| {
            let rows = timeline
                .events
                .iter()
                .map(|event| [time::show(event.at.0), event.what.to_owned(), event.message.clone()]);
            output.table(["AT", "WHAT", "MESSAGE"], rows);
        });
        Ok(())
    }
}
