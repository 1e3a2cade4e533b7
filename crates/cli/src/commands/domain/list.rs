//! `tenure domain list`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::domain::State;
use tenure::{Tenure, bounds};
use tenure_wire::{Problem, domain as wire, text};

/// List domains by name, all of them or those that want a look.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure domain list\n  tenure domain list --state blocked")]
pub(crate) struct List {
    /// Only those: blocked (offsets wait, and no live lease works on the one before them) or expired
    #[arg(long, value_parser = state)]
    state: Option<State>,

    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Domains in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let after = self.cursor.as_deref().map(|cursor| wire::from_cursor(cursor).ok_or_else(|| wrong(cursor)));
        let page = tenure.domains(after.transpose()?.as_deref(), self.state, self.limit).await?;
        output.show(&wire::Domains::from(page), |output, page| {
            output.table(super::HEADER, page.domains.iter().map(super::row));
            if let Some(cursor) = &page.next_cursor {
                output.note(&format!("more: --cursor {cursor}"));
            }
        });
        Ok(())
    }
}

fn state(text: &str) -> Result<State, String> {
    State::parse(text).ok_or_else(|| "use blocked or expired".to_owned())
}

fn wrong(cursor: &str) -> Problem {
    let (limit, got) = ("the cursor of an earlier page", text::cut(cursor, 80));
    Problem::invalid("out_of_bounds", "cursor", limit, &got, format!("`cursor` must be {limit}; got {got}"))
}
