//! `tenure domain acquire`.

use crate::failure::Failure;
use crate::output::Output;
use crate::span;
use clap::Args;
use tenure::Tenure;
use tenure_wire::domain as wire;

/// Ask for an offset: it is acquired, or waits behind the one in flight.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tenure domain acquire acct-42 1\n  tenure domain acquire acct-42 1 --holder worker-7 --lease 30s"
)]
pub(crate) struct Acquire {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The offset, 0 to 2^63 − 1
    offset: u64,

    /// Who asks: then no other is told the token
    #[arg(long)]
    holder: Option<String>,

    /// How long the lease lasts without a heartbeat, such as 30s; for ever if left out
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    lease: Option<u64>,
}

impl Acquire {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let (domain, holder) = (self.domain.into(), self.holder.map(Into::into));
        let acquire = tenure::domain::Acquire { domain, offset: self.offset, holder, lease_ms: self.lease };
        let acquired = tenure.domain_try_acquire(acquire).await?;
        output.show(&wire::Acquired::from(acquired), |output, acquired| {
            super::result(output, acquired.result, acquired.token.clone());
            if let Some(expired) = acquired.expired_offset {
                output.note(&format!("the lease of offset {expired} ran out: acquire it again first"));
            }
        });
        Ok(())
    }
}
