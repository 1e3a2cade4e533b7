//! Removing what is no longer kept, in bounded steps.

use super::forget;
use crate::column::all;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use tenure_core::bounds::{RATE_PERIOD_MS_MAX, RECEIPT_MS};
use tenure_core::changes::CHANGES_KEPT_MS;
use tenure_core::queue::worker::SIGHTING_MS;
use tenure_core::queue::{JobId, Pruned};

/// Removes at most `max` of each kind: finished jobs past their queue's retention, receipts past their hour, dedup keys
/// past their window, workers not seen for a day; tenants that only a past period of their rate
/// kept, and changes of settings that are too old.
pub(crate) fn prune(step: &Step<'_>, max: u32) -> Done<Pruned> {
    let jobs = all(step.conn, sql::PAST, (step.now.0, max), |row| row.get(0).map(JobId))?;
    forget::forget(step, &jobs)?;
    let count = |removed: usize| u32::try_from(removed).unwrap_or(u32::MAX);
    let hour_ago = forget::before(step.now, RECEIPT_MS).0;
    let receipts = step.conn.prepare_cached(sql::PRUNE_RECEIPTS)?.execute((hour_ago, max))?;
    let keys = step.conn.prepare_cached(sql::PRUNE_KEYS)?.execute((step.now.0, max))?;
    let day_ago = forget::before(step.now, SIGHTING_MS).0;
    let sightings = step.conn.prepare_cached(sql::PRUNE_SIGHTINGS)?.execute((day_ago, max))?;
    let period_ago = forget::before(step.now, RATE_PERIOD_MS_MAX).0;
    step.conn.prepare_cached(sql::PRUNE_TENANTS)?.execute((period_ago, max))?;
    let changes_ago = forget::before(step.now, CHANGES_KEPT_MS).0;
    step.conn.prepare_cached(sql::PRUNE_CHANGES)?.execute((changes_ago, max))?;
    Ok(Pruned { jobs: count(jobs.len()), receipts: count(receipts), keys: count(keys), sightings: count(sightings) })
}
