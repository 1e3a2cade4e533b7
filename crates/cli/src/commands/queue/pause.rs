//! `tenure queue pause`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Change, Tenure};

/// Stop claims from a queue; what runs goes on. Prints its settings.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure queue pause images")]
pub(crate) struct Pause {
    /// The queue
    queue: String,
}

impl Pause {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let change = Change { paused: Some(true), ..Change::default() };
        super::change(tenure, output, &self.queue, change).await
    }
}
