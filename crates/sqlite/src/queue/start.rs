//! The mark that handlers are about to run, so that work which kills its worker is counted (L6).

use super::lease::Grant;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use tenure_core::queue::Start;
use tenure_store::Fenced;

/// Marks the first `count` jobs of a lease as started. Never takes a mark back.
pub(crate) fn start(step: &Step<'_>, start: &Start) -> Done<Fenced<()>> {
    let found = Grant::find(step.conn, start.token)?;
    let grant = match Grant::shared(found, &start.owner, start.token, step.now) {
        Ok(grant) => grant,
        Err(reason) => return Ok(Err(reason)),
    };
    let started = start.count.min(grant.units);
    if started > grant.started {
        step.conn.prepare_cached(sql::START)?.execute((start.token.0, started))?;
    }
    Ok(Ok(()))
}
