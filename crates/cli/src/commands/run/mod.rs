//! `tenure run`.

mod act;
mod explain;
mod list;
mod show;
mod timeline;
mod verify;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// Look at runs of pipelines, cancel, retry and verify them.
#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// List runs, newest first
    List(list::List),
    /// Draw the graph of a run: states, holders, progress
    Show(show::Show),
    /// Try again what failed for good, or begin again from a stage
    Retry(act::Retry),
    /// End a run now
    Cancel(act::Cancel),
    /// Hand out none of a run's stages
    Pause(act::Pause),
    /// Hand out the stages of a paused run again
    Resume(act::Resume),
    /// Find artifacts that are missing or corrupt, and have them made again
    Verify(verify::Verify),
    /// Tell what happened to a run, oldest first
    Timeline(timeline::Timeline),
    /// Say what a run waits for
    Explain(explain::Explain),
}

impl Run {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Run::List(list) => list.run(tenure, output).await,
            Run::Show(show) => show.run(tenure, output).await,
            Run::Retry(retry) => retry.run(tenure, output).await,
            Run::Cancel(cancel) => cancel.run(tenure, output).await,
            Run::Pause(pause) => pause.run(tenure, output).await,
            Run::Resume(resume) => resume.run(tenure, output).await,
            Run::Verify(verify) => verify.run(tenure, output).await,
            Run::Timeline(timeline) => timeline.run(tenure, output).await,
            Run::Explain(explain) => explain.run(tenure, output).await,
        }
    }
}
