//! `tenure schedule list`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Tenure, bounds};
use tenure_wire::reply;

/// List schedules by name, with how they stand.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure schedule list")]
pub(crate) struct List {
    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Schedules in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let page = tenure.schedules(self.cursor.as_deref(), self.limit).await?;
        output.show(&reply::Schedules::from(page), |output, page| {
            output.table(super::HEADER, page.schedules.iter().map(super::row));
            if let Some(cursor) = &page.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}
