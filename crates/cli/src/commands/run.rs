//! `tenure run`.

mod show;

use super::{cursor, found};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::{Args, Subcommand};
use tenure::pipeline::artifacts::Folder;
use tenure::pipeline::{Event, Fault, Filter, RunAction, RunId, RunStatus};
use tenure::{Tenure, bounds};
use tenure_wire::pipeline::reply;
use tenure_wire::pipeline::request::run_id;

/// Look at runs of pipelines, cancel, retry and verify them.
#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// List runs, newest first
    List(List),
    /// Draw the graph of a run: states, holders, progress
    Show(show::Show),
    /// Try again what failed for good, or begin again from a stage
    Retry(Retry),
    /// End a run now
    Cancel(Cancel),
    /// Hand out none of a run's stages
    #[command(after_help = "Example:\n  tenure run pause 42")]
    Pause(Id),
    /// Hand out the stages of a paused run again
    #[command(after_help = "Example:\n  tenure run resume 42")]
    Resume(Id),
    /// Find artifacts that are missing or corrupt, and have them made again
    Verify(Verify),
    /// Tell what happened to a run, oldest first
    #[command(after_help = "Example:\n  tenure run timeline 42")]
    Timeline(Id),
    /// Say what a run waits for
    #[command(after_help = "Example:\n  tenure run explain 42")]
    Explain(Id),
}

impl Run {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Run::List(_) | Run::Show(_) | Run::Timeline(_) | Run::Explain(_) => true,
            Run::Verify(verify) => !verify.repair,
            Run::Retry(_) | Run::Cancel(_) | Run::Pause(_) | Run::Resume(_) => false,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Run::List(list) => list.run(tenure, output).await,
            Run::Show(show) => show.run(tenure, output).await,
            Run::Retry(retry) => retry.run(tenure, output).await,
            Run::Cancel(cancel) => cancel.run(tenure, output).await,
            Run::Pause(Id { id }) => act(&id, RunAction::Pause, tenure, output).await,
            Run::Resume(Id { id }) => act(&id, RunAction::Resume, tenure, output).await,
            Run::Verify(verify) => verify.run(tenure, output).await,
            Run::Timeline(Id { id }) => timeline(&id, tenure, output).await,
            Run::Explain(Id { id }) => explain(&id, tenure, output).await,
        }
    }
}

/// A run by its id.
#[derive(Debug, Args)]
pub(crate) struct Id {
    /// The run's id
    id: String,
}

/// List runs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure run list --pipeline video --status ERROR")]
pub(crate) struct List {
    /// Only of this pipeline
    #[arg(long)]
    pipeline: Option<String>,

    /// Only in this state: RUNNING, DONE or ERROR
    #[arg(long, value_parser = status)]
    status: Option<RunStatus>,

    /// Where an earlier page said that the next begins
    #[arg(long, value_parser = cursor::<RunId>)]
    cursor: Option<RunId>,

    /// Runs in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let filter = Filter { pipeline: self.pipeline, status: self.status };
        let page = tenure.verbs().runs(filter, self.cursor, self.limit).await?;
        output.show(&reply::Runs::from(page), |output, page| {
            let rows = page.runs.iter().map(|reply::Run { run, .. }| {
                let status = if run.paused { format!("{} (paused)", run.status) } else { run.status.to_string() };
                [
                    run.id.to_string(),
                    run.pipeline.clone(),
                    run.version.to_string(),
                    status,
                    run.created_at.to_string(),
                    or_dash(run.finished_at),
                ]
            });
            output.table(["ID", "PIPELINE", "VERSION", "STATUS", "STARTED", "FINISHED"], rows);
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

fn status(word: &str) -> Result<RunStatus, String> {
    RunStatus::parse(&word.to_uppercase()).ok_or_else(|| "use RUNNING, DONE or ERROR".to_owned())
}

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

async fn act(id: &str, action: RunAction, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let status = tenure.verbs().operate_run(run_id(id), action).await?;
    output.show(&reply::RunActed { status }, |output, acted| output.line(acted.status.as_str()));
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
        let id = run_id(&self.id);
        let (looked_at, findings) = tenure.verbs().verify_run(id, &Folder::new(&self.artifacts)).await?;
        // A folder that is not there has lost nothing: it is another one.
        if looked_at > 0 {
            std::fs::read_dir(&self.artifacts).map_err(|error| Failure::unreadable(&self.artifacts, &error))?;
        }
        let unreadable = findings.iter().filter(|finding| finding.fault == Fault::Unreadable).count();
        let damaged = findings.len() - unreadable;
        let (repaired, refused) = match self.repair && damaged > 0 {
            true => match tenure.verbs().repair_run(id, &findings).await {
                Ok(status) => (Some(status), None),
                Err(error) => (None, Some(error)),
            },
            false => (None, None),
        };
        let count = findings.len();
        let damaged = if repaired.is_some() { 0 } else { damaged };
        output.show(&reply::Verified::new(looked_at, findings, repaired), |output, verified| {
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

async fn timeline(id: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let events = found(&format!("run {}", id), tenure.verbs().run_timeline(run_id(id)).await?)?;
    output.timeline(events, Event::message, |event| (event.at, event.what.as_str()));
    Ok(())
}

async fn explain(id: &str, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
    let explanation = found(&format!("run {}", id), tenure.verbs().explain_run(run_id(id)).await?)?;
    output.show(&explanation, Output::reasons);
    Ok(())
}
