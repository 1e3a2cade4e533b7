//! Enqueue: one by one from many callers, and in bulk from one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Result;

use super::Bench;
use super::place::{Backend, Place, job};
use super::table::Table;

/// Callers at once of single enqueues.
pub(crate) const CALLERS: usize = 8;
/// Jobs in one bulk call; the second is the most that a call may hold.
pub(crate) const CALLS: [u64; 2] = [1_000, 10_000];

pub(crate) fn single_label() -> String {
    format!("single enqueue, {CALLERS} callers")
}

pub(crate) fn bulk_label(call: u64) -> String {
    format!("bulk enqueue, calls of {call}")
}

pub(crate) async fn single(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    let jobs = bench.settings.singles();
    let place = Place::make(bench, backend).await?;
    // Every caller's connection is made before the clock starts.
    callers(&place, CALLERS as u64 * 4).await?;
    place.settle().await?;
    let began = Instant::now();
    callers(&place, jobs).await?;
    table.add(&single_label(), "jobs/s", &bench.settings.column(backend), jobs as f64 / began.elapsed().as_secs_f64());
    place.remove().await
}

pub(crate) async fn bulk(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    for call in CALLS {
        let place = Place::make(bench, backend).await?;
        place.load(1, 1).await?;
        place.settle().await?;
        let began = Instant::now();
        place.load(bench.settings.jobs, call).await?;
        let rate = bench.settings.jobs as f64 / began.elapsed().as_secs_f64();
        table.add(&bulk_label(call), "jobs/s", &bench.settings.column(backend), rate);
        place.remove().await?;
    }
    Ok(())
}

async fn callers(place: &Place, jobs: u64) -> Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (tenure, next) = (place.tenure.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= jobs {
                        return anyhow::Ok(());
                    }
                    tenure.enqueue(job(number)).await?;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(())
}
