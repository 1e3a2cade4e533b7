//! `tenure queue timeline`.

use super::super::changes;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::changes::{Face, Subject};

/// Tell what was changed about a queue, oldest first: which setting, from what to what, and by whom.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure queue timeline images")]
pub(crate) struct Timeline {
    /// The queue
    queue: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::new(Face::Queue, self.queue), tenure, output).await
    }
}
