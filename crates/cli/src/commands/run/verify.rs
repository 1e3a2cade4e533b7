//! `tenure run verify`.

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Args;
use tenure::Tenure;
use tenure::pipeline::Fault;
use tenure::pipeline::artifacts::Folder;
use tenure_wire::pipeline;

/// Compare every artifact of a run with what was recorded of it. Exit code 65 if one is missing or corrupt and was not
/// repaired, or cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run verify 42 --artifacts /srv/artifacts --repair")]
pub(crate) struct Verify {
    /// The run's id
    id: String,

    /// The folder in which artifacts are kept
    #[arg(long, value_name = "FOLDER", env = "TENURE_ARTIFACTS", default_value = "artifacts")]
    artifacts: String,

    /// Have exactly the stages and segments that made them done again; the run must have ended
    #[arg(long)]
    repair: bool,
}

impl Verify {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let id = pipeline::run_id(&self.id);
        let (looked_at, findings) = tenure.verify_run(id, &Folder::new(&self.artifacts)).await?;
        // A folder that is not there has lost nothing: it is another one.
        if looked_at > 0 {
            std::fs::read_dir(&self.artifacts).map_err(|error| Failure::unreadable(&self.artifacts, &error))?;
        }
        let unreadable = findings.iter().filter(|finding| finding.fault == Fault::Unreadable).count();
        let damaged = findings.len() - unreadable;
        let (repaired, refused) = match self.repair && damaged > 0 {
            true => match tenure.repair_run(id, &findings).await {
                Ok(status) => (Some(status), None),
                Err(error) => (None, Some(error)),
            },
            false => (None, None),
        };
        let count = findings.len();
        let damaged = if repaired.is_some() { 0 } else { damaged };
        output.show(&pipeline::Verified::new(looked_at, findings, repaired), |output, verified| {
            let rows = verified.findings.iter().map(|found| {
                let unit = found.segment.as_ref().map_or(found.stage.clone(), |of| format!("{}/{of}", found.stage));
                [unit, found.fault.to_owned(), found.path.clone(), or_dash(found.why.as_deref())]
            });
            output.table(["MADE BY", "FAULT", "PATH", "WHY"], rows);
            output.note(&format!("{looked_at} artifacts, {count} not as recorded"));
            if let Some(status) = verified.repaired {
                output.note(&format!("what is missing or corrupt is made again; the run is {status}"));
            }
        });
        if let Some(refused) = refused {
            return Err(refused.into());
        }
        if damaged + unreadable > 0 {
            return Err(Failure::artifacts(damaged, unreadable));
        }
        Ok(())
    }
}
