//! `tenure domain heartbeat`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{domain as wire, time};

/// Renew a lease that runs out.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain heartbeat acct-42 1099511627777")]
pub(crate) struct Heartbeat {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The token that acquire printed
    token: String,
}

impl Heartbeat {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let token = tenure::domain::token_of(&self.token);
        let beaten = tenure.domain(&self.domain).heartbeat(token).await?;
        output.show(&wire::Beaten::from(beaten), |output, beaten| {
            let until = beaten.lease_expires_at.map_or_else(|| "never".to_owned(), |at| time::show(at.0));
            super::result(output, "RENEWED", Some(until));
        });
        Ok(())
    }
}
