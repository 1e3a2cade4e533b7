//! `tenure pipeline list`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Tenure, bounds};
use tenure_wire::{pipeline, time};

/// List pipelines by name, each with its highest version.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure pipeline list")]
pub(crate) struct List {
    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Pipelines in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let page = tenure.pipelines(self.cursor.as_deref(), self.limit).await?;
        output.show(&pipeline::Pipelines::from(page), |output, page| {
            let rows = page.pipelines.iter().map(|of| {
                [of.name.clone(), of.version.to_string(), of.stages.len().to_string(), time::show(of.created_at.0)]
            });
            output.table(["NAME", "VERSION", "STAGES", "APPLIED"], rows);
            if let Some(cursor) = &page.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}
