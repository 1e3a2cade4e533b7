//! `tenure sync list`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::sync::{State, SyncFilter, SyncId};
use tenure::{Tenure, bounds};
use tenure_wire::reply::sync::Syncs;
use tenure_wire::time;

/// List syncs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync list --state RUNNING")]
pub(crate) struct List {
    /// Only of this matrix
    #[arg(long)]
    matrix: Option<String>,

    /// Only in this state: AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED
    #[arg(long, value_parser = super::state)]
    state: Option<State>,

    /// Where an earlier page said that the next begins
    #[arg(long, value_parser = cursor)]
    cursor: Option<SyncId>,

    /// Syncs in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let filter = SyncFilter { matrix_id: self.matrix, state: self.state };
        let page = tenure.syncs(filter, self.cursor, self.limit).await?;
        output.show(&Syncs::from(page), |output, page| {
            let rows = page.syncs.iter().map(|sync| {
                [
                    sync.id.clone(),
                    sync.matrix_id.clone(),
                    sync.state.to_owned(),
                    sync.priority.to_string(),
                    sync.planned.to_string(),
                    time::show(sync.created_at.0),
                    or_dash(sync.locked_by.as_deref()),
                    or_dash(sync.error_message.as_deref()),
                ]
            });
            output.table(["ID", "MATRIX", "STATE", "PRIORITY", "CHUNKS", "PLANNED AT", "WORKER", "ERROR"], rows);
            if let Some(cursor) = &page.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}

fn cursor(text: &str) -> Result<SyncId, String> {
    text.parse().map_err(|()| "use the cursor that an earlier page gave".to_owned())
}
