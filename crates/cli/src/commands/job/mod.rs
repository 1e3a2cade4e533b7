//! `tenure job`.

mod cancel;
mod explain;
mod list;
mod retry;
mod show;
mod timeline;
mod which;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// Look at jobs, cancel them or try them again.
#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(list::List),
    /// Show all that is known of a job
    Show(show::Show),
    /// Tell what happened to a job, oldest first
    Timeline(timeline::Timeline),
    /// Say why a job is not running
    Explain(explain::Explain),
    /// End a job, or all that match
    Cancel(cancel::Cancel),
    /// Put a finished job back, or all that match
    Retry(retry::Retry),
}

impl Job {
    /// Refuses what is wrong whatever the store holds.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Job::Cancel(cancel) => cancel.which.check(),
            Job::Retry(retry) => retry.which.check(),
            _ => Ok(()),
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Job::List(list) => list.run(tenure, output).await,
            Job::Show(show) => show.run(tenure, output).await,
            Job::Timeline(timeline) => timeline.run(tenure, output).await,
            Job::Explain(explain) => explain.run(tenure, output).await,
            Job::Cancel(cancel) => cancel.run(tenure, output).await,
            Job::Retry(retry) => retry.run(tenure, output).await,
        }
    }
}
