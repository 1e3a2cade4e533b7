//! `tenure queue show`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, reply, text};

/// Show how a queue behaves and what it holds.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure queue show images")]
pub(crate) struct Show {
    /// The queue
    queue: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let queue = tenure.queue(&self.queue).await?;
        let queue = queue.ok_or_else(|| Problem::absent(&format!("queue {}", text::cut(&self.queue, 128))))?;
        output.show(&reply::Queue::from(queue), |output, queue| {
            output.table(super::HEADER, [super::row(queue)]);
            output.line("");
            super::settings(output, queue);
        });
        Ok(())
    }
}
