//! `tenure schedule resume`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::reply;

/// End the rest of a schedule: it goes on with the first slot after now. Prints it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule resume nightly-report")]
pub(crate) struct Resume {
    /// The schedule
    schedule: String,
}

impl Resume {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let schedule = tenure.resume_schedule(&self.schedule).await?.ok_or_else(|| super::absent(&self.schedule))?;
        output.show(&reply::Schedule::from(schedule), super::details);
        Ok(())
    }
}
