//! `tenure enqueue`.

use crate::failure::Failure;
use crate::output::Output;
use crate::span;
use crate::terminal::Moving;
use clap::Args;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use tenure::{NewJob, Tenure, Time, bounds};
use tenure_wire::queue::{reply, request};

/// Jobs of a file that are enqueued in one call, all or none.
const BATCH: usize = 1_000;
/// Bytes of payloads in one call, below the bound of a call by the largest line.
const BATCH_BYTES: usize = bounds::BULK_BYTES_MAX - LINE_BYTES_MAX;
/// Bytes of one line: the largest payload, and room for the fields around it.
const LINE_BYTES_MAX: usize = bounds::BODY_BYTES_MAX + (64 << 10);

/// Add a job to a queue, or the jobs of a file; prints their ids.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure enqueue images '{\"asset\":42}' --kind resize --priority 5
  tenure enqueue mail '{\"to\":7}' --key welcome-7 --ordering-key user-7
  tenure enqueue mail '\"hello\"' --run-at 2026-12-24T18:00:00+01:00
  tenure enqueue images --file jobs.ndjson
  generate-jobs | tenure enqueue images --kind resize --file -

A file has one job on each line, as in the HTTP API: {\"kind\":\"resize\",\"payload\":{\"asset\":42},\"priority\":5}.
What a line does not say is taken from the flags. A bad line stops the command; of its batch of 1,000 lines nothing is
enqueued, and the message says how many lines before it were.")]
pub(crate) struct Enqueue {
    /// The queue; created if it is new
    queue: String,

    /// The payload: any JSON, kept as it is; null if left out
    #[arg(value_name = "JSON", conflicts_with = "file")]
    payload: Option<String>,

    /// What a worker must know to run it
    #[arg(long, default_value = "default")]
    kind: String,

    /// Higher is claimed first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// Not claimed before, as RFC 3339 with a zone
    #[arg(long, value_name = "TIME", value_parser = instant)]
    run_at: Option<Time>,

    /// Attempts it may have
    #[arg(long, value_name = "N", default_value_t = bounds::ATTEMPTS_DEFAULT)]
    attempts_max: u32,

    /// How long one attempt may take, such as 90s or 5m
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    timeout: Option<u64>,

    /// The same key, kind and payload is the same job, while the key is remembered
    #[arg(long, conflicts_with = "file")]
    key: Option<String>,

    /// How long the key is remembered, such as 90s or 7d; a day if left out, and at least until the job has ended
    #[arg(long, value_name = "SPAN", value_parser = span::ms, requires = "key")]
    key_window: Option<u64>,

    /// Jobs of one such key run one at a time, in the order they were enqueued
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,

    /// The tenant whose limit it counts against
    #[arg(long, value_name = "KEY")]
    limit_key: Option<String>,

    /// Jobs to enqueue, one JSON object on each line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
}

impl Enqueue {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let payload = self.payload.unwrap_or_else(|| "null".to_owned());
        let mut job =
            NewJob::new(self.queue, self.kind, payload).priority(self.priority).attempts_max(self.attempts_max);
        job.run_at = self.run_at;
        job.timeout_ms = self.timeout;
        job.key = self.key;
        job.key_window_ms = self.key_window;
        job.ordering_key = self.ordering_key;
        job.limit_key = self.limit_key;
        match self.file {
            None => {
                let enqueued = tenure.enqueue(job).await?;
                print(output, vec![enqueued]);
                if enqueued.deduplicated {
                    output.note("it was there already, under the same key");
                }
                Ok(())
            }
            Some(file) => {
                job.check().map_err(tenure::Error::from)?;
                Lines::open(&file)?.enqueue(tenure, output, &job).await
            }
        }
    }
}

fn print(output: &Output, enqueued: Vec<tenure::Enqueued>) {
    output.show(&reply::Enqueued { jobs: enqueued }, |output, reply| {
        reply.jobs.iter().for_each(|job| output.line(&job.id.to_string()));
    });
}

/// The lines of a file or of stdin, read one at a time.
struct Lines {
    name: String,
    lines: Box<dyn BufRead>,
    /// The last line read, from 1.
    number: u64,
    read_bytes: u64,
    /// Bytes in all, where that is known.
    bytes: Option<u64>,
}

impl Lines {
    fn open(file: &str) -> Result<Lines, Failure> {
        if file == "-" {
            return Ok(Lines {
                name: "stdin".to_owned(),
                lines: Box::new(BufReader::new(io::stdin())),
                number: 0,
                read_bytes: 0,
                bytes: None,
            });
        }
        let unreadable = |error| Failure::unreadable(file, &error);
        let opened = File::open(file).map_err(unreadable)?;
        let meta = opened.metadata().map_err(unreadable)?;
        let bytes = meta.is_file().then_some(meta.len());
        Ok(Lines { name: file.to_owned(), lines: Box::new(BufReader::new(opened)), number: 0, read_bytes: 0, bytes })
    }

    async fn enqueue(mut self, tenure: &Tenure, output: &Output, template: &NewJob) -> Result<(), Failure> {
        let progress = Moving::new();
        let mut jobs = 0usize;
        let mut there_already = 0usize;
        let mut done_to = 0u64;
        loop {
            let batch = self.batch(template);
            let batch = batch.map_err(|failure| failure.while_doing(&self.place(self.number, done_to)))?;
            if batch.is_empty() {
                break;
            }
            jobs += batch.len();
            let (lines, batch): (Vec<u64>, Vec<NewJob>) = batch.into_iter().unzip();
            let enqueued = tenure.enqueue_all(batch).await.map_err(|error| {
                let line = match &error {
                    tenure::Error::Conflict { index, .. } => lines.get(*index).copied(),
                    _ => None,
                };
                Failure::from(error).while_doing(&self.place(line.unwrap_or(self.number), done_to))
            })?;
            done_to = self.number;
            there_already += enqueued.iter().filter(|job| job.deduplicated).count();
            print(output, enqueued);
            progress.draw(&self.progress(jobs));
        }
        progress.end();
        let already =
            if there_already > 0 { format!(", {there_already} of them there already") } else { String::new() };
        output.note(&format!("{jobs} jobs enqueued from {}{already}", self.name));
        Ok(())
    }

    /// The next jobs with their lines, each checked, so that a bad one is told with its line.
    fn batch(&mut self, template: &NewJob) -> Result<Vec<(u64, NewJob)>, Failure> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(line) = self.next()? else { break };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let job = request::job_line(&line, template)?;
            job.check().map_err(tenure::Error::from)?;
            bytes += job.payload.len();
            batch.push((self.number, job));
        }
        Ok(batch)
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.lines).take(LINE_BYTES_MAX as u64 + 1);
        let read = bounded.read_until(b'\n', &mut line).map_err(|error| Failure::unreadable(&self.name, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.read_bytes += read as u64;
        if read > LINE_BYTES_MAX {
            let limit = format!("at most {LINE_BYTES_MAX} bytes");
            let refused = bounds::Invalid::new(bounds::Code::TooLarge, "line", limit, "more");
            return Err(tenure::Error::from(refused).into());
        }
        Ok(Some(line))
    }

    fn place(&self, line: u64, done_to: u64) -> String {
        let done = match done_to {
            0 => "nothing was enqueued".to_owned(),
            done_to => format!("lines 1 to {done_to} were enqueued, nothing after"),
        };
        format!("{}, line {line} ({done})", self.name)
    }

    fn progress(&self, jobs: usize) -> String {
        let Some(bytes) = self.bytes.filter(|bytes| *bytes > 0) else { return format!("{jobs} jobs") };
        let percent = (self.read_bytes * 100 / bytes).min(100);
        let filled = usize::try_from(percent / 5).unwrap_or(20);
        format!("[{}{}] {percent:3} %  {jobs} jobs", "=".repeat(filled), " ".repeat(20 - filled))
    }
}

fn instant(text: &str) -> Result<Time, String> {
    text.parse().map_err(|_| format!("use {}", Time::FORM))
}
