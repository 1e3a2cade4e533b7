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
use tenure_core::queue::{Beat, Beaten};
use tenure_store::Fenced;

/// Renews leases, each answered on its own.
pub(crate) fn heartbeat(step: &Step<'_>, beats: &[Beat]) -> Done<Vec<Fenced<Beaten>>> {
    beats.iter().map(|beat| one(step, beat)).collect()
}

fn one(step: &Step<'_>, beat: &Beat) -> Done<Fenced<Beaten>> {
    let lease = Lease::find(step.conn, beat.token)?;
    let mut lease = match (lease, beat.job) {
        (Some(lease), None) if lease.owner == beat.owner => {
            if !lease.held_by(&beat.owner, step.now) {
                return Ok(Err(LostReason::Expired));
            }
            lease
        }
        (_, None) => return Ok(Err(LostReason::Unknown)),
        (Some(lease), Some(id)) if lease.held_by(&beat.owner, step.now) && runs_under(step, id.0, &lease)? => lease,
        (_, Some(id)) => {
            let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
            // A receipt is only for the verb that wrote it.
            return Ok(judge::unheld(step, id, presented)?.and(Err(LostReason::Finished)));
        }
    };
    lease.expires_at = renewed(Some(lease.expires_at), step.now, lease.lease_ms);
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
    Ok(Ok(Beaten { lease_expires_at: lease.expires_at, cancel_requested: Vec::new() }))
}

fn runs_under(step: &Step<'_>, id: i64, lease: &Lease) -> Done<bool> {
    Ok(step.conn.prepare_cached(sql::RUNNING)?.exists((id, lease.token.0))?)
}
