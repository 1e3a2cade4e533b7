//! graphile_worker, driven for Tenure's benches.
//!
//! One command is one measurement, on the database named by `DATABASE_URL`, and prints one line of JSON:
//! `{"jobs":…,"seconds":…,"per_second":…}` with the settings and figures of that command beside them. A drain ends when the
//! peer's table is empty, not when the last handler has returned.
//!
//! The defaults are the best settings found for this peer; anything else would be a straw man.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler, Worker, WorkerContext, WorkerOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const USAGE: &str = "\
usage: DATABASE_URL=postgres://… peer-graphile-worker COMMAND

  setup                 make the peer's schema anew, empty
  bulk N                enqueue N jobs, many to a statement
  single N CLIENTS      enqueue N jobs one by one, from CLIENTS tasks at once
  drain N [CONCURRENCY LOCAL_QUEUE DELAY_MS QUEUES]
                        work off the N jobs that are queued
  latency N             enqueue N jobs, one each 20 ms, and time their pickup by an idle worker";

const SCHEMA: &str = "graphile_worker";

/// Larger statements gained nothing: the time goes into the rows.
const BULK_ROWS: usize = 10_000;

/// The peer's own default, and more than two cores can keep busy.
const CONNECTIONS: u32 = 20;

/// Far below one pickup's few milliseconds times a hundred: the worker is idle again before the next job comes.
const LATENCY_INTERVAL: Duration = Duration::from_millis(20);

/// No run of the bench lasts that long; a peer that is stuck must not hang it.
const PATIENCE: Duration = Duration::from_secs(600);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, numbers)) = arguments.split_first() else { bail!("{USAGE}") };
    let numbers = numbers
        .iter()
        .map(|text| text.parse().with_context(|| format!("{text:?} is not a number\n\n{USAGE}")))
        .collect::<anyhow::Result<Vec<usize>>>()?;
    let url = std::env::var("DATABASE_URL").context("DATABASE_URL is not set")?;
    let report = match (command.as_str(), numbers.as_slice()) {
        ("setup", []) => setup(&url).await?,
        ("bulk", &[jobs]) => bulk(&url, jobs).await?,
        ("single", &[jobs, clients]) => single(&url, jobs, clients).await?,
        ("drain", &[jobs]) => drain(&url, jobs, DrainSettings::BEST).await?,
        ("drain", &[jobs, concurrency, local_queue, delay_ms, queues]) => {
            drain(&url, jobs, DrainSettings { concurrency, local_queue, delay_ms, queues }).await?
        }
        ("latency", &[jobs]) => latency(&url, jobs).await?,
        _ => bail!("{USAGE}"),
    };
    println!("{report}");
    Ok(())
}

/// A job that does nothing, and tells when it began to whoever listens.
#[derive(Clone, Serialize, Deserialize)]
struct Noop {
    number: usize,
}

/// What handlers report to. An extension of the worker, so that there is no global state.
#[derive(Clone, Debug)]
struct Probe {
    handled: Arc<AtomicUsize>,
    pickups: Option<mpsc::UnboundedSender<(usize, Instant)>>,
}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let began = Instant::now();
        let Some(probe) = context.get_ext::<Probe>() else { return Err("the worker has no probe") };
        if let Some(pickups) = &probe.pickups {
            // Nobody listens any more once the bench has what it wants.
            let _ = pickups.send((self.number, began));
        }
        probe.handled.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn options(url: &str) -> WorkerOptions {
    WorkerOptions::default()
        .database_url(url)
        .max_pg_conn(CONNECTIONS)
        .schema(SCHEMA)
        .define_job::<Noop>()
        .listen_os_shutdown_signals(false)
}

async fn setup(url: &str) -> anyhow::Result<Value> {
    let began = Instant::now();
    let pool = sqlx::PgPool::connect(url).await?;
    sqlx::query("DROP SCHEMA IF EXISTS graphile_worker CASCADE").execute(&pool).await?;
    // `init` migrates.
    options(url).init().await?;
    Ok(report(0, began.elapsed(), json!({})))
}

async fn bulk(url: &str, jobs: usize) -> anyhow::Result<Value> {
    let worker = options(url).init().await?;
    let client = worker.create_utils();
    let began = Instant::now();
    for start in (0..jobs).step_by(BULK_ROWS) {
        let batch: Vec<RawJobSpec> = (start..jobs.min(start + BULK_ROWS))
            .map(|number| RawJobSpec {
                identifier: Noop::IDENTIFIER.to_owned(),
                payload: json!({ "number": number }),
                spec: JobSpec::default(),
            })
            .collect();
        client.add_raw_jobs(&batch).await?;
    }
    Ok(report(jobs, began.elapsed(), json!({ "rows_per_statement": BULK_ROWS })))
}

async fn single(url: &str, jobs: usize, clients: usize) -> anyhow::Result<Value> {
    let worker = options(url).init().await?;
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (client, next) = (worker.create_utils(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= jobs {
                        return anyhow::Ok(());
                    }
                    client.add_job(Noop { number }, JobSpec::default()).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(report(jobs, began.elapsed(), json!({ "clients": clients })))
}

#[derive(Clone, Copy)]
struct DrainSettings {
    /// Handlers at once.
    concurrency: usize,
    /// Jobs fetched ahead, per local queue.
    local_queue: usize,
    /// How long finished jobs are gathered before they are deleted in one statement.
    delay_ms: usize,
    /// Local queues, each fetching on its own.
    queues: usize,
}

impl DrainSettings {
    const BEST: Self = Self { concurrency: 100, local_queue: 2000, delay_ms: 5, queues: 1 };
}

async fn drain(url: &str, jobs: usize, settings: DrainSettings) -> anyhow::Result<Value> {
    let DrainSettings { concurrency, local_queue, delay_ms, queues } = settings;
    let probe = Probe { handled: Arc::default(), pickups: None };
    let worker = options(url)
        .concurrency(concurrency)
        // Only an empty fetch waits for it, and here that is the last one.
        .poll_interval(Duration::from_millis(5))
        .complete_job_batch_delay(Duration::from_millis(delay_ms as u64))
        .local_queue(LocalQueueConfig::default().with_size(local_queue).with_queue_count(queues))
        .add_extension(probe.clone())
        .init()
        .await?;
    let worker = Arc::new(worker);
    let queued = rows(&worker).await?;
    ensure!(queued == jobs, "{jobs} jobs to drain, but {queued} are queued: run `setup` and `bulk {jobs}` first");

    let began = Instant::now();
    let running = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move { worker.run().await }
    });
    let mut handled_in = None;
    loop {
        ensure!(!running.is_finished(), "the worker ended before the jobs did");
        ensure!(began.elapsed() < PATIENCE, "{} jobs left after {PATIENCE:?}", rows(&worker).await?);
        // The table is counted only once the handlers are through: counting costs the database time.
        if probe.handled.load(Ordering::Relaxed) >= jobs {
            handled_in.get_or_insert_with(|| began.elapsed());
            if rows(&worker).await? == 0 {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = began.elapsed();
    worker.request_shutdown();
    running.await??;
    let handled = probe.handled.load(Ordering::Relaxed);
    ensure!(handled == jobs, "{handled} handler calls for {jobs} jobs");
    let facts = json!({
        "handler_seconds": handled_in.unwrap_or(took).as_secs_f64(),
        "concurrency": concurrency, "local_queue": local_queue, "delay_ms": delay_ms, "queues": queues,
    });
    Ok(report(jobs, took, facts))
}

async fn rows(worker: &Worker) -> anyhow::Result<usize> {
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM graphile_worker._private_jobs").fetch_one(worker.pg_pool()).await?;
    Ok(usize::try_from(count)?)
}

/// To the first line of the handler: `p50_ms` and so on from the return of the enqueuing call, which is after commit, zero if
/// the handler was first; `call_p50_ms` and so on from that call's beginning.
async fn latency(url: &str, jobs: usize) -> anyhow::Result<Value> {
    ensure!(jobs > 0, "latency of no jobs");
    let (sender, mut pickups) = mpsc::unbounded_channel();
    let probe = Probe { handled: Arc::default(), pickups: Some(sender) };
    // Without the local queue and with the peer's own concurrency: its quickest pickup.
    let worker = Arc::new(options(url).concurrency(10).add_extension(probe).init().await?);
    let running = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move { worker.run().await }
    });
    let client = worker.create_utils();
    // The first job's pickup says that the worker listens; it is not counted.
    client.add_job(Noop { number: jobs }, JobSpec::default()).await?;
    tokio::time::timeout(PATIENCE, pickups.recv()).await.context("the worker does not start")?;

    let began = Instant::now();
    let mut committed = HashMap::new();
    let mut ticks = tokio::time::interval(LATENCY_INTERVAL);
    for number in 0..jobs {
        ticks.tick().await;
        let called = Instant::now();
        client.add_job(Noop { number }, JobSpec::default()).await?;
        committed.insert(number, (called, Instant::now()));
    }
    let (mut waits, mut call_waits) = (Vec::with_capacity(jobs), Vec::with_capacity(jobs));
    while waits.len() < jobs {
        let pickup = tokio::time::timeout(PATIENCE, pickups.recv()).await.context("jobs were not picked up")?;
        let (number, at) = pickup.context("the worker ended")?;
        let (called, committed) = committed[&number];
        waits.push(at.saturating_duration_since(committed));
        call_waits.push(at.saturating_duration_since(called));
    }
    let took = began.elapsed();
    worker.request_shutdown();
    running.await??;

    waits.sort_unstable();
    call_waits.sort_unstable();
    let quantile =
        |waits: &[Duration], share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let facts = json!({
        "p50_ms": quantile(&waits, 0.50), "p95_ms": quantile(&waits, 0.95), "p99_ms": quantile(&waits, 0.99),
        "call_p50_ms": quantile(&call_waits, 0.50), "call_p95_ms": quantile(&call_waits, 0.95),
        "call_p99_ms": quantile(&call_waits, 0.99), "max_ms": quantile(&waits, 1.0),
    });
    Ok(report(jobs, took, facts))
}

fn report(jobs: usize, took: Duration, facts: Value) -> Value {
    let seconds = took.as_secs_f64();
    let mut report = json!({ "jobs": jobs, "seconds": seconds, "per_second": jobs as f64 / seconds });
    if let (Some(report), Value::Object(facts)) = (report.as_object_mut(), facts) {
        report.extend(facts);
    }
    report
}
