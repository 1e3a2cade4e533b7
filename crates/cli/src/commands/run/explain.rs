//! `tenure run explain`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, pipeline, reply, text};

/// Say what a run waits for: which prerequisite is missing, who holds what; the most telling reason comes first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run explain 42")]
pub(crate) struct Explain {
    /// The run's id
    id: String,
}

impl Explain {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let explanation = tenure.explain_run(pipeline::run_id(&self.id)).await?;
        let explanation = explanation.ok_or_else(|| Problem::absent(&format!("run {}", self.id)))?;
        output.show(&reply::Explanation::from(explanation), |output, explanation| {
            explanation.reasons.iter().for_each(|why| output.line(&text::escaped(&why.message)));
        });
        Ok(())
    }
}
