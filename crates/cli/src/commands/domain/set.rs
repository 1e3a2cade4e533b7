//! `tenure domain set`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::domain::Change;
use tenure_wire::domain as wire;

/// A count, or the word that sets it back. (Not an `Option`, which clap would read as a flag that may be left out.)
#[derive(Clone, Copy, Debug)]
struct Given(Option<u32>);

/// Set how often an offset is tried, and how often it may be taken over.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tenure domain set acct-42 --max-retries 5 --takeovers-max 3\n  tenure domain set acct-42 --max-retries default --takeovers-max none"
)]
pub(crate) struct Set {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// Tries after the first, 0 to 1,000; or default (3)
    #[arg(long, value_name = "N|default", value_parser = count)]
    max_retries: Option<Given>,

    /// How often one offset may be acquired again after its lease ran out, 1 to 1,000; or none
    #[arg(long, value_name = "N|none", value_parser = count)]
    takeovers_max: Option<Given>,
}

impl Set {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let given = |set: Option<Given>| set.map(|Given(count)| count);
        let change = Change { max_retries: given(self.max_retries), takeovers_max: given(self.takeovers_max) };
        let domain = tenure.domain(&self.domain).change(change).await?;
        output.show(&wire::Domain::from(domain), |output, domain| {
            output.line(&format!("{:<20}  {}", "max_retries", domain.max_retries));
            let takeovers = domain.takeovers_max.map_or_else(|| "none".to_owned(), |max| max.to_string());
            output.line(&format!("{:<20}  {takeovers}", "takeovers_max"));
        });
        Ok(())
    }
}

fn count(text: &str) -> Result<Given, String> {
    if matches!(text, "default" | "none") {
        return Ok(Given(None));
    }
    text.parse().map(|count| Given(Some(count))).map_err(|_| "use a whole number, default or none".to_owned())
}
