//! `tenure pipeline`.

mod apply;
mod list;
mod show;
mod start;
mod timeline;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// Put pipelines on record and start runs of them.
#[derive(Debug, Subcommand)]
pub(crate) enum Pipeline {
    /// Put a version of a pipeline on record, from a TOML or JSON file
    Apply(apply::Apply),
    /// List pipelines by name
    List(list::List),
    /// Start a run
    Start(start::Start),
    /// Show the stages of a pipeline
    Show(show::Show),
    /// Tell which versions of a pipeline were put on record, and by whom
    Timeline(timeline::Timeline),
}

impl Pipeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Pipeline::Apply(apply) => apply.run(tenure, output).await,
            Pipeline::List(list) => list.run(tenure, output).await,
            Pipeline::Start(start) => start.run(tenure, output).await,
            Pipeline::Show(show) => show.run(tenure, output).await,
            Pipeline::Timeline(timeline) => timeline.run(tenure, output).await,
        }
    }
}
