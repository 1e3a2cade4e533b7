//! `tenure sync add`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::reply::sync::Planned;
use tenure_wire::request::sync::sync_id;

/// Add chunks to a sync that has not ended; those it has already stay as they are.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync add 7 2026-04 2026-05")]
pub(crate) struct Add {
    /// The sync's id, as `tenure sync plan` printed it
    id: String,

    /// Chunks, by their hashes
    #[arg(value_name = "HASH", required_unless_present = "file")]
    hashes: Vec<String>,

    /// More chunks, one JSON object on each line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
}

impl Add {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let chunks = super::chunks(self.hashes, self.file.as_deref())?;
        let planned = tenure.add_chunks(sync_id(&self.id), chunks).await?;
        output.show(&Planned::from(planned), |output, planned| {
            output.line(&format!("{} added, {} planned", planned.added, planned.planned));
        });
        Ok(())
    }
}
