//! `tenure schedule remove`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;

/// Remove a schedule and the record of its firings; the jobs it enqueued stay.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule remove nightly-report")]
pub(crate) struct Remove {
    /// The schedule
    schedule: String,
}

impl Remove {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        if !tenure.remove_schedule(&self.schedule).await? {
            return Err(super::absent(&self.schedule));
        }
        output.note(&format!("schedule {} is removed", self.schedule));
        Ok(())
    }
}
