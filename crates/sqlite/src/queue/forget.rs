//! Removing finished jobs, and keeping what is still promised about them: receipts for an hour (L12), and what their
//! dedup keys stand for (Q7).

use super::ids;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use tenure_core::Time;
use tenure_core::bounds::RECEIPT_MS;
use tenure_core::queue::JobId;

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
