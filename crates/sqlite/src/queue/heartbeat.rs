//! Heartbeats: a lease runs until `now` plus the time granted at its claim (Q3).

use super::judge;
use super::lease::Grant;
use crate::column::all;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::LostReason;
use tenure_core::lease::Presented;
use tenure_core::queue::rules;
use tenure_core::queue::{Beat, Beaten, JobId};
use tenure_store::Fenced;

/// Renews leases, each answered on its own.
pub(crate) fn heartbeat(step: &Step<'_>, beats: &[Beat]) -> Done<Vec<Fenced<Beaten>>> {
    beats.iter().map(|beat| one(step, beat)).collect()
}

fn one(step: &Step<'_>, beat: &Beat) -> Done<Fenced<Beaten>> {
    let grant = Grant::find(step.conn, beat.token)?;
    let Some(id) = beat.job else {
        let grant = match Grant::shared(grant, &beat.owner, beat.token, step.now) {
            Ok(grant) => grant,
            Err(reason) => return Ok(Err(reason)),
        };
        let asked = if grant.cancels { asked_to_stop(step, &grant)? } else { Vec::new() };
        return renew(step, beat, grant, asked).map(Ok);
    };
    let grant = grant.filter(|grant| grant.held_by(&beat.owner, step.now));
    let held = grant.as_ref().map(|grant| grant.unit(step.conn, id)).transpose()?.flatten();
    if let (Some(grant), Some(held)) = (grant, held) {
        return renew(step, beat, grant, if held.was.cancel_requested { vec![id] } else { Vec::new() }).map(Ok);
    }
    let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
    // A receipt is only for the verb that wrote it.
    Ok(judge::unheld(step, id, presented)?.and(Err(LostReason::Finished)))
}

/// Moves the deadline of a held lease, never beyond its job's own timeout.
fn renew(step: &Step<'_>, beat: &Beat, grant: Grant, cancel_requested: Vec<JobId>) -> Done<Beaten> {
    let mut lease = grant.lease;
    lease.renew(step.now);
    let lease = rules::capped(lease, grant.ends_at);
    step.conn.prepare_cached(sql::RENEW)?.execute(params![
        lease.token.0,
        lease.expires_at.0,
        lease.pulse.beats,
        lease.pulse.last_beat_at.map(|at| at.0),
        lease.pulse.longest_gap_ms,
    ])?;
    if let Some(id) = beat.job.filter(|_| beat.progress.is_some() || beat.checkpoint.is_some()) {
        step.conn.prepare_cached(sql::NOTE)?.execute((id.0, &beat.progress, &beat.checkpoint))?;
    }
    Ok(Beaten { lease_expires_at: lease.expires_at, cancel_requested })
}

/// Jobs under a lease that an operator asked to cancel (L11).
fn asked_to_stop(step: &Step<'_>, grant: &Grant) -> Done<Vec<JobId>> {
    all(step.conn, sql::ASKED_TO_STOP, [grant.lease.token.0], |row| row.get(0).map(JobId))
}
