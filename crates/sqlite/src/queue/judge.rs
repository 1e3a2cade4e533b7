//! Writes that are not plainly held: answered from receipts (L12), or refused with the reason and an event (L3, L8).

use super::show;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::LostReason;
use tenure_core::queue::rules::{self, Current, Judgement, Presented};
use tenure_core::queue::{Ended, JobId, Verb};

/// Judges a write by everything that is known of the job. The caller has seen that its lease is not held, so the
/// answer is a receipt or a refusal.
pub(super) fn unheld(step: &Step<'_>, id: JobId, presented: Presented<'_>) -> Done<Result<Ended, LostReason>> {
    let Some(job) = show::job(step, id)? else { return Ok(Err(LostReason::Unknown)) };
    let current = job.lease.as_ref();
    let current =
        current.map(|lease| Current { owner: &lease.owner, token: lease.token, expires_at: lease.expires_at });
    match rules::judge(presented, &job.attempts, job.token, current, step.now) {
        Judgement::Held => Err(Fault::broken(format!("job {id} is held and is not, at once"))),
        Judgement::Already(ended) => Ok(Ok(ended)),
        Judgement::Lost(reason) => {
            step.conn.prepare_cached(sql::REFUSED)?.execute(params![
                step.now.0,
                id.0,
                presented.token.0,
                presented.owner,
                presented.verb.map(Verb::as_str),
                reason.as_str(),
            ])?;
            Ok(Err(reason))
        }
    }
}
