//! `tenure run timeline`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, pipeline, time};

/// Tell what happened to a run, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run timeline 42")]
pub(crate) struct Timeline {
    /// The run's id
    id: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let events = tenure.run_timeline(pipeline::run_id(&self.id)).await?;
        let events = events.ok_or_else(|| Problem::absent(&format!("run {}", self.id)))?;
        output.show(&pipeline::RunTimeline::from(events), |output, timeline| {
            let rows = timeline
                .events
                .iter()
                .map(|event| [time::show(event.at.0), event.what.to_owned(), event.message.clone()]);
            output.table(["AT", "WHAT", "MESSAGE"], rows);
        });
        Ok(())
    }
}
