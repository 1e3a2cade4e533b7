//! Claims: jobs that are due, by priority, then age, then id, under new leases (Q2).
//!
//! Always true: leases of these queues that ran out come back first, so no sweeper is needed (L7) and their slots are
//! free (Q8); "empty" is said only after a full look; tokens are drawn in the transaction that writes them (L2); a job
//! that cannot be read is set aside for a person, with one line in the log, and never stops the others.

use super::moves::Moves;
use super::pick::{Pick, Queue};
use super::{Keys, change, ids, names, recover};
use crate::column;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::readable;
use crate::sql;
use crate::tokens;
use rusqlite::{Row, params};
use std::collections::BTreeSet;
use tenure_core::lease::renewed;
use tenure_core::queue::{Claim, ClaimedJob, Claims, Grants, JobId};
use tenure_core::{Time, Token};

/// Leases that one look returns for each queue, before it takes what is ready: a storm of expiries is worked off over
/// several claims. A look that finds nothing is repeated while there are more.
const EXPIRED_PER_LOOK: u32 = 1_000;
/// Scheduled jobs that one look makes ready in each queue.
const PROMOTED_PER_LOOK: u32 = 10_000;

/// A job that was picked, and the place of its queue among those of the pick.
type Due = (JobId, usize);

/// Takes jobs that are due.
pub(crate) fn claim(step: &Step<'_>, claim: &Claim) -> Done<Claims> {
    let queues: BTreeSet<&str> = claim.queues.iter().map(String::as_str).collect();
    let engine_max = change::limit(step)?;
    loop {
        let more = bring_back(step, &queues, engine_max.is_some())?;
        let mut pick = Pick::new(step, claim, &queues, engine_max)?;
        let due = pick.take()?;
        let mut unreadable = std::mem::take(&mut pick.unreadable);
        let jobs = read(step, &due, renewed(None, step.now, claim.lease_ms), &mut unreadable)?;
        if !unreadable.is_empty() {
            set_aside(step, &unreadable)?;
            continue;
        }
        if !due.is_empty() {
            let jobs = grant(step, claim, &pick, &due, jobs)?;
            count(step, &pick)?;
            return Ok(Claims { jobs, idle: None, again_in_ms: None });
        }
        if !more {
            let idle = Some(pick.idle()?);
            let again_in_ms = again_in_ms(step, &pick)?;
            return Ok(Claims { jobs: Vec::new(), idle, again_in_ms });
        }
    }
}

/// Returns the work of leases that ran out, and lets scheduled jobs that are due stand; whether there may be more.
fn bring_back(step: &Step<'_>, queues: &BTreeSet<&str>, engine_limited: bool) -> Done<bool> {
    let mut more = false;
    // Under a limit of the engine a lease of any queue may hold the slot that is wanted.
    if engine_limited {
        more |= recover::recover(step, EXPIRED_PER_LOOK)?.leases >= EXPIRED_PER_LOOK;
    }
    for queue in queues {
        more |= recover::of_queue(step, queue, EXPIRED_PER_LOOK)?;
        more |= promote(step, queue)? >= PROMOTED_PER_LOOK as usize;
    }
    Ok(more)
}

/// How many scheduled jobs have become due.
fn promote(step: &Step<'_>, queue: &str) -> Done<usize> {
    let mut promote = step.conn.prepare_cached(sql::PROMOTE)?;
    let mut rows = promote.query((queue, step.now.0, PROMOTED_PER_LOOK))?;
    let mut moves = Moves::default();
    let mut promoted = 0;
    while let Some(row) = rows.next()? {
        promoted += 1;
        if let Some(key) = row.get(0)? {
            moves.moved(queue, &Keys { ordering: None, limit: Some(key) });
        }
    }
    drop(rows);
    moves.settle(step)?;
    Ok(promoted)
}

/// Puts jobs under new leases.
fn grant(
    step: &Step<'_>,
    claim: &Claim,
    pick: &Pick<'_>,
    due: &[Due],
    mut jobs: Vec<ClaimedJob>,
) -> Done<Vec<ClaimedJob>> {
    let grants = grants(claim, due);
    let started = match claim.grants {
        Grants::Each => due.len(),
        Grants::Shared { started } => started as usize,
    };
    let mut insert = step.conn.prepare_cached(sql::GRANT)?;
    for (token, units) in tokens::draw(step, grants.len())?.zip(&grants) {
        let ids = ids(units.iter().map(|i| jobs[*i].id));
        mark(step, units.iter().map(|i| jobs[*i].id), &ids, token)?;
        let keyed = units.iter().any(|i| jobs[*i].ordering_key.is_some() || jobs[*i].limit_key.is_some());
        let first = &mut jobs[units[0]];
        // A lease over several jobs outlives the timeout of each: there the worker itself must watch it.
        let timeout_ms = first.timeout_ms.filter(|_| claim.grants == Grants::Each);
        let ends_at = timeout_ms.map(|ms| step.now.plus_ms(ms));
        first.lease_expires_at = ends_at.map_or(first.lease_expires_at, |ends_at| ends_at.min(first.lease_expires_at));
        insert.execute(params![
            token.0,
            claim.owner,
            pick.queues[due[units[0]].1].name,
            ids,
            units.iter().filter(|i| **i < started).count(),
            units.len(),
            claim.lease_ms,
            step.now.0,
            first.lease_expires_at.0,
            ends_at.map(|at| at.0),
            keyed,
        ])?;
        units.iter().for_each(|i| jobs[*i].token = token);
    }
    Ok(jobs)
}

/// Counts what was taken, for queues and tenants, and lets the next of each tenant stand.
fn count(step: &Step<'_>, pick: &Pick<'_>) -> Done<()> {
    for queue in pick.queues.iter().filter(|queue| queue.taken > 0) {
        let spent = queue.shelf.spent.plus(queue.taken, queue.shelf.settings.rate_limit, step.now);
        let mut run = step.conn.prepare_cached(sql::RUN)?;
        run.execute((queue.name, queue.taken, spent.period, spent.claims))?;
    }
    let mut moves = Moves::default();
    for tenant in pick.tenants.iter().filter(|tenant| tenant.taken > 0) {
        let queue = &pick.queues[tenant.queue];
        let spent = tenant.spent.plus(tenant.taken, queue.shelf.settings.rate_limit_per_key, step.now);
        let running = tenant.running + u64::from(tenant.taken);
        let mut set = step.conn.prepare_cached(sql::TENANT_SET)?;
        set.execute((queue.name, &tenant.key, running, spent.period, spent.claims, step.now.0))?;
        moves.moved(queue.name, &Keys { ordering: None, limit: Some(tenant.key.clone()) });
    }
    moves.settle(step)
}

/// Which of the due jobs go under one lease each: places in `due`, in the order of the tokens to be drawn.
fn grants(claim: &Claim, due: &[Due]) -> Vec<Vec<usize>> {
    match claim.grants {
        Grants::Each => (0..due.len()).map(|i| vec![i]).collect(),
        Grants::Shared { .. } => {
            let mut shared: Vec<Vec<usize>> = Vec::new();
            for (i, (_, queue)) in due.iter().enumerate() {
                match shared.iter_mut().find(|units| due[units[0]].1 == *queue) {
                    Some(units) => units.push(i),
                    None => shared.push(vec![i]),
                }
            }
            shared
        }
    }
}

/// Takes jobs that cannot be read out of the way of the others.
fn set_aside(step: &Step<'_>, unreadable: &[(JobId, String)]) -> Done<()> {
    let mut moves = Moves::default();
    for (id, fault) in unreadable {
        tracing::error!(%id, fault, "a job could not be read and is set aside");
        let mut aside = step.conn.prepare_cached(sql::SET_ASIDE)?;
        let of = aside.query_row([id.0], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
        // The next of its tenant may stand, if it can be told whose it was.
        if let Ok((queue, key)) = of {
            moves.moved(&queue, &Keys { ordering: None, limit: Some(key) });
        }
    }
    moves.settle(step)
}

/// The jobs as their claimer will know them; the tokens are filled in as they are drawn.
fn read(
    step: &Step<'_>,
    due: &[Due],
    lease_expires_at: Time,
    unreadable: &mut Vec<(JobId, String)>,
) -> Done<Vec<ClaimedJob>> {
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = step.conn.prepare_cached(sql::CLAIMED)?;
    let mut rows = select.query([ids(due.iter().map(|(id, _)| *id))])?;
    let mut jobs = Vec::with_capacity(due.len());
    while let Some(row) = rows.next()? {
        let id = JobId(row.get(0)?);
        match readable(claimed(row, id, lease_expires_at).map_err(Fault::from))? {
            Ok(job) => jobs.push(job),
            Err(fault) => unreadable.push((id, fault)),
        }
    }
    if unreadable.is_empty() && jobs.iter().map(|job| job.id).ne(due.iter().map(|(id, _)| *id)) {
        return Err(Fault::broken("the index of ready jobs and the jobs disagree; run PRAGMA integrity_check"));
    }
    Ok(jobs)
}

fn claimed(row: &Row<'_>, id: JobId, lease_expires_at: Time) -> rusqlite::Result<ClaimedJob> {
    Ok(ClaimedJob {
        id,
        queue: row.get(1)?,
        kind: row.get(2)?,
        payload: row.get(3)?,
        priority: row.get(4)?,
        attempt: row.get::<_, u32>(5)?.saturating_add(1),
        attempts_max: row.get(6)?,
        token: Token(0),
        lease_expires_at,
        created_at: column::time(row, 7)?,
        run_at: column::time(row, 8)?,
        timeout_ms: row.get(9)?,
        checkpoint: row.get(10)?,
        ordering_key: row.get(11)?,
        limit_key: row.get(12)?,
    })
}

/// Puts jobs under a lease; `ids` is the same list as JSON.
fn mark(step: &Step<'_>, units: impl ExactSizeIterator<Item = JobId>, ids: &str, token: Token) -> Done<()> {
    let count = units.len();
    let marked = match (units.last(), count) {
        // The usual grant over one job needs no list.
        (Some(id), 1) => step.conn.prepare_cached(sql::CLAIM_ONE)?.execute((id.0, token.0))?,
        _ => step.conn.prepare_cached(sql::CLAIM)?.execute((ids, token.0))?,
    };
    if marked == count { Ok(()) } else { Err(Fault::broken(format!("of {count} ready jobs {marked} could be taken"))) }
}

/// How long until time alone may change the answer. What cannot open a queue does not count: whoever waits would ask at
/// once, and again at once.
fn again_in_ms(step: &Step<'_>, pick: &Pick<'_>) -> Done<Option<u64>> {
    let next: Option<i64> = if pick.engine_full {
        step.conn.prepare_cached(sql::NEXT_END)?.query_row([], |row| row.get(0))?
    } else {
        let moving = |queue: &&Queue<'_>| {
            let settings = &queue.shelf.settings;
            !settings.paused && queue.shelf.spent.left(settings.rate_limit, step.now) > 0
        };
        let ends: Vec<&str> = pick.queues.iter().filter(moving).map(|queue| queue.name).collect();
        let with_slots = pick.queues.iter().filter(moving).filter(|queue| queue.shelf.slots() > 0);
        let due: Vec<&str> = with_slots.map(|queue| queue.name).collect();
        step.conn.prepare_cached(sql::NEXT_DUE)?.query_row((names(due), names(ends)), |row| row.get(0))?
    };
    let opens_at = pick.opens_at.map(|at| at.0);
    // Rounded up: asking a moment too early would find nothing.
    Ok(next.into_iter().chain(opens_at).min().map(|at| Time(at.saturating_add(999)).ms_since(step.now)))
}
