//! `tenure pipeline timeline`.

use super::super::changes;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::changes::{Face, Subject};

/// Tell which versions of a pipeline were put on record, and by whom.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline timeline video")]
pub(crate) struct Timeline {
    /// The pipeline
    pipeline: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::new(Face::Pipeline, self.pipeline), tenure, output).await
    }
}
