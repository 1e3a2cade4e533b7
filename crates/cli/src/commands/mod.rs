//! The commands: `commands/<noun>/<verb>.rs`, one verb one file.

mod enqueue;
mod job;
mod migrate;
mod pipeline;
mod queue;
mod run;
mod serve;
mod store;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// What can be asked of `tenure`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the HTTP API, and return the work of workers that died
    Serve(serve::Serve),
    /// Add work to a queue
    Enqueue(enqueue::Enqueue),
    /// Look at jobs, cancel them or try them again
    #[command(subcommand)]
    Job(job::Job),
    /// Look at queues, pause and limit them
    #[command(subcommand)]
    Queue(queue::Queue),
    /// Put pipelines on record and start runs of them
    #[command(subcommand)]
    Pipeline(pipeline::Pipeline),
    /// Look at runs of pipelines, cancel, retry and verify them
    #[command(subcommand)]
    Run(run::Run),
    /// Bring the schema of a PostgreSQL store to this version
    Migrate(migrate::Migrate),
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
            _ => Ok(()),
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Command::Serve(serve) => serve.run(tenure, output).await,
            Command::Enqueue(enqueue) => enqueue.run(tenure, output).await,
            Command::Job(job) => job.run(tenure, output).await,
            Command::Queue(queue) => queue.run(tenure, output).await,
            Command::Pipeline(pipeline) => pipeline.run(tenure, output).await,
            Command::Run(run) => run.run(tenure, output).await,
            // Run before a store is opened.
            Command::Migrate(_) => Ok(()),
            Command::Store(store) => store.run(tenure, output).await,
        }
    }
}
