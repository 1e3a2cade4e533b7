//! `tenure sync`.

use super::{cursor, found};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use crate::terminal::{Moving, sync_line};
use clap::{Args, Subcommand};
use std::io::Read;
use std::time::Duration;
use tenure::sync::{ChunkFilter, NewChunk, Planned, State, SyncEvent, SyncFilter, SyncId};
use tenure::{Tenure, bounds};
use tenure_wire::sync::reply::{SyncCancelled, Syncs, WholeSync};
use tenure_wire::sync::request::{chunk_line, sync_id};
use tenure_wire::text;

/// Plan syncs, look at them, cancel them.
#[derive(Debug, Subcommand)]
pub(crate) enum Sync {
    /// Plan a pass over a matrix, with its chunks
    Plan(Plan),
    /// Add chunks to a sync that has not ended
    Add(Add),
    /// List syncs, newest first
    List(List),
    /// Show how far a sync has come
    Show(Show),
    /// List the chunks of a sync, in the order of its plan
    Chunks(Chunks),
    /// Tell what happened to a sync and its chunks, oldest first
    Timeline(Timeline),
    /// End a sync at once
    Cancel(Cancel),
}

impl Sync {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Sync::List(_) | Sync::Show(_) | Sync::Chunks(_) | Sync::Timeline(_) => true,
            Sync::Plan(_) | Sync::Add(_) | Sync::Cancel(_) => false,
        }
    }

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

/// Plan a pass over a matrix, with its chunks; prints its id.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure sync plan orders 2026-01 2026-02 2026-03
  tenure sync plan orders --skip-if-synced-within 1d --file chunks.ndjson

A file has one chunk on each line, as in the HTTP API: {\"chunk_hash\":\"2026-01\",\"payload\":{\"from\":1,\"to\":5000}}.
A matrix has one unfinished sync at a time; 65 if there is one, and the message names it.")]
pub(crate) struct Plan {
    /// What is synced
    matrix: String,

    /// Chunks, by their hashes
    #[arg(value_name = "HASH")]
    hashes: Vec<String>,

    /// More chunks, one JSON object on each line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<String>,

    /// Higher is claimed first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// Chunks synced more recently than this count as done, such as 90s or 7d
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    skip_if_synced_within: Option<u64>,

    /// Attempts that each chunk may have
    #[arg(long, value_name = "N", default_value_t = bounds::ATTEMPTS_DEFAULT)]
    attempts_max: u32,

    /// Leases of the sync that may run out without a chunk done in between; no limit if left out
    #[arg(long, value_name = "N")]
    crashes_max: Option<u32>,
}

impl Plan {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let mut plan = tenure::sync::Plan::new(self.matrix).priority(self.priority).attempts_max(self.attempts_max);
        plan.skip_if_synced_within_ms = self.skip_if_synced_within;
        plan.crashes_max = self.crashes_max;
        plan.chunks = chunks(self.hashes, self.file.as_deref())?;
        let planned = tenure.verbs().plan_sync(plan).await?;
        output.show(&planned, |output, planned| {
            output.line(&planned.id.to_string());
            let Planned { planned, skipped, .. } = planned;
            output.note(&format!("{planned} chunks planned, {skipped} of them synced recently enough"));
        });
        Ok(())
    }
}

/// Add chunks to a sync that has not ended; those it has already stay as they are.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync add 7 2026-04 2026-05")]
pub(crate) struct Add {
    /// The sync's id, as `tenure sync plan` printed it
    id: String,

    /// Chunks, by their hashes
    #[arg(value_name = "HASH", required_unless_present = "file")]
    hashes: Vec<String>,

    /// More chunks, one JSON object on each line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
}

impl Add {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let chunks = chunks(self.hashes, self.file.as_deref())?;
        let planned = tenure.verbs().add_chunks(sync_id(&self.id), chunks).await?;
        output.show(&planned, |output, planned| {
            output.line(&format!("{} added, {} planned", planned.added, planned.planned));
        });
        Ok(())
    }
}

/// List syncs, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync list --state RUNNING")]
pub(crate) struct List {
    /// Only of this matrix
    #[arg(long)]
    matrix: Option<String>,

    /// Only in this state: AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED
    #[arg(long, value_parser = state)]
    state: Option<State>,

    /// Where an earlier page said that the next begins
    #[arg(long, value_parser = cursor::<SyncId>)]
    cursor: Option<SyncId>,

    /// Syncs in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let filter = SyncFilter { matrix_id: self.matrix, state: self.state };
        let page = tenure.verbs().syncs(filter, self.cursor, self.limit).await?;
        output.show(&Syncs::from(page), |output, page| {
            let rows = page.syncs.iter().map(|sync| {
                [
                    sync.id.to_string(),
                    sync.matrix_id.clone(),
                    sync.state.to_string(),
                    sync.priority.to_string(),
                    sync.planned.to_string(),
                    sync.created_at.to_string(),
                    or_dash(sync.locked_by.as_deref()),
                    or_dash(sync.error_message.as_deref()),
                ]
            });
            output.table(["ID", "MATRIX", "STATE", "PRIORITY", "CHUNKS", "PLANNED AT", "WORKER", "ERROR"], rows);
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

/// How often a watched sync is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Show how far a sync has come; with --watch, until it has ended.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure sync show 7\n  tenure sync show 7 --watch")]
pub(crate) struct Show {
    /// The sync's id, as `tenure sync plan` printed it
    id: String,

    /// Go on until it has ended, with a progress bar on a terminal
    #[arg(long)]
    watch: bool,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let id = sync_id(&self.id);
        let watched = self.watch.then(Moving::new);
        let (shown, line) = loop {
            let (shown, line) = self.look(tenure, id).await?;
            let ended = shown.sync.completed_at.is_some() || shown.sync.failed_at.is_some();
            watched.iter().for_each(|moving| moving.draw(&line));
            if ended || !self.watch {
                break (shown, line);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        if let Some(moving) = watched {
            moving.end();
        }
        let line = &line;
        output.show(&shown, |output, shown| {
            for (name, value) in fields(shown, line) {
                output.line(&format!("{name:<14}  {}", text::escaped(&value)));
            }
        });
        Ok(())
    }

    async fn look(&self, tenure: &Tenure, id: SyncId) -> Result<(WholeSync, String), Failure> {
        let info = found(&format!("sync {}", self.id), tenure.verbs().sync(id).await?)?;
        let chunks = tenure.verbs().chunks(id, ChunkFilter::default(), 0, tenure::bounds::LIST_DEFAULT).await?;
        let line = sync_line(&info.progress);
        Ok((WholeSync::new(info, chunks), line))
    }
}

fn fields(shown: &WholeSync, line: &str) -> Vec<(&'static str, String)> {
    let (sync, progress) = (&shown.sync, &shown.progress.counted);
    vec![
        ("id", sync.id.to_string()),
        ("matrix", sync.matrix_id.clone()),
        ("state", sync.state.to_string()),
        ("progress", line.to_owned()),
        ("available", progress.available.to_string()),
        ("running", progress.running.to_string()),
        ("expired", progress.expired.to_string()),
        ("completed", format!("{} ({} skipped)", progress.completed, progress.skipped)),
        ("failed", progress.failed.to_string()),
        ("rows", progress.rows.to_string()),
        ("priority", sync.priority.to_string()),
        ("worker", or_dash(sync.locked_by.as_deref())),
        ("locked until", or_dash(sync.locked_until)),
        ("crashes", sync.crashes_max.map_or(sync.crashes.to_string(), |max| format!("{} of {max}", sync.crashes))),
        ("planned at", sync.created_at.to_string()),
        ("completed at", or_dash(sync.completed_at)),
        ("failed at", or_dash(sync.failed_at)),
        ("error", or_dash(sync.error_message.as_deref())),
    ]
}

/// List the chunks of a sync, in the order of its plan.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync chunks 7 --state FAILED")]
pub(crate) struct Chunks {
    /// The sync's id
    id: String,

    /// Only in this state: AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED
    #[arg(long, value_parser = state)]
    state: Option<State>,

    /// Where an earlier page said that the next begins
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    cursor: u64,

    /// Chunks in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl Chunks {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let id = sync_id(&self.id);
        let info = found(&format!("sync {}", self.id), tenure.verbs().sync(id).await?)?;
        let page = tenure.verbs().chunks(id, ChunkFilter { state: self.state }, self.cursor, self.limit).await?;
        output.show(&WholeSync::new(info, page), |output, shown| {
            let rows = shown.chunks.iter().map(|chunk| {
                let state = match chunk.reason {
                    Some(reason) => format!("{} ({reason})", chunk.state),
                    None if chunk.skipped => format!("{} (skipped)", chunk.state),
                    None => chunk.state.to_string(),
                };
                [
                    chunk.chunk_hash.clone(),
                    state,
                    format!("{}/{}", chunk.attempt, chunk.attempts_max),
                    or_dash(chunk.row_count),
                    or_dash(chunk.last_synced_at),
                    or_dash(chunk.locked_by.as_deref()),
                    or_dash(chunk.error_message.as_deref()),
                ]
            });
            output.table(["CHUNK", "STATE", "ATTEMPT", "ROWS", "LAST SYNCED", "WORKER", "ERROR"], rows);
            output.more(&shown.next_cursor);
        });
        Ok(())
    }
}

/// Tell what happened to a sync and its chunks otherwise than well, oldest first, the latest thousand.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync timeline 7")]
pub(crate) struct Timeline {
    /// The sync's id
    id: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let events = found(&format!("sync {}", self.id), tenure.verbs().sync_timeline(sync_id(&self.id)).await?)?;
        output.timeline(events, SyncEvent::message, |event| (event.at, event.what.as_str()));
        Ok(())
    }
}

/// End a sync at once; whoever holds it or one of its chunks is told so.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure sync cancel 7 --reason 'wrong source'")]
pub(crate) struct Cancel {
    /// The sync's id
    id: String,

    /// Why; kept with the event
    #[arg(long)]
    reason: Option<String>,
}

impl Cancel {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let state = tenure.verbs().cancel_sync(sync_id(&self.id), self.reason.as_deref()).await?;
        output.show(&SyncCancelled { state }, |output, cancelled| output.line(cancelled.state.as_str()));
        Ok(())
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
    match file {
        "-" => std::io::stdin().lock().take(most).read_to_end(&mut text).map_err(unreadable)?,
        _ => std::fs::File::open(file).map_err(unreadable)?.take(most).read_to_end(&mut text).map_err(unreadable)?,
    };
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if !line.trim_ascii().is_empty() {
            let chunk = chunk_line(line);
            let place = |problem| Failure::from(problem).while_doing(&format!("{file}, line {number}"));
            chunks.push(chunk.map_err(place)?);
        }
    }
    Ok(chunks)
}
