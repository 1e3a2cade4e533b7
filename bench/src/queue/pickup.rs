//! Pickup: from a call of enqueue to the claim's answer in the hands of an idle waiter.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tenure::{Claim, Tenure};
use tokio::sync::mpsc;

use super::Bench;
use super::place::{Backend, Place, QUEUE, job};
use super::table::Table;

/// Enough for three of them to lie beyond the 99th percentile.
pub(crate) const SAMPLES: usize = 300;
/// Many times a pickup: the waiter is idle again before the next job comes.
const EVERY: Duration = Duration::from_millis(20);
/// Longer than any pickup, shorter than a bench that hangs.
const PATIENCE: Duration = Duration::from_secs(10);
const OWNER: &str = "bench-waiter";

pub(crate) const QUANTILES: [(&str, f64); 3] = [("p50", 0.50), ("p95", 0.95), ("p99", 0.99)];

/// Where the clock starts: peers' own figures start at the commit, a user's wait at the call.
pub(crate) fn label(from: &str, quantile: &str) -> String {
    format!("pickup {from}, {quantile}")
}

/// The waiter hears of a job within its handle; or, opened anew as another process would, over NOTIFY.
pub(crate) async fn measure(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    let column = bench.settings.column(backend);
    let place = Place::make(bench, backend).await?;
    let waits = waits(&place.tenure, &place.tenure).await?;
    report(table, &column, "in one process, from the call", waits.into_iter().map(|wait| wait.0).collect());
    if matches!(backend, Backend::Postgres | Backend::Tried(_)) {
        let other = place.open_again().await?;
        let (from_call, from_commit) = self::waits(&place.tenure, &other).await?.into_iter().unzip();
        report(table, &column, "over NOTIFY, from the call", from_call);
        report(table, &column, "over NOTIFY, from the commit", from_commit);
    }
    place.remove().await
}

fn report(table: &mut Table, column: &str, from: &str, mut waits: Vec<Duration>) {
    waits.sort_unstable();
    for (name, share) in QUANTILES {
        let wait = waits[((waits.len() - 1) as f64 * share) as usize];
        table.add(&label(from, name), "ms ↓", column, wait.as_secs_f64() * 1e3);
    }
}

/// For each job the wait from the call of enqueue, and that from its return (zero if the waiter was first).
async fn waits(enqueuer: &Tenure, waiter: &Tenure) -> Result<Vec<(Duration, Duration)>> {
    let (sender, mut pickups) = mpsc::unbounded_channel();
    let waiting = tokio::spawn(wait(waiter.clone(), sender));
    // The first pickup says that the waiter listens; it is not counted.
    enqueuer.enqueue(job(0)).await?;
    tokio::time::timeout(PATIENCE, pickups.recv()).await.context("the waiter does not start")?;
    let mut ticks = tokio::time::interval(EVERY);
    let mut waits = Vec::with_capacity(SAMPLES);
    for number in 0..SAMPLES {
        ticks.tick().await;
        let called = Instant::now();
        let enqueued = enqueuer.enqueue(job(number as u64)).await?;
        let committed = Instant::now();
        let pickup = tokio::time::timeout(PATIENCE, pickups.recv()).await.context("a job was not picked up")?;
        let (id, at) = pickup.context("the waiter ended")?;
        ensure!(id == enqueued.id, "job {id:?} was picked up for {:?}", enqueued.id);
        waits.push((at - called, at.saturating_duration_since(committed)));
    }
    drop(pickups);
    // It ends by itself when it next looks up; the store must not be in use when it is removed.
    waiting.abort();
    let _ = waiting.await;
    Ok(waits)
}

/// Picks up one job after another, completing each before it waits again.
async fn wait(tenure: Tenure, pickups: mpsc::UnboundedSender<(tenure::JobId, Instant)>) -> Result<()> {
    let claim = Claim::new(QUEUE, OWNER);
    loop {
        let claims = tenure.verbs().claim_within(claim.clone(), PATIENCE).await?;
        let at = Instant::now();
        for job in claims.jobs {
            tenure.verbs().complete(job.id, OWNER, job.token, None).await?;
            if pickups.send((job.id, at)).is_err() {
                return Ok(());
            }
        }
    }
}
