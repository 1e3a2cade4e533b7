//! `tenure domain timeline`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, domain as wire, text, time};

/// Tell what went otherwise than well in a domain, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain timeline acct-42")]
pub(crate) struct Timeline {
    /// The domain
    domain: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let found = tenure.domain(&self.domain).timeline().await?;
        let found = found.ok_or_else(|| Problem::absent(&format!("domain {}", text::cut(&self.domain, 128))))?;
        output.show(&wire::Timeline::from(found), |output, timeline| {
            let rows = timeline.events.iter();
            let rows = rows.map(|event| [time::show(event.at.0), event.what.to_owned(), event.message.clone()]);
            output.table(["AT", "WHAT", "MESSAGE"], rows);
        });
        Ok(())
    }
}
