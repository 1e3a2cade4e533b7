//! The mark that handlers are about to run, so that work which kills its worker is counted (L6).

use super::lease::Lease;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use tenure_core::LostReason;
use tenure_core::queue::Start;
use tenure_store::Fenced;

/// Marks the first `count` jobs of a lease as started. Never takes a mark back.
pub(crate) fn start(step: &Step<'_>, start: &Start) -> Done<Fenced<()>> {
    let lease = Lease::find(step.conn, start.token)?.filter(|lease| lease.owner == start.owner);
    let Some(lease) = lease else { return Ok(Err(LostReason::Unknown)) };
    if !lease.held_by(&start.owner, step.now) {
        return Ok(Err(LostReason::Expired));
    }
    let started = start.count.min(lease.units);
    if started > lease.started {
        step.conn.prepare_cached(sql::START)?.execute((lease.token.0, started))?;
    }
    Ok(Ok(()))
}
