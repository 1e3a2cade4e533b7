//! The commands: `commands/<noun>/<verb>.rs`, one verb one file.

pub(crate) mod demo;
mod enqueue;
mod job;
mod migrate;
mod queue;
mod serve;
mod store;
mod work;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;

/// What can be asked of `tenure`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
            Command::Work(work) => work.check(),
            _ => Ok(()),
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Command::Serve(serve) => serve.run(tenure, output).await,
            Command::Enqueue(enqueue) => enqueue.run(tenure, output).await,
            Command::Work(work) => work.run(tenure, output).await,
            Command::Job(job) => job.run(tenure, output).await,
            Command::Queue(queue) => queue.run(tenure, output).await,
            // Run before a store is opened.
            Command::Migrate(_) | Command::Demo(_) => Ok(()),
            Command::Store(store) => store.run(tenure, output).await,
        }
    }
}
