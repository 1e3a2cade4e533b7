//! `tenure sync`.

mod add;
mod cancel;
mod chunks;
mod list;
mod plan;
mod show;
mod timeline;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;
use tenure::Tenure;
use tenure::sync::{NewChunk, State};

/// Plan syncs, look at them, cancel them.
#[derive(Debug, Subcommand)]
pub(crate) enum Sync {
    /// Plan a pass over a matrix, with its chunks
    Plan(plan::Plan),
    /// Add chunks to a sync that has not ended
    Add(add::Add),
    /// List syncs, newest first
    List(list::List),
    /// Show how far a sync has come
    Show(show::Show),
    /// List the chunks of a sync, in the order of its plan
    Chunks(chunks::Chunks),
    /// Tell what happened to a sync and its chunks, oldest first
    Timeline(timeline::Timeline),
    /// End a sync at once
    Cancel(cancel::Cancel),
}

impl Sync {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Sync::Plan(plan) => plan.run(tenure, output).await,
            Sync::Add(add) => add.run(tenure, output).await,
            Sync::List(list) => list.run(tenure, output).await,
            Sync::Show(show) => show.run(tenure, output).await,
            Sync::Chunks(chunks) => chunks.run(tenure, output).await,
            Sync::Timeline(timeline) => timeline.run(tenure, output).await,
            Sync::Cancel(cancel) => cancel.run(tenure, output).await,
        }
    }
}

/// A state as it is typed, in any case.
fn state(word: &str) -> Result<State, String> {
    State::parse(&word.to_uppercase()).ok_or_else(|| "use AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED".to_owned())
}

/// The chunks named on the command line, then those of a file.
fn chunks(hashes: Vec<String>, file: Option<&str>) -> Result<Vec<NewChunk>, Failure> {
    let mut chunks: Vec<NewChunk> = hashes.into_iter().map(NewChunk::new).collect();
    let Some(file) = file else { return Ok(chunks) };
    let unreadable = |error| Failure::unreadable(file, &error);
    // No more than a call may hold, and the spaces of its lines.
    let most = 2 * tenure::bounds::BULK_BYTES_MAX as u64;
    let mut text = Vec::new();
    use std::io::Read;
    match file {
        "-" => std::io::stdin().lock().take(most).read_to_end(&mut text).map_err(unreadable)?,
        _ => std::fs::File::open(file).map_err(unreadable)?.take(most).read_to_end(&mut text).map_err(unreadable)?,
    };
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if !line.trim_ascii().is_empty() {
            let chunk = tenure_wire::request::sync::chunk_line(line);
            let place = |problem| Failure::from(problem).while_doing(&format!("{file}, line {number}"));
            chunks.push(chunk.map_err(place)?);
        }
    }
    Ok(chunks)
}
