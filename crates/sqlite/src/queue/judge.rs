//! Writes that are not plainly held: answered from receipts (L12), or refused with the reason and an event (L3, L8).

use super::{row, show};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{OptionalExtension, params};
use tenure_core::LostReason;
use tenure_core::queue::rules::{self, Current, Judgement, Presented};
use tenure_core::queue::{Ended, JobId, REFUSALS_KEPT, Status, Verb};

/// Judges a write by everything that is known of the job. The caller has seen that its lease is not held, so the
/// answer is a receipt or a refusal.
pub(super) fn unheld(step: &Step<'_>, id: JobId, presented: Presented<'_>) -> Done<Result<Ended, LostReason>> {
    let (judgement, on_record) = judge(step, id, presented)?;
    match judgement {
        Judgement::Held => Err(Fault::broken(format!("job {id} is held and is not, at once"))),
        Judgement::Already(ended) => Ok(Ok(ended)),
        Judgement::Lost(reason) => {
            if on_record {
                step.conn.prepare_cached(sql::REFUSED)?.execute(params![
                    step.now.0,
                    id.0,
                    presented.token.0,
                    presented.owner,
                    presented.verb.map(Verb::as_str),
                    reason.as_str(),
                ])?;
                step.conn.prepare_cached(sql::FORGET_REFUSALS)?.execute((id.0, REFUSALS_KEPT))?;
            }
            Ok(Err(reason))
        }
    }
}

/// The judgement, and whether the job is on record. Writes nothing.
pub(crate) fn judge(step: &Step<'_>, id: JobId, presented: Presented<'_>) -> Done<(Judgement, bool)> {
    let job = show::job(step, id)?;
    let on_record = job.is_some();
    let judgement = job.map_or(Judgement::Lost(LostReason::Unknown), |job| {
        let current = job.lease.as_ref();
        let current =
            current.map(|lease| Current { owner: &lease.owner, token: lease.token, expires_at: lease.expires_at });
        rules::judge(presented, &job.attempts, job.token, current, step.now)
    });
    if judgement != Judgement::Lost(LostReason::Unknown) {
        return Ok((judgement, on_record));
    }
    Ok((by_receipt(step, id, presented)?.unwrap_or(judgement), on_record))
}

/// The answer from an ending that is no longer kept with its job.
fn by_receipt(step: &Step<'_>, id: JobId, presented: Presented<'_>) -> Done<Option<Judgement>> {
    let mut receipt = step.conn.prepare_cached(sql::RECEIPT)?;
    let found = receipt.query_row((id.0, presented.token.0, presented.owner), |row| {
        let verb = row::word_opt(row, 0, Verb::parse)?;
        Ok((verb, row::word(row, 1, Status::parse)?, row::word(row, 2, LostReason::parse)?))
    });
    Ok(found.optional()?.map(|(verb, status, lost)| match verb {
        Some(_) if verb == presented.verb => Judgement::Already(Ended { status, already: true }),
        Some(_) => Judgement::Lost(LostReason::Finished),
        None => Judgement::Lost(lost),
    }))
}
