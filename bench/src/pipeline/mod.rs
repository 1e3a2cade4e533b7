//! Pipelines: what it costs to take runs through their stages, and whether the orchestrator's cost per advance grows with
//! the runs that have ended.
//!
//! One markdown table on standard output: for each tenth of the runs, the time that `advance` took for each stage it made
//! READY. If what it reads grew with history, the last row would be slower than the first. Below it, how long after a
//! stage was completed the next one is in a worker's hands, with an orchestrator that listens.

use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};
use tenure::Tenure;
use tenure::pipeline::{Claim, Definition, Filter, NewRun, RunStatus, Stage, UnitKey};

/// What can be asked for.
pub(crate) const USAGE: &str = "tenure-bench pipeline [--runs 10000] [--stages 10] [--store sqlite|postgres|memory]";

/// Runs that are open at once.
const WAVE: u64 = 100;
/// Rows of the table.
const ROWS: u64 = 10;
/// Stages that are handed over to have their latency taken.
const HANDOVERS: u64 = 500;

struct Settings {
    runs: u64,
    stages: u64,
    store: String,
}

impl Settings {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Settings> {
        let mut settings = Settings { runs: 10_000, stages: 10, store: "sqlite".to_owned() };
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--runs" => settings.runs = value.parse().context("--runs")?,
                "--stages" => settings.stages = value.parse().context("--stages")?,
                "--store" => settings.store = value,
                _ => bail!("{flag} is not known: {USAGE}"),
            }
        }
        ensure!(settings.runs >= ROWS * WAVE && settings.stages > 1, "at least {} runs of two stages", ROWS * WAVE);
        Ok(settings)
    }
}

/// Parses the arguments after `pipeline`, measures, and prints the table.
pub(crate) fn run(args: impl Iterator<Item = String>) -> Result<()> {
    let settings = Settings::parse(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&settings))
}

async fn measure(settings: &Settings) -> Result<()> {
    // Beside this program: temporary folders are in memory on some machines, builds are on a disk.
    let program = std::env::current_exe()?;
    let beside = program.parent().context("this program is in no folder")?;
    let folder = tempfile::Builder::new().prefix("tenure-bench-").tempdir_in(beside)?;
    let url = match settings.store.as_str() {
        "memory" => "memory:".to_owned(),
        "sqlite" => format!("sqlite:{}", folder.path().join("pipeline.db").display()),
        "postgres" => std::env::var("TENURE_BENCH_POSTGRES").context("set TENURE_BENCH_POSTGRES to a URL")?,
        other => bail!("--store {other} is not known: {USAGE}"),
    };
    let tenure = Tenure::open(&url).await?;
    let name = |n: u64| format!("s{n}");
    let mut definition = Definition::new("bench");
    for n in 0..settings.stages {
        let needs: Vec<String> = (n > 0).then(|| name(n - 1)).into_iter().collect();
        definition = definition.stage(Stage::new(name(n)).needs(needs));
    }
    tenure.verbs().apply_pipeline(definition).await?;
    println!("{} runs × {} stages on {}\n", settings.runs, settings.stages, tenure.describe().await?);
    println!("| runs ended before | advances | orchestrator per advance | whole run |\n| ---: | ---: | ---: | ---: |");
    let per_row = settings.runs / ROWS;
    for row in 0..ROWS {
        let began = Instant::now();
        let (mut advances, mut spent) = (0u64, Duration::ZERO);
        for _ in 0..per_row / WAVE {
            let (made, took) = wave(&tenure, settings.stages).await?;
            advances += made;
            spent += took;
        }
        let each = spent.as_secs_f64() * 1e6 / advances as f64;
        let whole = began.elapsed().as_secs_f64() * 1e3 / (per_row / WAVE * WAVE) as f64;
        println!("| {} | {advances} | {each:.0} µs | {whole:.2} ms |", row * (per_row / WAVE * WAVE));
    }
    let open = Filter { status: Some(RunStatus::Running), ..Filter::default() };
    ensure!(tenure.verbs().runs(open, None, 1).await?.items.is_empty(), "a run was left open");
    let mut took = handovers(&tenure, settings.stages).await?;
    took.sort_unstable();
    let ms = |part: usize| took[(took.len() - 1) * part / 100].as_secs_f64() * 1e3;
    println!("\nFrom completed to claimed, {} stages: p50 {:.1} ms, p99 {:.1} ms", took.len(), ms(50), ms(99));
    Ok(())
}

/// Runs one after the other, with an orchestrator beside: how long each stage waited for its turn.
async fn handovers(tenure: &Tenure, stages: u64) -> Result<Vec<Duration>> {
    let orchestrator = tenure.clone();
    let orchestrating = tokio::spawn(async move { orchestrator.orchestrator().keep_advancing().await });
    let worker = tenure.stage_worker();
    let mut took = Vec::new();
    while took.len() < HANDOVERS as usize {
        tenure.verbs().start_run(NewRun::new("bench", "1")).await?;
        let mut completed_at: Option<Instant> = None;
        for n in 0..stages {
            let claim = Claim::new("bench", format!("s{n}"), "bench");
            let claims = worker.claim_within(claim, Duration::from_secs(10)).await?;
            let unit = claims.units.into_iter().next().context("a stage never became READY")?;
            took.extend(completed_at.map(|at| at.elapsed()));
            worker.complete(UnitKey::stage(unit.run, unit.stage), "bench", unit.token, None, None).await?;
            completed_at = Some(Instant::now());
        }
    }
    orchestrating.abort();
    Ok(took)
}

/// Takes some runs from their first stage to their last; how many stages were advanced, and how long that took.
async fn wave(tenure: &Tenure, stages: u64) -> Result<(u64, Duration)> {
    let (orchestrator, worker) = (tenure.orchestrator(), tenure.stage_worker());
    for _ in 0..WAVE {
        tenure.verbs().start_run(NewRun::new("bench", "1")).await?;
    }
    let (mut advances, mut spent) = (0, Duration::ZERO);
    for n in 0..=stages {
        let began = Instant::now();
        let mut readied = 0;
        loop {
            let advanced = orchestrator.advance(50).await?;
            readied += u64::from(advanced.readied);
            if advanced.runs == 0 {
                break;
            }
        }
        spent += began.elapsed();
        advances += readied;
        if n == stages {
            break;
        }
        ensure!(readied == WAVE, "{readied} of {WAVE} stages became READY");
        let claims = worker.claim(Claim::new("bench", format!("s{n}"), "bench").max(WAVE as u32)).await?;
        let endings = claims.units.into_iter().map(|unit| {
            let worker = worker.clone();
            let key = UnitKey::stage(unit.run, unit.stage);
            tokio::spawn(async move { worker.complete(key, "bench", unit.token, None, None).await })
        });
        for ending in endings.collect::<Vec<_>>() {
            ending.await??;
        }
    }
    Ok((advances, spent))
}
