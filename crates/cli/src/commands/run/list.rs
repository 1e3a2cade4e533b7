//! `tenure run list`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::pipeline::{Filter, RunId, RunStatus};
use tenure::{Tenure, bounds};
use tenure_wire::{pipeline, time};

/// List runs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run list --pipeline video --status ERROR")]
pub(crate) struct List {
    /// Only of this pipeline
    #[arg(long)]
    pipeline: Option<String>,

    /// Only in this state: RUNNING, DONE or ERROR
    #[arg(long, value_parser = status)]
    status: Option<RunStatus>,

    /// Where an earlier page said that the next begins
    #[arg(long, value_parser = cursor)]
    cursor: Option<RunId>,

    /// Runs in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let filter = Filter { pipeline: self.pipeline, status: self.status };
        let page = tenure.runs(filter, self.cursor, self.limit).await?;
        output.show(&pipeline::Runs::from(page), |output, page| {
            let rows = page.runs.iter().map(|run| {
                let status = if run.paused { format!("{} (paused)", run.status) } else { run.status.to_owned() };
                [
                    run.id.clone(),
                    run.pipeline.clone(),
                    run.version.to_string(),
                    status,
                    time::show(run.created_at.0),
                    or_dash(run.finished_at.map(|at| time::show(at.0))),
                ]
            });
            output.table(["ID", "PIPELINE", "VERSION", "STATUS", "STARTED", "FINISHED"], rows);
            if let Some(cursor) = &page.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}

fn status(word: &str) -> Result<RunStatus, String> {
    RunStatus::parse(&word.to_uppercase()).ok_or_else(|| "use RUNNING, DONE or ERROR".to_owned())
}

fn cursor(text: &str) -> Result<RunId, String> {
    text.parse().map_err(|()| "use the cursor that an earlier page gave".to_owned())
}
