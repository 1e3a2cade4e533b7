//! `tenure schedule pause`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::reply;

/// Let a schedule rest: no slot is fired, and none counts as missed. Prints it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule pause nightly-report")]
pub(crate) struct Pause {
    /// The schedule
    schedule: String,
}

impl Pause {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let schedule = tenure.pause_schedule(&self.schedule).await?.ok_or_else(|| super::absent(&self.schedule))?;
        output.show(&reply::Schedule::from(schedule), super::details);
        Ok(())
    }
}
