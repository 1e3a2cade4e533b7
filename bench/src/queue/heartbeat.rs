//! Heartbeats: what it costs to keep many jobs running.

use std::time::Instant;

use anyhow::{Result, ensure};
use tenure::{Beat, Claim};

use super::Bench;
use super::drain::LEASE_MS;
use super::enqueue::CALLS;
use super::place::{Backend, Place, QUEUE};
use super::table::Table;

const RUNNING: u64 = 10_000;
/// Jobs under one lease.
const SHARED: u32 = 500;
/// The figure is the median of these.
const ROUNDS: usize = 21;
const OWNER: &str = "bench-holder";

/// The time of one call that renews every lease.
pub(crate) async fn measure(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    let place = Place::make(bench, backend).await?;
    place.load(RUNNING, CALLS[1]).await?;
    let claim = Claim::new(QUEUE, OWNER).max(SHARED).shared(SHARED).lease_ms(LEASE_MS);
    let mut beats = Vec::new();
    let mut running = 0;
    while running < RUNNING {
        let claims = place.tenure.verbs().claim(claim.clone()).await?;
        ensure!(!claims.jobs.is_empty(), "only {running} of {RUNNING} jobs were claimed");
        running += claims.jobs.len() as u64;
        beats.push(Beat::shared(OWNER, claims.jobs[0].token));
    }
    place.settle().await?;
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let beaten = place.tenure.verbs().heartbeats(beats.clone()).await?;
        rounds.push(began.elapsed());
        for one in beaten {
            one?;
        }
    }
    rounds.sort_unstable();
    let label = format!("heartbeats of {RUNNING} running jobs, {SHARED} to a lease");
    table.add(&label, "ms ↓", &bench.settings.column(backend), rounds[ROUNDS / 2].as_secs_f64() * 1e3);
    place.remove().await
}
