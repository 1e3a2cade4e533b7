//! Writes that are not plainly held: answered from receipts (L12), or refused with the reason and an event (L3, L8).

use super::read;
use crate::column;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{OptionalExtension, params};
use tenure_core::lease::{End, Judgement, Presented};
use tenure_core::queue::rules::Receipt;
use tenure_core::queue::{Ended, JobId, REFUSALS_KEPT, Status, Verb};
use tenure_core::{LostReason, Token, lease};

/// Judges a write by everything that is known of the job. The caller has seen that its lease is not held, so the
/// answer is a receipt or a refusal.
pub(super) fn unheld(step: &Step<'_>, id: JobId, presented: Presented<'_, Verb>) -> Done<Result<Ended, LostReason>> {
    let (judgement, on_record) = judge(step, id, presented)?;
    match judgement {
        Judgement::Held => Err(Fault::broken(format!("job {id} is held and is not, at once"))),
        Judgement::Already(status) => Ok(Ok(Ended { status, already: true })),
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
pub(crate) fn judge(step: &Step<'_>, id: JobId, presented: Presented<'_, Verb>) -> Done<(Judgement<Status>, bool)> {
    let job = read::job(step, id)?;
    let (mut receipt, mut last) = (None, None);
    if let Some(job) = &job {
        (receipt, last) = (job.receipt(presented), job.token);
    }
    if receipt.is_none() {
        receipt = kept(step, id, presented.token)?;
    }
    if job.is_none() && receipt.is_some() {
        // Of a job that is gone, the receipt of its last claim stays longest.
        last = step.conn.prepare_cached(sql::LAST_RECEIPT)?.query_row([id.0], |row| column::token_opt(row, 0))?;
    }
    let lease = job.as_ref().and_then(|job| job.lease.as_ref());
    Ok((lease::judge(presented, receipt.as_ref(), last, lease, step.now), job.is_some()))
}

/// An ending that is no longer kept with its job.
fn kept(step: &Step<'_>, id: JobId, token: Token) -> Done<Option<Receipt>> {
    let mut receipt = step.conn.prepare_cached(sql::RECEIPT)?;
    let found = receipt.query_row((id.0, token.0), |row| {
        let end = match (column::word_opt(row, 0, Verb::parse)?, row.get(2)?) {
            (Some(verb), _) => End::By(verb, column::word(row, 1, Status::parse)?),
            (None, true) => End::Cancelled,
            (None, false) => End::Expired,
        };
        Ok(Receipt { owner: row.get(3)?, end, at: column::time(row, 4)? })
    });
    Ok(found.optional()?)
}
