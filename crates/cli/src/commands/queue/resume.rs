//! `tenure queue resume`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Change, Tenure};

/// Allow claims from a queue again. Prints its settings.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure queue resume images")]
pub(crate) struct Resume {
    /// The queue
    queue: String,
}

impl Resume {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let change = Change { paused: Some(false), ..Change::default() };
        super::change(tenure, output, &self.queue, change).await
    }
}
