//! `tenure domain show`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{Problem, domain as wire, text};

/// Show where a domain stands: what is in flight for whom, what waits, and its settings.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain show acct-42")]
pub(crate) struct Show {
    /// The domain
    domain: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let found = tenure.domain(&self.domain).show().await?;
        let found = found.ok_or_else(|| Problem::absent(&format!("domain {}", text::cut(&self.domain, 128))))?;
        output.show(&wire::Domain::from(found), |output, domain| {
            output.table(super::HEADER, [super::row(domain)]);
            output.line("");
            output.line(&format!("{:<20}  {}", "max_retries", domain.max_retries));
            let takeovers = domain.takeovers_max.map_or_else(|| "none".to_owned(), |max| max.to_string());
            output.line(&format!("{:<20}  {takeovers}", "takeovers_max"));
        });
        Ok(())
    }
}
