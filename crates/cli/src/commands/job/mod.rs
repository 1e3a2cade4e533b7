//! `tenure job`.

mod list;
mod show;
mod timeline;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// Look at jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(list::List),
    /// Show all that is known of a job
    Show(show::Show),
    /// Tell what happened to a job, oldest first
    Timeline(timeline::Timeline),
}

impl Job {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Job::List(list) => list.run(tenure, output).await,
            Job::Show(show) => show.run(tenure, output).await,
            Job::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}
