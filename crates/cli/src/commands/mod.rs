//! The commands: a noun's verbs are in `commands/<noun>.rs`; what is long has a file of its own below it.

mod changes;
mod completions;
pub(crate) mod demo;
mod doctor;
mod domain;
mod enqueue;
mod init;
mod job;
mod man;
mod migrate;
mod pipeline;
mod queue;
mod run;
mod schedule;
mod serve;
mod store;
mod sync;
mod work;
mod worker;

use crate::failure::Failure;
use crate::output::Output;
use crate::service::Service;
use clap::Subcommand;
use std::str::FromStr;
use tenure::Tenure;
use tenure_wire::{Problem, text};

/// What can be asked of `tenure`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the store, if it is not there yet
    Init(init::Init),
    /// Serve the HTTP API, and return the work of workers that died
    Serve(serve::Serve),
    /// Show what happens to work when its workers die or freeze
    Demo(demo::Demo),
    /// Add work to a queue
    Enqueue(enqueue::Enqueue),
    /// Run a program for each job of some queues
    Work(work::Work),
    /// Look at jobs, cancel them or try them again
    #[command(subcommand)]
    Job(job::Job),
    /// Look at queues, pause and limit them
    #[command(subcommand)]
    Queue(queue::Queue),
    /// Work in order, one offset at a time for each key
    #[command(subcommand)]
    Domain(domain::Domain),
    /// Plan syncs, look at them, cancel them
    #[command(subcommand)]
    Sync(sync::Sync),
    /// Enqueue jobs by the clock
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// Look at workers
    #[command(subcommand)]
    Worker(worker::Worker),
    /// Put pipelines on record and start runs of them
    #[command(subcommand)]
    Pipeline(pipeline::Pipeline),
    /// Look at runs of pipelines, cancel, retry and verify them
    #[command(subcommand)]
    Run(run::Run),
    /// Bring the schema of a PostgreSQL store to this version
    Migrate(migrate::Migrate),
    /// Look at the store's health, and say what to do
    Doctor(doctor::Doctor),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write all of them
    Man(man::Man),
    /// Look after the store
    #[command(subcommand)]
    Store(store::Store),
}

impl Command {
    /// Refuses what is wrong whatever the store holds.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Command::Serve(serve) => serve.check(),
            Command::Job(job) => job.check(),
            Command::Work(work) => work.check(),
            _ => Ok(()),
        }
    }

    /// Whether it asks nothing of the store: then any will do, and where there is none it is not missed.
    pub(crate) fn needs_no_store(&self) -> bool {
        matches!(self, Command::Schedule(schedule) if schedule.needs_no_store())
    }

    /// Whether it changes nothing: then it makes no store either, where there is none (X).
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Command::Doctor(_) => true,
            Command::Job(job) => job.only_reads(),
            Command::Queue(queue) => queue.only_reads(),
            Command::Domain(domain) => domain.only_reads(),
            Command::Sync(sync) => sync.only_reads(),
            Command::Schedule(schedule) => schedule.only_reads(),
            Command::Worker(worker) => worker.only_reads(),
            Command::Pipeline(pipeline) => pipeline.only_reads(),
            Command::Run(run) => run.only_reads(),
            Command::Store(store) => store.only_reads(),
            Command::Serve(_) | Command::Enqueue(_) | Command::Work(_) => false,
            // Open what they need by themselves.
            Command::Init(_) | Command::Migrate(_) | Command::Demo(_) | Command::Completions(_) | Command::Man(_) => {
                false
            }
        }
    }

    /// How it runs, if it goes on until somebody ends it.
    pub(crate) fn service(&self) -> Option<Service> {
        match self {
            Command::Serve(serve) => Some(serve.service()),
            Command::Work(work) => Some(work.service()),
            _ => None,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Command::Serve(serve) => serve.run(tenure, output).await,
            Command::Enqueue(enqueue) => enqueue.run(tenure, output).await,
            Command::Work(work) => work.run(tenure, output).await,
            Command::Job(job) => job.run(tenure, output).await,
            Command::Queue(queue) => queue.run(tenure, output).await,
            Command::Doctor(doctor) => doctor.run(tenure, output).await,
            Command::Domain(domain) => domain.run(tenure, output).await,
            Command::Sync(sync) => sync.run(tenure, output).await,
            Command::Schedule(schedule) => schedule.run(tenure, output).await,
            Command::Worker(worker) => worker.run(tenure, output).await,
            Command::Pipeline(pipeline) => pipeline.run(tenure, output).await,
            Command::Run(run) => run.run(tenure, output).await,
            // Run before a store is opened.
            Command::Init(_) | Command::Migrate(_) | Command::Demo(_) | Command::Completions(_) | Command::Man(_) => {
                Ok(())
            }
            Command::Store(store) => store.run(tenure, output).await,
        }
    }
}

/// Something by its name, which may be anything.
fn named(noun: &str, name: &str) -> String {
    format!("{noun} {}", text::cut(name, 128))
}

/// What was asked for, unless it is not on record.
fn found<T>(what: &str, found: Option<T>) -> Result<T, Failure> {
    found.ok_or_else(|| Problem::absent(what).into())
}

/// Where a page begins.
fn cursor<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "use the cursor that an earlier page gave".to_owned())
}
