//! The worker: jobs that wait are run by handlers that do nothing until none is left. What users run.

use std::time::Instant;

use anyhow::{Result, ensure};
use tenure::{Outcome, Outcomes};

use super::Bench;
use super::enqueue::CALLS;
use super::place::{Backend, Place, QUEUE};
use super::table::Table;

/// Handlers at once.
pub(crate) const SLOTS: [usize; 4] = [1, 10, 100, 500];
/// Few slots take their jobs one commit at a time: so many fewer of them are run.
const FEW: [(usize, u64); 2] = [(1, 50), (10, 10)];

pub(crate) fn label(slots: usize) -> String {
    format!("worker, {slots} slots")
}

pub(crate) async fn measure(bench: &Bench, backend: Backend, table: &mut Table) -> Result<()> {
    for slots in SLOTS {
        let fewer = FEW.iter().find(|(few, _)| *few == slots).map_or(1, |(_, fewer)| *fewer);
        let jobs = bench.settings.jobs / fewer;
        let place = Place::make(bench, backend).await?;
        place.load(jobs, CALLS[1]).await?;
        place.settle().await?;
        let worker = place.tenure.worker().queue(QUEUE).concurrency(slots);
        let began = Instant::now();
        let report = worker.handle_any(|_| async { Outcome::done(None) }).drain().await?;
        let rate = jobs as f64 / began.elapsed().as_secs_f64();
        ensure!(report.completed == jobs, "{jobs} jobs were run: {report:?}");
        table.add(&label(slots), "jobs/s", &bench.settings.column(backend), rate);
        place.check_drained(jobs).await?;
        place.remove().await?;
    }
    Ok(())
}
