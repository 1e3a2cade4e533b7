//! `tenure store timeline`.

use super::super::changes;
use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::changes::Subject;

/// Tell what was changed about the whole store, oldest first, and by whom: its limit, its epoch.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure store timeline")]
pub(crate) struct Timeline {}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        changes::show(Subject::store(), tenure, output).await
    }
}
