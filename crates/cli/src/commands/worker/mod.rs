//! `tenure worker`.

mod list;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// Look at workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Worker {
    /// List workers by name: who claimed in the last day, and where
    List(list::List),
}

impl Worker {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Worker::List(list) => list.run(tenure, output).await,
        }
    }
}
