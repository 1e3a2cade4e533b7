//! `tenure work`: any program as a worker.
//!
//! Each job runs in a process of its own, watched by a [keeper](crate::keeper). The payload goes to its standard input
//! and nowhere else: nothing of a job ever becomes part of a command line.

mod capture;
mod children;
mod ending;
mod environment;
mod handed;
mod program;
mod run;
mod size;
mod ward;

use crate::failure::Failure;
use crate::keeper::{Limit, Limits};
use crate::output::Output;
use crate::service::Service;
use crate::span;
use children::Children;
use clap::Args;
use environment::Environment;
use program::Program;
use run::Bench;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure::{Tenure, worker_name};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// How much longer than its program a job is waited for, once it was told to stop: for the keeper's last word.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Run a program for each job of some queues.
///
/// The job's payload is the program's standard input; TENURE_JOB_ID, TENURE_TOKEN, TENURE_ATTEMPT and more are in its
/// environment. The lease is kept while it lives. Exit code 0 completes the job, 65 fails it for good, 75 puts it off,
/// any other, or a signal, is tried again by the job's backoff.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure work images -- ./resize.sh
  tenure work mail post --concurrency 4 --timeout 5m --env SMTP_URL -- python3 send.py --html
  tenure work images --drain -- jq '{seen: .asset}'

SIGINT or SIGTERM: no more jobs are taken, programs may end within --grace, then are asked to stop
(SIGTERM), then killed. A second signal does not wait.")]
pub(crate) struct Work {
    /// Queues to take jobs from
    #[arg(required = true, value_name = "QUEUE")]
    queues: Vec<String>,

    /// Programs at once
    #[arg(long, default_value_t = 1, value_name = "N")]
    concurrency: usize,

    /// Jobs to claim ahead of free slots
    #[arg(long, default_value_t = 0, value_name = "N")]
    prefetch: usize,

    /// How long a lease lasts between heartbeats: how soon others get the work if this machine dies
    #[arg(long, default_value = "30s", value_name = "SPAN", value_parser = span::ms)]
    lease: u64,

    /// The name under which leases are held [default: host:pid:random]
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,

    /// Take only jobs of this kind; may be given more than once
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,

    /// How long programs may go on after SIGINT or SIGTERM
    #[arg(long, default_value = "30s", value_name = "SPAN", value_parser = span::ms)]
    grace: u64,

    /// Between asking a program to stop (SIGTERM) and killing it
    #[arg(long, default_value = "5s", value_name = "SPAN", value_parser = span::ms)]
    kill_after: u64,

    /// How long to wait for a store that is away at the start; 0s: not at all
    #[arg(long, default_value = "60s", value_name = "SPAN", value_parser = span::ms)]
    wait_for_store: u64,

    /// How long one attempt may take, for jobs that do not say it themselves
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    timeout: Option<u64>,

    /// How long a job waits whose program ended with 75
    #[arg(long, default_value = "1m", value_name = "SPAN", value_parser = span::ms)]
    snooze: u64,

    /// End when nothing is due any more
    #[arg(long)]
    drain: bool,

    /// A variable of this environment that programs may see; may be given more than once
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,

    /// Where programs run
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    cwd: PathBuf,

    /// The most processor time of one program
    #[arg(long, value_name = "SPAN", value_parser = size::seconds)]
    limit_cpu: Option<u64>,

    /// The most memory of each of its processes: 512M, 2G
    #[arg(long, value_name = "SIZE", value_parser = size::memory)]
    limit_memory: Option<u64>,

    /// The most files that each of its processes has open
    #[arg(long, value_name = "N", value_parser = size::files)]
    limit_files: Option<u64>,

    /// The largest file that it writes: 100M
    #[arg(long, value_name = "SIZE", value_parser = size::bytes)]
    limit_file_size: Option<u64>,

    /// The most processes of the user that it runs as
    #[arg(long, value_name = "N")]
    limit_processes: Option<u64>,

    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Work {
    /// Everything that can be wrong with the programs is found before the first job is claimed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.bench().map(drop)
    }

    fn bench(&self) -> Result<Bench, Failure> {
        let (name, arguments) =
            self.program.split_first().ok_or_else(|| Failure::usage("name a program after `--`"))?;
        let limits = [
            (Limit::Cpu, self.limit_cpu),
            (Limit::Memory, self.limit_memory),
            (Limit::Files, self.limit_files),
            (Limit::FileSize, self.limit_file_size),
            (Limit::Processes, self.limit_processes),
        ];
        Ok(Bench {
            program: Program::find(name, arguments, &self.cwd)?,
            environment: Environment::allowed(&self.env)?,
            limits: Limits::from(limits.into_iter().filter_map(|(limit, most)| Some((limit, most?)))),
            kill_after: Duration::from_millis(self.kill_after),
            snooze: Duration::from_millis(self.snooze),
            lease: Duration::from_millis(self.lease),
        })
    }

    pub(crate) fn service(&self) -> Service {
        Service { wait_for_store: Duration::from_millis(self.wait_for_store), log: "warn" }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let cannot = |error: std::io::Error| Failure::unavailable(format!("cannot look after programs: {error}"));
        let (bench, children) = (Arc::new(self.bench()?), Arc::new(Children::begin().map_err(cannot)?));
        for warning in handed::warnings() {
            output.note(&warning);
        }
        let name = self.worker.unwrap_or_else(worker_name);
        let working = format!(
            "{name} runs {} for jobs of {}, {} at once",
            bench.program,
            self.queues.join(", "),
            self.concurrency
        );
        let stop_within = Duration::from_millis(self.kill_after) + LAST_WORD;
        let mut worker = tenure
            .worker()
            .name(name)
            .concurrency(self.concurrency)
            .prefetch(self.prefetch)
            .lease(bench.lease)
            .grace(Duration::from_millis(self.grace))
            .cancel_grace(stop_within)
            .timeout_grace(stop_within)
            .handle_any(move |cx| run::run(bench.clone(), children.clone(), cx));
        for queue in self.queues {
            worker = worker.queue(queue);
        }
        if !self.kinds.is_empty() {
            worker = worker.kinds(self.kinds);
        }
        if let Some(timeout) = self.timeout {
            worker = worker.timeout(Duration::from_millis(timeout));
        }
        if self.drain {
            worker = worker.until_idle();
        }
        // Before anything is announced: whoever reads it may already send a signal.
        let (first, second) = signals()?;
        output.note(&working);
        let report = worker.run_until_either(wait(first), wait(second)).await?;
        output.note(&format!("stopped: {}", ending::summary(&report)));
        output.show(&report, |_, _| {});
        Ok(())
    }
}

/// Told at the first SIGINT or SIGTERM, and at the second.
fn signals() -> Result<(Arc<Notify>, Arc<Notify>), Failure> {
    let cannot = |error: std::io::Error| Failure::unavailable(format!("cannot listen to signals: {error}"));
    let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
    let told = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    let [first, second] = told.clone();
    tokio::spawn(async move {
        for told in told {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
            told.notify_one();
        }
    });
    Ok((first, second))
}

async fn wait(told: Arc<Notify>) {
    told.notified().await;
}
