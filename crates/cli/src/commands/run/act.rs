//! `tenure run cancel`, `retry`, `pause` and `resume`: one action each, one answer.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure::pipeline::RunAction;
use tenure_wire::pipeline;

/// End a run now; holders of its stages are told with their next heartbeat. Prints where the run stands then.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run cancel 42 --reason 'wrong source'")]
pub(crate) struct Cancel {
    /// The run's id
    id: String,

    /// Why; kept with the event
    #[arg(long)]
    reason: Option<String>,
}

/// Try again what failed for good, or begin again from a stage and do what follows from it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure run retry 42\n  tenure run retry 42 --from encode")]
pub(crate) struct Retry {
    /// The run's id
    id: String,

    /// Begin again from this stage
    #[arg(long, value_name = "STAGE")]
    from: Option<String>,
}

/// Hand out none of a run's stages; holders go on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run pause 42")]
pub(crate) struct Pause {
    /// The run's id
    id: String,
}

/// Hand out the stages of a paused run again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run resume 42")]
pub(crate) struct Resume {
    /// The run's id
    id: String,
}

async fn act(id: &str, action: RunAction, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let status = tenure.operate_run(pipeline::run_id(id), action).await?;
    output.show(&pipeline::RunActed::from(status), |output, acted| output.line(acted.status));
    Ok(())
}

impl Cancel {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        act(&self.id, RunAction::Cancel { reason: self.reason }, tenure, output).await
    }
}

impl Retry {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let action = self.from.map_or(RunAction::Retry, |stage| RunAction::RetryFrom { stage });
        act(&self.id, action, tenure, output).await
    }
}

impl Pause {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        act(&self.id, RunAction::Pause, tenure, output).await
    }
}

impl Resume {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        act(&self.id, RunAction::Resume, tenure, output).await
    }
}
