//! `tenure job explain`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, reply, request, text};

/// Say why a job is not running now; the most telling reason comes first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure job explain 42")]
pub(crate) struct Explain {
    /// The job's id, as `tenure enqueue` printed it
    id: String,
}

impl Explain {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let explanation = tenure.explain(request::job_id(&self.id)).await?;
        let explanation = explanation.ok_or_else(|| Problem::absent(&format!("job {}", self.id)))?;
        output.show(&reply::Explanation::from(explanation), |output, explanation| {
            explanation.reasons.iter().for_each(|why| output.line(&text::escaped(&why.message)));
        });
        Ok(())
    }
}
