//! `tenure store`.

use super::changes;
use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
use tenure::Tenure;
use tenure::changes::Subject;
use tenure_wire::store::Epoch;

/// Look after the store.
#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Make every later token outrank every earlier one, after a restore from a copy
    NewEpoch(NewEpoch),
    /// Tell what was changed about the whole store, oldest first, and by whom
    Timeline(Timeline),
}

impl Store {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Store::Timeline(_) => true,
            Store::NewEpoch(_) => false,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Store::NewEpoch(new_epoch) => new_epoch.run(tenure, output).await,
            Store::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}

/// Make every later token outrank every earlier one. Run it on an SQLite file that was put back from a backup: workers
/// from before the restore may still hold tokens that the restored file does not know of.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure store new-epoch --store sqlite:tenure.db")]
pub(crate) struct NewEpoch {}

impl NewEpoch {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let epoch = tenure.new_epoch().await?.count;
        output.show(&Epoch { epoch }, |output, reply| output.line(&reply.epoch.to_string()));
        Ok(())
    }
}

/// Tell what was changed about the whole store, oldest first, and by whom: its limit, its epoch.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure store timeline")]
pub(crate) struct Timeline {}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::store(), tenure, output).await
    }
}
