//! `tenure store`.

mod new_epoch;
mod timeline;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// Look after the store.
#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Make every later token outrank every earlier one, after a restore from a copy
    NewEpoch(new_epoch::NewEpoch),
    /// Tell what was changed about the whole store, oldest first, and by whom
    Timeline(timeline::Timeline),
}

impl Store {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Store::NewEpoch(new_epoch) => new_epoch.run(tenure, output).await,
            Store::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}
