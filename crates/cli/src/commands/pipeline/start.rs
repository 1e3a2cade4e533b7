//! `tenure pipeline start`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::pipeline::NewRun;
use tenure_wire::{Problem, pipeline};

/// Start a run, and print its id. Its stages are made READY by an orchestrator: `tenure serve` runs one.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline start video '{\"file\":\"holiday.mov\"}'")]
pub(crate) struct Start {
    /// The pipeline
    name: String,

    /// What its first stages work on, as JSON
    #[arg(default_value = "null")]
    input: String,

    /// Under which version; default the highest
    #[arg(long)]
    version: Option<u32>,

    /// The same key and input is the same run, as long as it is kept
    #[arg(long)]
    key: Option<String>,
}

impl Start {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let new = NewRun { pipeline: self.name, version: self.version, input: self.input, key: self.key };
        let id = tenure.start_run(new).await?;
        let run = tenure.run(id).await?.ok_or_else(|| Problem::absent(&format!("run {id}")))?;
        output.show(&pipeline::Run::whole(run), |output, run| output.line(&run.id));
        Ok(())
    }
}
