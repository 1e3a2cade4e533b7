//! `tenure schedule timeline`.

use super::super::changes;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::changes::{Face, Subject};

/// Tell what was changed about a schedule, oldest first, and by whom; it may have been removed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule timeline nightly")]
pub(crate) struct Timeline {
    /// The schedule
    schedule: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::new(Face::Schedule, self.schedule), tenure, output).await
    }
}
