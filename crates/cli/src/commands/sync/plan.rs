//! `tenure sync plan`.

use crate::failure::Failure;
use crate::output::Output;
use crate::span;
use clap::Args;
use tenure::{Tenure, bounds};
use tenure_wire::reply::sync::Planned;

/// Plan a pass over a matrix, with its chunks; prints its id.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure sync plan orders 2026-01 2026-02 2026-03
  tenure sync plan orders --skip-if-synced-within 1d --file chunks.ndjson

A file has one chunk on each line, as in the HTTP API: {\"chunk_hash\":\"2026-01\",\"payload\":{\"from\":1,\"to\":5000}}.
A matrix has one unfinished sync at a time; 65 if there is one, and the message names it.")]
pub(crate) struct Plan {
    /// What is synced
    matrix: String,

    /// Chunks, by their hashes
    #[arg(value_name = "HASH")]
    hashes: Vec<String>,

    /// More chunks, one JSON object on each line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<String>,

    /// Higher is claimed first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// Chunks synced more recently than this count as done, such as 90s or 7d
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    skip_if_synced_within: Option<u64>,

    /// Attempts that each chunk may have
    #[arg(long, value_name = "N", default_value_t = bounds::ATTEMPTS_DEFAULT)]
    attempts_max: u32,

    /// Leases of the sync that may run out without a chunk done in between; no limit if left out
    #[arg(long, value_name = "N")]
    crashes_max: Option<u32>,
}

impl Plan {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let mut plan = tenure::sync::Plan::new(self.matrix).priority(self.priority).attempts_max(self.attempts_max);
        plan.skip_if_synced_within_ms = self.skip_if_synced_within;
        plan.crashes_max = self.crashes_max;
        plan.chunks = super::chunks(self.hashes, self.file.as_deref())?;
        let planned = tenure.plan_sync(plan).await?;
        output.show(&Planned::from(planned), |output, planned| {
            output.line(&planned.id);
            let Planned { planned, skipped, .. } = planned;
            output.note(&format!("{planned} chunks planned, {skipped} of them synced recently enough"));
        });
        Ok(())
    }
}
