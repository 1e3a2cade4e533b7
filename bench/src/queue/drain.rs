//! Drain: jobs that wait are claimed and completed until none is left.

use std::time::Instant;

use anyhow::{Result, ensure};
use tenure::{Act, Claim, Ending, Tenure};

use super::Bench;
use super::enqueue::CALLS;
use super::place::{Backend, Place, QUEUE};
use super::table::Table;

/// Tasks that claim and complete side by side.
pub(crate) const TASKS: usize = 4;
/// Smaller claims are not repeated under a held snapshot: they take too long to say the same.
pub(crate) const HELD_BATCH_MIN: u32 = 100;
/// Far above any drain here: no lease may run out while it is timed.
pub(crate) const LEASE_MS: u64 = 600_000;

pub(crate) fn label(batch: u32) -> String {
    format!("drain, claims of {batch}")
}

pub(crate) fn held_label(batch: u32) -> String {
    format!("drain under a held snapshot, claims of {batch}")
}

pub(crate) async fn plain(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    for &batch in &bench.settings.batches {
        drained(bench, backend, batch, false, &label(batch), table).await?;
    }
    Ok(())
}

/// Only where snapshots keep dead rows.
pub(crate) async fn held(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    if matches!(backend, Backend::Memory | Backend::Sqlite) {
        return Ok(());
    }
    for &batch in bench.settings.batches.iter().filter(|batch| **batch >= HELD_BATCH_MIN) {
        let label = held_label(batch);
        let rate = drained(bench, backend, batch, true, &label, table).await?;
        if let Some(without) = table.last(&self::label(batch), &bench.settings.column(backend)) {
            table.add(&format!("{label}: of without"), "ratio", &bench.settings.column(backend), rate / without);
        }
    }
    Ok(())
}

async fn drained(
    bench: &Bench,
    backend: Backend,
    batch: u32,
    hold: bool,
    label: &str,
    table: &mut Table,
) -> Result<f64> {
    let (jobs, column) = (bench.settings.jobs, bench.settings.column(backend));
    let place = Place::make(bench, backend).await?;
    place.load(jobs, CALLS[1]).await?;
    place.settle().await?;
    let holder = match &place.database {
        Some(database) if hold => Some(database.hold().await?),
        _ => None,
    };
    let before = match &place.database {
        Some(database) => Some(database.spent().await?),
        None => None,
    };
    let began = Instant::now();
    let finished = by_tasks(&place.tenure, batch).await?;
    let rate = jobs as f64 / began.elapsed().as_secs_f64();
    table.add(label, "jobs/s", &column, rate);
    if let (Some(database), Some(before)) = (&place.database, before) {
        for (meter, unit, figure) in database.spent().await?.each(before, jobs) {
            table.add(&format!("{label}: {meter}"), unit, &column, figure);
        }
    }
    drop(holder);
    ensure!(finished == jobs, "{finished} of {jobs} jobs were finished");
    place.check_drained(jobs).await?;
    place.remove().await?;
    Ok(rate)
}

/// Drains the queue and returns how many endings were accepted.
pub(crate) async fn by_tasks(tenure: &Tenure, batch: u32) -> Result<u64> {
    let tasks: Vec<_> =
        (0..TASKS).map(|task| tokio::spawn(by_one(tenure.clone(), format!("bench-{task}"), batch))).collect();
    let mut finished = 0;
    for task in tasks {
        finished += task.await??;
    }
    Ok(finished)
}

async fn by_one(tenure: Tenure, owner: String, batch: u32) -> Result<u64> {
    let claim = Claim::new(QUEUE, &owner).max(batch).shared(batch).lease_ms(LEASE_MS);
    let mut finished = 0;
    loop {
        let claims = tenure.verbs().claim(claim.clone()).await?;
        // What the other tasks hold is theirs to finish.
        if claims.jobs.is_empty() {
            return Ok(finished);
        }
        let endings = claims.jobs.into_iter().map(|job| Ending {
            job: job.id,
            owner: owner.clone(),
            token: job.token,
            act: Act::Complete { result: None },
        });
        for ended in tenure.verbs().finish_all(endings.collect()).await? {
            ensure!(!ended?.already, "a job was finished twice");
            finished += 1;
        }
    }
}
