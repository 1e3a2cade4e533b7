//! `tenure sync cancel`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::reply::sync::SyncCancelled;
use tenure_wire::request::sync::sync_id;

/// End a sync at once; whoever holds it or one of its chunks is told so.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync cancel 7 --reason 'wrong source'")]
pub(crate) struct Cancel {
    /// The sync's id
    id: String,

    /// Why; kept with the event
    #[arg(long)]
    reason: Option<String>,
}

impl Cancel {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let state = tenure.cancel_sync(sync_id(&self.id), self.reason.as_deref()).await?;
        output.show(&SyncCancelled::from(state), |output, cancelled| output.line(cancelled.state));
        Ok(())
    }
}
