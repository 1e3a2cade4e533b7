//! Schema: which table shape a claim and a finish are cheapest on. The numbers behind `docs/decisions/0001-lease-rows.md`.
//!
//! Each candidate is plain SQL under `bench/schema/`, created in a PostgreSQL schema of its own, loaded and drained by two
//! connections with prepared statements and no handlers.
//!
//! Always true:  a drain counts only if every job was accepted by the fence and is in history, and none is left.
//! Figures of one row are ratios within one run; absolute numbers belong to the machine.

mod drain;
mod shapes;

use anyhow::{Context, Result, bail};
use drain::Bench;
use shapes::Shape;

/// Each figure is taken this often and all are printed: one number hides the noise.
const RUNS: usize = 2;

/// (column, batch, held snapshot, exact W) of each drain, in the order of the processor column.
const DRAINS: [(usize, i64, bool, bool); 6] = [
    (0, 10, false, false),
    (1, 100, false, false),
    (2, 500, false, false),
    (3, 100, true, false),
    (4, 500, true, false),
    (5, 100, false, true),
];

const HEADER: &str = "| shape | batch 10 | 100 | 500 | held 100 | held 500 | exact W 100 | PG CPU µs/job, same order | WAL B/job at 10 · 100 · 500 | heartbeats of 10,000 running, ms | empty look past 10,000 running, ms |
|---|---|---|---|---|---|---|---|---|---|---|";

/// Parses `[--jobs N] [--postgres URL] [--only TEXT]`, runs every shape whose name contains TEXT, prints one markdown table.
pub(crate) fn run(mut args: impl Iterator<Item = String>) -> Result<()> {
    let mut jobs = 200_000;
    let mut url = std::env::var("TENURE_BENCH_POSTGRES").ok();
    let mut only = String::new();
    while let Some(flag) = args.next() {
        let value = args.next().with_context(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--jobs" => jobs = value.parse().context("--jobs needs a number")?,
            "--postgres" => url = Some(value),
            "--only" => only = value,
            _ => bail!("unknown flag {flag}; known: --jobs, --postgres, --only"),
        }
    }
    let url = url.context("give --postgres URL or set TENURE_BENCH_POSTGRES")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let bench = Bench { url, jobs };
        println!("{}\n", bench.server().await?);
        println!("{jobs} jobs, 2 connections, thousand jobs/s; each figure is {RUNS} runs, a / b.\n");
        println!("{HEADER}");
        for shape in shapes::all().iter().filter(|s| s.label.contains(&only)) {
            println!("{}", row(&bench, shape).await.with_context(|| shape.label.clone())?);
        }
        Ok(())
    })
}

/// One line of the table. Runs alternate over the columns, so that a slow minute of the machine spoils one run of each, not both of one.
async fn row(bench: &Bench, shape: &Shape) -> Result<String> {
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); 10];
    for _ in 0..RUNS {
        let (mut wal, mut cpu) = (Vec::new(), Vec::new());
        for (cell, batch, hold, exact) in DRAINS {
            if exact && shape.exact.is_none() {
                continue;
            }
            let drained = bench.drain(shape, batch, hold, exact).await?;
            cells[cell].push(format!("{:.1}k", drained.rate / 1e3));
            cpu.push(format!("{:.1}", drained.cpu));
            if !hold && !exact {
                wal.push(format!("{:.0}", drained.wal));
            }
        }
        cells[6].push(cpu.join(" · "));
        cells[7].push(wal.join(" · "));
        let (beat, look) = bench.running(shape, 10_000).await?;
        cells[8].push(format!("{:.2}", beat.as_secs_f64() * 1e3));
        cells[9].push(format!("{:.2}", look.as_secs_f64() * 1e3));
    }
    let cells: Vec<_> = cells.iter().map(|runs| if runs.is_empty() { "–".into() } else { runs.join(" / ") }).collect();
    Ok(format!("| {} | {} |", shape.label, cells.join(" | ")))
}
