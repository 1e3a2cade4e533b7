//! `tenure domain skip`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::domain as wire;

/// Give up one offset, wherever it stands: it counts as failed, and the rest keeps its order.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain skip acct-42 17")]
pub(crate) struct Skip {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The offset, 0 to 2^63 − 1
    offset: u64,
}

impl Skip {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let skipped = tenure.domain(&self.domain).skip(self.offset).await?;
        output.show(&wire::Skipped::from(skipped), |output, skipped| super::result(output, skipped.result, None));
        Ok(())
    }
}
