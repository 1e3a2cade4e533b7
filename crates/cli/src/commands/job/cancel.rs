//! `tenure job cancel`.

use super::which::Which;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Action, Tenure};
use tenure_wire::reply;

/// End a job, or all jobs that match: a waiting one at once, a running one by asking its holder with the next heartbeat.
/// Prints where the job stands then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure job cancel 42 --reason 'wrong customer'
  tenure job cancel --queue images --kind resize --yes

Exit code 65 if the job has already ended.")]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(super) which: Which,

    /// Why; kept with the event
    #[arg(long)]
    reason: Option<String>,

    /// End running jobs now, whatever their holders do
    #[arg(long)]
    force: bool,
}

impl Cancel {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let Cancel { which, reason, force } = self;
        let Some(id) = which.one() else {
            let action = Action::Cancel { reason, force };
            return which.all("cancel", action, None, tenure, output).await;
        };
        let status = tenure.cancel(id, reason.as_deref(), force).await?;
        output.show(&reply::Cancelled::from(status), |output, cancelled| {
            output.line(cancelled.status);
            if cancelled.cancel_requested {
                output.note("its holder is asked to stop with the next heartbeat; --force ends it now");
            }
        });
        Ok(())
    }
}
