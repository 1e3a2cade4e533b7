//! Peers: other queues, each a program of its own that is told what to do and answers in JSON.
//!
//! A peer is measured at its best setting, on the same server, in an empty database of its own.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::server::{Database, Server};
use super::settings::{Measure, Settings};
use super::table::Table;
use super::{drain, enqueue, pickup, worker};

/// A program under `bench/peers/`.
#[derive(Debug)]
pub(crate) struct Peer {
    name: &'static str,
    about: &'static str,
    program: PathBuf,
}

impl Peer {
    /// Programs are named by the environment; `cargo xtask bench` builds them and does so.
    pub(crate) fn named(name: &str) -> Result<Peer> {
        let (name, about, variable) = match name {
            "graphile_worker" => (
                "graphile_worker",
                "graphile_worker (Rust) 0.14.1: bulk in statements of 10,000; drain with 100 handlers, a local queue of \
                 2,000 and completion batched for 5 ms; pickup with its defaults",
                "TENURE_PEER_GRAPHILE_WORKER",
            ),
            _ => bail!("no peer `{name}` here, only graphile_worker"),
        };
        let program = std::env::var_os(variable).with_context(|| {
            format!("{variable} must name the program; `cargo xtask bench queue --peers {name}` sets it")
        })?;
        Ok(Peer { name, about, program: program.into() })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn describe(&self) -> String {
        self.about.to_owned()
    }

    pub(crate) async fn measure(
        &self,
        server: &Server,
        measure: Measure,
        settings: &Settings,
        table: &mut Table,
    ) -> Result<()> {
        let database = server.create().await?;
        self.ask(&database, &["setup"]).await?;
        let (jobs, singles) = (settings.jobs.to_string(), settings.singles().to_string());
        match measure {
            Measure::Enqueue => {
                let callers = enqueue::CALLERS.to_string();
                let answer = self.ask(&database, &["single", &singles, &callers]).await?;
                table.add_peer(&enqueue::single_label(), "jobs/s", self.name, figure(&answer, "per_second")?);
            }
            Measure::Bulk => {
                let rate = figure(&self.ask(&database, &["bulk", &jobs]).await?, "per_second")?;
                for call in enqueue::CALLS {
                    table.add_peer(&enqueue::bulk_label(call), "jobs/s", self.name, rate);
                }
            }
            Measure::Drain => {
                let drained = self.drain(&database, settings.jobs, false).await?;
                for &batch in &settings.batches {
                    self.report_drain(table, &drain::label(batch), &drained);
                }
            }
            Measure::Hold => {
                let drained = self.drain(&database, settings.jobs, true).await?;
                for &batch in settings.batches.iter().filter(|batch| **batch >= drain::HELD_BATCH_MIN) {
                    let label = drain::held_label(batch);
                    self.report_drain(table, &label, &drained);
                    if let Some(without) = table.last(&drain::label(batch), self.name) {
                        table.add_peer(&format!("{label}: of without"), "ratio", self.name, drained[0].2 / without);
                    }
                }
            }
            // Its drain is its worker's, at the best setting we know for it.
            Measure::Worker => {
                let drained = self.drain(&database, settings.jobs, false).await?;
                for slots in worker::SLOTS {
                    table.add_peer(&worker::label(slots), "jobs/s", self.name, drained[0].2);
                }
            }
            Measure::Pickup => {
                let answer = self.ask(&database, &["latency", &pickup::SAMPLES.to_string()]).await?;
                for (prefix, from) in [("call_", "the call"), ("", "the commit")] {
                    for (quantile, _) in pickup::QUANTILES {
                        let label = pickup::label(&format!("over NOTIFY, from {from}"), quantile);
                        let wait = figure(&answer, &format!("{prefix}{quantile}_ms"))?;
                        table.add_peer(&label, "ms ↓", self.name, wait);
                    }
                }
            }
            // It has none: a job is its worker's until hours have passed.
            Measure::Heartbeat => {}
        }
        database.drop().await
    }

    /// The rate, then what each job cost.
    async fn drain(
        &self,
        database: &Database,
        jobs: u64,
        hold: bool,
    ) -> Result<Vec<(&'static str, &'static str, f64)>> {
        let count = jobs.to_string();
        self.ask(database, &["bulk", &count]).await?;
        database.checkpoint().await?;
        let holder = if hold { Some(database.hold().await?) } else { None };
        let before = database.spent().await?;
        let answer = self.ask(database, &["drain", &count]).await?;
        let spent = database.spent().await?.each(before, jobs);
        drop(holder);
        let mut figures = vec![("", "jobs/s", figure(&answer, "per_second")?)];
        // The time of this process says nothing about the peer's.
        figures.extend(spent.into_iter().filter(|(meter, ..)| *meter != "own processor"));
        Ok(figures)
    }

    fn report_drain(&self, table: &mut Table, label: &str, figures: &[(&'static str, &'static str, f64)]) {
        for (meter, unit, figure) in figures {
            let label = if meter.is_empty() { label.to_owned() } else { format!("{label}: {meter}") };
            table.add_peer(&label, unit, self.name, *figure);
        }
    }

    async fn ask(&self, database: &Database, arguments: &[&str]) -> Result<Value> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(arguments).env("DATABASE_URL", &database.url).kill_on_drop(true);
        command.stderr(std::process::Stdio::inherit());
        let output = command.output().await.with_context(|| format!("cannot run {}", self.program.display()))?;
        ensure!(output.status.success(), "{} {} failed ({})", self.name, arguments.join(" "), output.status);
        // Whatever else it may print, the answer is the last line.
        let text = String::from_utf8_lossy(&output.stdout);
        let answer = text.lines().last().with_context(|| format!("{} answered nothing", self.name))?;
        serde_json::from_str(answer).with_context(|| format!("{} answered {answer}", self.name))
    }
}

fn figure(answer: &Value, name: &str) -> Result<f64> {
    answer[name].as_f64().with_context(|| format!("no {name} in {answer}"))
}
