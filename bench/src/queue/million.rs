//! A million jobs in bounded memory: enqueued and drained on PostgreSQL by a process that never holds more than a few calls
//! of them.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::enqueue::CALLS;
use super::place::{Backend, Place};
use super::table::Table;
use super::{Bench, drain, machine};

const JOBS: u64 = 1_000_000;
const BATCH: u32 = 500;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let column = Backend::Postgres.to_string();
    let place = Place::make(bench, Backend::Postgres).await?;
    machine::forget_peak();
    let began = Instant::now();
    place.load(JOBS, CALLS[1]).await?;
    table.add("a million jobs: enqueue", "jobs/s", &column, JOBS as f64 / began.elapsed().as_secs_f64());
    let began = Instant::now();
    let finished = drain::by_tasks(&place.tenure, BATCH).await?;
    table.add("a million jobs: drain", "jobs/s", &column, JOBS as f64 / began.elapsed().as_secs_f64());
    let peak = machine::peak_mb().context("this machine does not tell how much memory was used")?;
    table.add("a million jobs: most memory of this process", "MB ↓", &column, peak);
    ensure!(finished == JOBS, "{finished} of {JOBS} jobs were finished");
    place.check_drained(JOBS).await?;
    place.remove().await
}
