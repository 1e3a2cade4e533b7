//! Heartbeats: a lease runs until `now` plus the time granted at its claim (Q3).

use super::judge;
use super::lease::Lease;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::LostReason;
use tenure_core::lease::renewed;
use tenure_core::queue::rules::Presented;
use tenure_core::queue::{Beat, Beaten, JobId};
use tenure_store::Fenced;

/// Renews leases, each answered on its own.
pub(crate) fn heartbeat(step: &Step<'_>, beats: &[Beat]) -> Done<Vec<Fenced<Beaten>>> {
    beats.iter().map(|beat| one(step, beat)).collect()
}

fn one(step: &Step<'_>, beat: &Beat) -> Done<Fenced<Beaten>> {
    let lease = Lease::find(step.conn, beat.token)?;
    match (lease, beat.job) {
        (Some(lease), None) if lease.owner == beat.owner => {
            if !lease.held_by(&beat.owner, step.now) {
                return Ok(Err(LostReason::Expired));
            }
            let asked = if lease.cancels { asked_to_stop(step, &lease)? } else { Vec::new() };
            renew(step, beat, lease, asked).map(Ok)
        }
        (_, None) => Ok(Err(LostReason::Unknown)),
        (lease, Some(id)) => {
            let lease = lease.filter(|lease| lease.held_by(&beat.owner, step.now));
            let held = lease.as_ref().map(|lease| lease.unit(step.conn, id)).transpose()?.flatten();
            if let (Some(lease), Some(held)) = (lease, held) {
                return renew(step, beat, lease, if held.was.cancel_requested { vec![id] } else { Vec::new() }).map(Ok);
            }
            let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
            // A receipt is only for the verb that wrote it.
            Ok(judge::unheld(step, id, presented)?.and(Err(LostReason::Finished)))
        }
    }
}

/// Moves the deadline of a held lease, never beyond its job's own timeout.
fn renew(step: &Step<'_>, beat: &Beat, mut lease: Lease, cancel_requested: Vec<JobId>) -> Done<Beaten> {
    let expires_at = renewed(Some(lease.expires_at), step.now, lease.lease_ms);
    lease.expires_at = lease.ends_at.map_or(expires_at, |ends_at| ends_at.min(expires_at));
    lease.pulse.beat(lease.granted_at, step.now);
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
fn asked_to_stop(step: &Step<'_>, lease: &Lease) -> Done<Vec<JobId>> {
    let mut asked = step.conn.prepare_cached(sql::ASKED_TO_STOP)?;
    let asked = asked.query_map([lease.token.0], |row| row.get(0).map(JobId))?;
    Ok(asked.collect::<rusqlite::Result<_>>()?)
}
