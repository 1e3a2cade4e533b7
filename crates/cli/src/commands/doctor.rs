//! `tenure doctor`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::{Level, Tenure};
use tenure_wire::store::Findings;

/// Look at the store's health: durability, schema, pooler, whoever holds vacuum or the write lock back, clocks, room.
/// Says what was found and what to do; changes nothing. Ends with 1 if a promise does not hold.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure doctor
  tenure doctor --store postgres://app@db.example/work
  tenure doctor --json | jq '.findings[] | select(.level != \"fine\")'")]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let findings = tenure.doctor().await?;
        let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Fine);
        output.show(&Findings { findings }, |output, reply| {
            let rows = reply.findings.iter().map(|finding| {
                let advice = finding.advice.as_ref();
                [finding.level.to_string(), finding.topic.to_owned(), finding.found.clone(), or_dash(advice)]
            });
            output.table(["LEVEL", "TOPIC", "FOUND", "WHAT TO DO"], rows);
        });
        if worst == Level::Wrong { Err(Failure::unwell()) } else { Ok(()) }
    }
}
