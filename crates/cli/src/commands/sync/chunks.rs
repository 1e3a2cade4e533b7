//! `tenure sync chunks`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::sync::{ChunkFilter, State};
use tenure::{Tenure, bounds};
use tenure_wire::reply::sync::WholeSync;
use tenure_wire::request::sync::sync_id;
use tenure_wire::{Problem, time};

/// List the chunks of a sync, in the order of its plan.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync chunks 7 --state FAILED")]
pub(crate) struct Chunks {
    /// The sync's id
    id: String,

    /// Only in this state: AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED
    #[arg(long, value_parser = super::state)]
    state: Option<State>,

    /// Where an earlier page said that the next begins
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    cursor: u64,

    /// Chunks in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl Chunks {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let id = sync_id(&self.id);
        let info = tenure.sync(id).await?.ok_or_else(|| Problem::absent(&format!("sync {}", self.id)))?;
        let page = tenure.chunks(id, ChunkFilter { state: self.state }, self.cursor, self.limit).await?;
        output.show(&WholeSync::new(info, page), |output, shown| {
            let rows = shown.chunks.iter().map(|chunk| {
                let state = match chunk.reason {
                    Some(reason) => format!("{} ({reason})", chunk.state),
                    None if chunk.skipped => format!("{} (skipped)", chunk.state),
                    None => chunk.state.to_owned(),
                };
                [
                    chunk.chunk_hash.clone(),
                    state,
                    format!("{}/{}", chunk.attempt, chunk.attempts_max),
                    or_dash(chunk.row_count),
                    or_dash(chunk.last_synced_at.map(|at| time::show(at.0))),
                    or_dash(chunk.locked_by.as_deref()),
                    or_dash(chunk.error_message.as_deref()),
                ]
            });
            output.table(["CHUNK", "STATE", "ATTEMPT", "ROWS", "LAST SYNCED", "WORKER", "ERROR"], rows);
            if let Some(cursor) = &shown.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}
