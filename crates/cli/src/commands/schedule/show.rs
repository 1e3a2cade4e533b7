//! `tenure schedule show`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{reply, time};

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
        let schedule = tenure.schedule(&self.schedule).await?.ok_or_else(|| super::absent(&self.schedule))?;
        let firings = tenure.firings(&self.schedule, None, FIRINGS).await?;
        let firings = reply::Firings::from(firings);
        output.show(&reply::Schedule::from(schedule), |output, schedule| {
            super::details(output, schedule);
            output.line("");
            let row =
                |firing: &reply::Firing| [time::show(firing.slot.0), time::show(firing.fired_at.0), firing.job.clone()];
            output.table(["SLOT", "FIRED", "JOB"], firings.firings.iter().map(row));
        });
        Ok(())
    }
}
