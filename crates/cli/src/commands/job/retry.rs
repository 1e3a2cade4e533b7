//! `tenure job retry`.

use super::which::Which;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Action, Status, Tenure};
use tenure_wire::reply;

/// Put a finished job back with its attempts anew, or all that match: the failed ones, unless --status says completed.
/// Prints where the job stands then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure job retry 42
  tenure job retry --queue images --status failed --yes

Exit code 65 if the job has not ended.")]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(super) which: Which,
}

impl Retry {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let Retry { which } = self;
        let Some(id) = which.one() else {
            return which.all("retry", Action::Retry, Some(Status::Failed), tenure, output).await;
        };
        let status = tenure.retry(id).await?;
        output.show(&reply::Retried::from(status), |output, retried| output.line(retried.status));
        Ok(())
    }
}
