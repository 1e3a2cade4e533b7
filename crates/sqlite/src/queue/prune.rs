//! Removing what is no longer kept, in bounded steps, and keeping what is still promised about jobs that are gone: receipts
//! for an hour (L12), and what their dedup keys stand for (Q7).

use super::ids;
use crate::column::all;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use tenure_core::Time;
use tenure_core::bounds::{RATE_PERIOD_MS_MAX, RECEIPT_MS};
use tenure_core::changes::CHANGES_KEPT_MS;
use tenure_core::queue::worker::SIGHTING_MS;
use tenure_core::queue::{JobId, Pruned};

/// Removes at most `max` of each kind: finished jobs past their queue's retention, receipts past their hour, dedup keys
/// past their window, workers not seen for a day; tenants that only a past period of their rate
/// kept, and changes of settings that are too old.
pub(crate) fn prune(step: &Step<'_>, max: u32) -> Done<Pruned> {
    let jobs = all(step.conn, sql::PAST, (step.now.0, max), |row| row.get(0).map(JobId))?;
    forget(step, &jobs)?;
    let count = |removed: usize| u32::try_from(removed).unwrap_or(u32::MAX);
    let hour_ago = before(step.now, RECEIPT_MS).0;
    let receipts = step.conn.prepare_cached(sql::PRUNE_RECEIPTS)?.execute((hour_ago, max))?;
    let keys = step.conn.prepare_cached(sql::PRUNE_KEYS)?.execute((step.now.0, max))?;
    let day_ago = before(step.now, SIGHTING_MS).0;
    let sightings = step.conn.prepare_cached(sql::PRUNE_SIGHTINGS)?.execute((day_ago, max))?;
    let period_ago = before(step.now, RATE_PERIOD_MS_MAX).0;
    step.conn.prepare_cached(sql::PRUNE_TENANTS)?.execute((period_ago, max))?;
    let changes_ago = before(step.now, CHANGES_KEPT_MS).0;
    step.conn.prepare_cached(sql::PRUNE_CHANGES)?.execute((changes_ago, max))?;
    Ok(Pruned { jobs: count(jobs.len()), receipts: count(receipts), keys: count(keys), sightings: count(sightings) })
}

/// Removes jobs that have ended.
pub(super) fn forget(step: &Step<'_>, jobs: &[JobId]) -> Done<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let list = ids(jobs.iter().copied());
    let hour_ago = before(step.now, RECEIPT_MS).0;
    step.conn.prepare_cached(sql::RECEIPTS_OF_EARLIER)?.execute((&list, hour_ago))?;
    step.conn.prepare_cached(sql::RECEIPTS_OF_LAST)?.execute((&list, hour_ago))?;
    for statement in [sql::DEDUP_ENDED, sql::FORGET_EVENTS, sql::FORGET_NOTES, sql::FORGET] {
        step.conn.prepare_cached(statement)?.execute([&list])?;
    }
    Ok(())
}

/// The same, except for a job that its lane stopped for: it must stay on record until the lane goes on.
pub(super) fn unless_blocking(step: &Step<'_>, jobs: &[JobId]) -> Done<()> {
    let mut blocking = step.conn.prepare_cached(sql::BLOCKING)?;
    let mut gone = Vec::with_capacity(jobs.len());
    for job in jobs {
        if !blocking.exists([job.0])? {
            gone.push(*job);
        }
    }
    forget(step, &gone)
}

/// The instant `ms` before `now`.
pub(super) fn before(now: Time, ms: u64) -> Time {
    Time(now.0.saturating_sub(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000)))
}
