//! Recovery: the work of leases that ran out goes back to where it waits (Q5, L7).
//!
//! Always true: one row that cannot be read never stops the others. Its lease is set aside for a person, with one line
//! in the log, and is tried again when the store is opened next.

use super::ending::{Ender, Ending};
use super::lease::Grant;
use crate::column::all;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::{apart, readable};
use crate::sql;
use tenure_core::Token;
use tenure_core::queue::rules;
use tenure_core::queue::{JobId, Recovered, Status};

/// Returns the work of at most `leases_max` leases that ran out, oldest deadline first.
pub(crate) fn recover(step: &Step<'_>, leases_max: u32) -> Done<Recovered> {
    return_all(step, &all(step.conn, sql::EXPIRED, (step.now.0, leases_max), |row| row.get(0))?)
}

/// The same for one queue; whether there may be more.
pub(super) fn of_queue(step: &Step<'_>, queue: &str, leases_max: u32) -> Done<bool> {
    let tokens = all(step.conn, sql::EXPIRED_OF, (step.now.0, leases_max, queue), |row| row.get(0))?;
    return_all(step, &tokens)?;
    Ok(tokens.len() >= leases_max as usize)
}

fn return_all(step: &Step<'_>, tokens: &[i64]) -> Done<Recovered> {
    let mut total = Recovered::default();
    for token in tokens {
        let one = return_one(step, Token(*token))?;
        total.leases += one.leases;
        total.requeued += one.requeued;
        total.failed += one.failed;
    }
    Ok(total)
}

/// Returns what still runs under one lease, whole or, if that fails, as much as can be.
fn return_one(step: &Step<'_>, token: Token) -> Done<Recovered> {
    let whole = apart(step.conn, || readable(return_whole(step, token)))?;
    let fault = match whole {
        Ok(recovered) => return Ok(recovered),
        Err(fault) => fault,
    };
    tracing::error!(%token, fault, "a lease that ran out could not be returned whole and is set aside");
    step.conn.prepare_cached(sql::STUCK)?.execute([token.0])?;
    // Not even the list of its jobs may be readable.
    Ok(apart(step.conn, || readable(salvage(step, token)))?.unwrap_or_default())
}

fn return_whole(step: &Step<'_>, token: Token) -> Done<Recovered> {
    let Some(grant) = Grant::find(step.conn, token)? else { return Ok(Recovered::default()) };
    let mut recovered = Recovered { leases: 1, ..Recovered::default() };
    let mut ender = Ender::new(step)?;
    for (place, id) in held_units(step, token)? {
        count(&mut recovered, return_unit(step, &mut ender, &grant, place, id)?);
    }
    ender.settle()?;
    step.conn.prepare_cached(sql::DROP_LEASE)?.execute([token.0])?;
    Ok(recovered)
}

/// Returns those jobs of a lease that can be read; the others keep it.
fn salvage(step: &Step<'_>, token: Token) -> Done<Recovered> {
    let Some(mut grant) = Grant::find(step.conn, token)? else { return Ok(Recovered::default()) };
    let mut recovered = Recovered::default();
    for (place, id) in held_units(step, token)? {
        let alone = || {
            let mut ender = Ender::new(step)?;
            let status = return_unit(step, &mut ender, &grant, place, id)?;
            ender.settle()?;
            Ok(status)
        };
        match apart(step.conn, || readable(alone()))? {
            Ok(status) => {
                count(&mut recovered, status);
                grant.left = grant.left.saturating_sub(1).max(1);
            }
            Err(fault) => tracing::error!(%token, %id, fault, "a job could not be returned"),
        }
    }
    grant.write_left(step.conn)?;
    Ok(recovered)
}

fn count(recovered: &mut Recovered, status: Status) {
    match status {
        Status::Failed => recovered.failed += 1,
        _ => recovered.requeued += 1,
    }
}

/// The jobs that still run under a lease, in the order of its grant.
fn held_units(step: &Step<'_>, token: Token) -> Done<Vec<(u32, JobId)>> {
    all(step.conn, sql::HELD_UNITS, [token.0], |row| Ok((row.get(0)?, JobId(row.get(1)?))))
}

/// Puts one job back, or fails it at the crash limit (L6), as timed out or as cancelled; where it stands now.
fn return_unit(step: &Step<'_>, ender: &mut Ender<'_>, grant: &Grant, place: u32, id: JobId) -> Done<Status> {
    let gone = || Fault::broken(format!("job {id} left its lease while it was being returned"));
    let held = grant.unit(step.conn, id)?.ok_or_else(gone)?;
    // The timeout, and not the worker's silence, ended it only if the lease had been kept up to there.
    let timed_out = grant.ends_at == Some(grant.lease.expires_at);
    let settled = rules::expire(place < grant.started, timed_out, held.was);
    let error = timed_out.then(|| format!("took longer than {} ms", held.timeout_ms.unwrap_or(0)));
    let error = error.as_deref();
    ender.end(&Ending { id, grant, held: &held, settled, verb: None, error, result: None, by: None })?;
    Ok(settled.status)
}
