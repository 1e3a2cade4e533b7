//! `tenure domain succeed`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::domain as wire;

/// Say that the offset in flight is done, and hear which one waits first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain succeed acct-42 1099511627777")]
pub(crate) struct Succeed {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The token that acquire printed
    token: String,
}

impl Succeed {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let token = tenure::domain::token_of(&self.token);
        let answer = tenure.domain(&self.domain).succeed(token).await?;
        output.show(&wire::Finished::from(answer), |output, finished| {
            let count = finished.retry_count.map(|count| count.to_string());
            super::result(output, finished.result, finished.offset.map(|offset| offset.to_string()).or(count));
        });
        Ok(())
    }
}
