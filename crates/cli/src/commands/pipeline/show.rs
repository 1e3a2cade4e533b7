//! `tenure pipeline show`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, pipeline};

/// Show the stages of a pipeline.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline show video --version 2")]
pub(crate) struct Show {
    /// The pipeline
    name: String,

    /// Which version; default the highest
    #[arg(long)]
    version: Option<u32>,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let info = tenure.pipeline(&self.name, self.version).await?;
        let which = self.version.map_or(String::new(), |version| format!(" in version {version}"));
        let info = info.ok_or_else(|| Problem::absent(&format!("pipeline {}{which}", self.name)))?;
        output.show(&pipeline::Pipeline::from(info), |output, of| {
            let rows = of.stages.iter().map(|stage| {
                [
                    stage.name.clone(),
                    stage.needs.join(", "),
                    stage.lease_ms.to_string(),
                    stage.attempts_max.to_string(),
                    stage.priority.to_string(),
                    if stage.segmented { "yes" } else { "no" }.to_owned(),
                ]
            });
            output.table(["STAGE", "NEEDS", "LEASE MS", "ATTEMPTS", "PRIORITY", "SEGMENTED"], rows);
        });
        Ok(())
    }
}
