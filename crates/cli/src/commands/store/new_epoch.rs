//! `tenure store new-epoch`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::reply;

/// Make every later token outrank every earlier one. Run it on an SQLite file that was put back from a backup: workers
/// from before the restore may still hold tokens that the restored file does not know of.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure store new-epoch --store sqlite:tenure.db")]
pub(crate) struct NewEpoch {}

impl NewEpoch {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let epoch = tenure.new_epoch().await?.count;
        output.show(&reply::Epoch { epoch }, |output, reply| output.line(&reply.epoch.to_string()));
        Ok(())
    }
}
