//! Size: how long each verb takes in a store that has grown large, on PostgreSQL.
//!
//! The store is filled by SQL, as the verbs would have left it: finished jobs, waiting ones (a tenth of them scheduled), and a
//! tenant at its limit with as many jobs parked behind it. Then each verb is called through `Tenure`, one after the other,
//! and its latencies are printed. Nothing else uses the store meanwhile.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tenure::{Change, Claim, Filter, JobId, NewJob, Status, Tenure};
use tokio_postgres::{Client, NoTls};

/// Jobs of one statement that fills: some seconds of work, so that the progress is seen.
const SLICE: i64 = 1_000_000;
/// Calls of each verb: enough for a 99th percentile that is not the worst.
const CALLS: usize = 200;
const WORKER: &str = "bench";

pub(crate) const USAGE: &str = "\
tenure-bench size [--finished 10000000] [--queued 1000000] [--parked 1000000]
       on the server named by TENURE_BENCH_POSTGRES
";

/// How much of each kind.
struct Settings {
    finished: i64,
    queued: i64,
    parked: i64,
}

impl Settings {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Settings> {
        let mut settings = Settings { finished: 10_000_000, queued: 1_000_000, parked: 1_000_000 };
        while let Some(flag) = args.next() {
            let place = match flag.as_str() {
                "--finished" => &mut settings.finished,
                "--queued" => &mut settings.queued,
                "--parked" => &mut settings.parked,
                _ => bail!("unknown flag {flag}\nusage: {USAGE}"),
            };
            let value = args.next().with_context(|| format!("{flag} needs a number"))?;
            *place = value.parse().with_context(|| format!("{flag} needs a number"))?;
        }
        // Fewer would leave nothing to claim.
        if settings.queued < 50_000 || settings.finished < 1_000 || settings.parked < 1_000 {
            bail!("too small to tell: at least 1,000 finished, 50,000 queued, 1,000 parked");
        }
        Ok(settings)
    }
}

/// Parses the arguments after `size`, fills a store, measures, and prints the table.
pub(crate) fn run(args: impl Iterator<Item = String>) -> Result<()> {
    let settings = Settings::parse(args)?;
    let server = std::env::var("TENURE_BENCH_POSTGRES").context("set TENURE_BENCH_POSTGRES to the server's URL")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&settings, &server))
}

async fn measure(settings: &Settings, server: &str) -> Result<()> {
    let name = format!("tenure_size_{}", std::process::id());
    let (base, _) = server.rsplit_once('/').context("the server's URL names no database")?;
    let url = format!("{base}/{name}");
    let admin = connect(server).await?;
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await?;
    let measured = in_store(settings, &url).await;
    admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await?;
    measured
}

async fn in_store(settings: &Settings, url: &str) -> Result<()> {
    let tenure = Tenure::open(url).await?;
    let first_parked = fill(settings, url, &tenure).await?;
    println!("| verb | p50 ms | p99 ms | worst ms |\n| --- | --- | --- | --- |");
    let parked = JobId(first_parked + settings.parked / 2);
    let mut held = Vec::new();
    for max in [1, 100] {
        let mut took = Vec::new();
        for _ in 0..CALLS {
            let began = Instant::now();
            let jobs = tenure.verbs().claim(Claim::new("busy", WORKER).max(max).lease_ms(3_600_000)).await?.jobs;
            took.push(began.elapsed());
            anyhow::ensure!(jobs.len() == max as usize, "only {} of {max} jobs were claimed", jobs.len());
            held.extend(jobs);
        }
        print(&format!("claim of {max}"), took);
    }
    let mut took = Vec::new();
    for job in held.drain(..CALLS) {
        let began = Instant::now();
        tenure.verbs().complete(job.id, WORKER, job.token, None).await?;
        took.push(began.elapsed());
    }
    print("complete", took);
    let mut took = Vec::new();
    for n in 0..CALLS {
        tenure.enqueue(NewJob::new("tenants", "k0", "1").limit_key(format!("small-{}", n % 50))).await?;
        let began = Instant::now();
        let jobs = tenure.verbs().claim(Claim::new("tenants", WORKER)).await?.jobs;
        took.push(began.elapsed());
        let job = jobs.first().context("another tenant's job is claimed beside the one at its limit")?;
        tenure.verbs().complete(job.id, WORKER, job.token, None).await?;
    }
    print("claim of another tenant's job", took);
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        anyhow::ensure!(
            tenure.verbs().claim(Claim::new("tenants", WORKER)).await?.jobs.is_empty(),
            "the tenant has its limit"
        );
        took.push(began.elapsed());
    }
    print("claim where only the tenant at its limit waits", took);

    for (what, queue, status, kind) in [
        ("list", None, None, None),
        ("list of a queue", Some("busy"), None, None),
        ("list of a queue, queued", Some("busy"), Some(Status::Queued), None),
        ("list of a queue, running", Some("busy"), Some(Status::Running), None),
        ("list of a queue, completed", Some("busy"), Some(Status::Completed), None),
        ("list of a queue, failed", Some("busy"), Some(Status::Failed), None),
        ("list of all failed", None, Some(Status::Failed), None),
        ("list of a kind", None, None, Some("k3")),
    ] {
        let filter = Filter { queue: queue.map(str::to_owned), status, kind: kind.map(str::to_owned) };
        let mut took = Vec::new();
        for _ in 0..CALLS {
            let began = Instant::now();
            tenure.verbs().jobs(filter.clone(), None, 100).await?;
            took.push(began.elapsed());
        }
        print(what, took);
    }
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        tenure.verbs().queue("busy").await?;
        took.push(began.elapsed());
    }
    print("a queue with its counts", took);
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        tenure.verbs().explain(parked).await?.context("the parked job is explained")?;
        took.push(began.elapsed());
    }
    print("explain of a parked job", took);
    Ok(())
}

/// Fills the store, and returns the first of the parked jobs' ids.
async fn fill(settings: &Settings, url: &str, tenure: &Tenure) -> Result<i64> {
    let client = connect(url).await?;
    client.batch_execute("SET synchronous_commit = off").await?;
    // A tenant at its limit, by its own doing: one job of it runs.
    tenure.verbs().change_queue("tenants", Change { max_running_per_key: Some(Some(1)), ..Change::default() }).await?;
    tenure.enqueue(NewJob::new("tenants", "k0", "1").limit_key("big")).await?;
    let claims = tenure.verbs().claim(Claim::new("tenants", WORKER).lease_ms(3_600_000 * 10)).await?;
    anyhow::ensure!(claims.jobs.len() == 1, "the tenant's first job runs");
    tenure.verbs().change_queue("busy", Change::default()).await?;

    let began = Instant::now();
    let mut next: i64 = 1_000;
    let mut first_parked = next;
    for (what, sql, count) in [
        ("finished", include_str!("../size/finished.sql"), settings.finished),
        ("queued", include_str!("../size/waiting.sql"), settings.queued),
        ("parked", include_str!("../size/parked.sql"), settings.parked),
    ] {
        first_parked = next;
        let end = next + count;
        while next < end {
            let last = (next + SLICE).min(end) - 1;
            client.execute(sql, &[&next, &last]).await?;
            next = last + 1;
            eprintln!("{what}: {} of {count}, {:.0} s", next - first_parked, began.elapsed().as_secs_f64());
        }
    }
    client.query("SELECT setval('tenure.job_id', $1)", &[&next]).await?;
    // Each by itself: neither runs inside a transaction, which several statements at once would be.
    client.batch_execute("VACUUM ANALYZE").await?;
    client.batch_execute("CHECKPOINT").await?;
    eprintln!("filled in {:.0} s", began.elapsed().as_secs_f64());
    Ok(first_parked)
}

fn print(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)].as_secs_f64() * 1e3;
    println!("| {what} | {:.2} | {:.2} | {:.2} |", at(50), at(99), at(100));
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("cannot connect to PostgreSQL")?;
    tokio::spawn(connection);
    Ok(client)
}
