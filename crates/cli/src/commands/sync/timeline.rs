//! `tenure sync timeline`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::reply::sync::SyncTimeline;
use tenure_wire::request::sync::sync_id;
use tenure_wire::{Problem, time};

/// Tell what happened to a sync and its chunks otherwise than well, oldest first, the latest thousand.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync timeline 7")]
pub(crate) struct Timeline {
    /// The sync's id
    id: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let events = tenure.sync_timeline(sync_id(&self.id)).await?;
        let events = events.ok_or_else(|| Problem::absent(&format!("sync {}", self.id)))?;
        output.show(&SyncTimeline::from(events), |output, timeline| {
            let rows = timeline
                .events
                .iter()
                .map(|event| [time::show(event.at.0), event.what.to_owned(), event.message.clone()]);
            output.table(["AT", "WHAT", "MESSAGE"], rows);
        });
        Ok(())
    }
}
