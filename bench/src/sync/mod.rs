//! Syncs: planning many chunks in one call, working them off, and whether the last claim costs what the first did.
//!
//! Everything goes through `Tenure`, as a user would call it. One markdown table on standard output; progress on standard
//! error. A figure is "a / b", two runs.
//!
//! Always true:  a drain counts only if the store accepted every completion and then the sync's · each figure is taken in a
//! store of its own, made empty and removed again.

use crate::queue::machine;
use crate::queue::server::Server;
use crate::queue::table::Table;
use anyhow::{Context, Result, bail, ensure};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tenure::Tenure;
use tenure::sync::{Act, ChunkClaim, Ending, IdleReason, NewChunk, Plan, SyncClaim, SyncId, Unit};

/// How it is called.
pub(crate) const USAGE: &str = "tenure-bench sync [--chunks N] [--stores memory,sqlite,postgres]";

/// Each figure is taken this often and all are shown: one number hides the noise.
const RUNS: usize = 2;
/// Tasks that claim and complete side by side.
const TASKS: usize = 8;
/// Claims at the beginning and at the end whose cost is compared, of a hundred.
const SHARE: usize = 2;

struct Settings {
    chunks: usize,
    stores: Vec<String>,
}

/// Parses the arguments after `sync`, measures, and prints the table.
pub(crate) fn run(args: impl Iterator<Item = String>) -> Result<()> {
    let settings = parse(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut table = Table::default();
        for run in 1..=RUNS {
            for store in &settings.stores {
                eprintln!("run {run} on {store}");
                measure(&settings, store, &mut table).await.with_context(|| format!("run {run} on {store}"))?;
            }
        }
        println!("- tenure {} at commit {}", env!("CARGO_PKG_VERSION"), machine::commit());
        println!("- {}", machine::describe());
        println!("- {} chunks, {TASKS} tasks; {RUNS} runs, a / b\n", settings.chunks);
        print!("{}", table.markdown());
        Ok(())
    })
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Settings> {
    let mut settings = Settings { chunks: 100_000, stores: Vec::new() };
    while let Some(argument) = args.next() {
        let value = args.next().with_context(|| format!("{argument} needs a value; usage: {USAGE}"))?;
        match argument.as_str() {
            "--chunks" => settings.chunks = value.parse().context("--chunks is a number")?,
            "--stores" => settings.stores = value.split(',').map(str::to_owned).collect(),
            _ => bail!("{argument} is not known; usage: {USAGE}"),
        }
    }
    if settings.stores.is_empty() {
        settings.stores = ["memory", "sqlite", "postgres"].map(str::to_owned).to_vec();
    }
    Ok(settings)
}

async fn measure(settings: &Settings, store: &str, table: &mut Table) -> Result<()> {
    match store {
        "memory" => on(&Tenure::open("memory:").await?, settings, store, table).await,
        "sqlite" => {
            // Beside this program: temporary folders are in memory on some machines, builds are on a disk.
            let program = std::env::current_exe()?;
            let beside = program.parent().context("this program is in no folder")?;
            let folder = tempfile::Builder::new().prefix("tenure-bench-").tempdir_in(beside)?;
            let url = format!("sqlite:{}", folder.path().join("sync.db").display());
            on(&Tenure::open(&url).await?, settings, store, table).await
        }
        "postgres" => {
            let url = std::env::var("TENURE_BENCH_POSTGRES").context("set TENURE_BENCH_POSTGRES to a server's URL")?;
            let database = Server::connect(&url).await?.create().await?;
            let measured = on(&Tenure::open(&database.url).await?, settings, store, table).await;
            database.drop().await?;
            measured
        }
        other => bail!("{other} is no store; usage: {USAGE}"),
    }
}

async fn on(tenure: &Tenure, settings: &Settings, store: &str, table: &mut Table) -> Result<()> {
    let chunks = (0..settings.chunks).map(|n| NewChunk::new(format!("{n:064x}")).payload(format!("[{n}]")));
    let plan = Plan::new("bench").chunks(chunks);
    let began = Instant::now();
    let sync = tenure.verbs().plan_sync(plan).await?.id;
    let rate = settings.chunks as f64 / began.elapsed().as_secs_f64();
    table.add("plan in one call", "chunks/s", store, rate);

    let claims: Arc<Mutex<Vec<(usize, f64)>>> = Arc::default();
    let counter = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(drain(tenure.clone(), sync, format!("bench-{task}"), counter.clone(), claims.clone())))
        .collect();
    for task in tasks {
        task.await??;
    }
    let rate = settings.chunks as f64 / began.elapsed().as_secs_f64();
    table.add("claim and complete, one by one", "chunks/s", store, rate);

    let claims = std::mem::take(&mut *claims.lock().map_err(|_| anyhow::anyhow!("a task panicked"))?);
    ensure!(claims.len() == settings.chunks, "{} of {} chunks were claimed", claims.len(), settings.chunks);
    let share = settings.chunks * SHARE / 100;
    let mean = |wanted: &dyn Fn(usize) -> bool| {
        let of: Vec<f64> = claims.iter().filter(|(n, _)| wanted(*n)).map(|(_, ms)| *ms).collect();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    };
    // The very first claims warm the connections and the caches.
    let early = mean(&|n| (share..2 * share).contains(&n));
    let late = mean(&|n| n >= settings.chunks - share);
    table.add("claim, early", "ms ↓", store, early);
    table.add("claim, with all but the last done", "ms ↓", store, late);
    table.add("late claim ÷ early claim", "ratio ↓", store, late / early);

    let held = tenure.verbs().claim_sync(SyncClaim::new("bench")).await?.context("the sync waits")?;
    let ending = Ending { unit: Unit::sync(sync), owner: "bench".to_owned(), token: held.token, act: Act::done() };
    let began = Instant::now();
    ensure!(!tenure.verbs().finish_sync(ending).await?.already, "the sync was completed before");
    table.add("complete the sync", "ms ↓", store, began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Claims and completes until nothing is left; notes what each claim took.
async fn drain(
    tenure: Tenure,
    sync: SyncId,
    owner: String,
    counter: Arc<AtomicUsize>,
    claims: Arc<Mutex<Vec<(usize, f64)>>>,
) -> Result<()> {
    let mut own = Vec::new();
    loop {
        let began = Instant::now();
        match tenure.verbs().claim_chunk(ChunkClaim::new(sync, &owner)).await? {
            Ok(chunk) => {
                own.push((counter.fetch_add(1, Ordering::Relaxed), began.elapsed().as_secs_f64() * 1e3));
                ensure!(
                    !tenure.verbs().complete_chunk(&chunk, &owner, Some(1)).await?.already,
                    "a chunk was completed twice"
                );
            }
            // What the other tasks hold is theirs to finish.
            Err(idle) => {
                ensure!(matches!(idle.reason, IdleReason::Held | IdleReason::Done), "{idle:?}");
                claims.lock().map_err(|_| anyhow::anyhow!("a task panicked"))?.extend(own);
                return Ok(());
            }
        }
    }
}
