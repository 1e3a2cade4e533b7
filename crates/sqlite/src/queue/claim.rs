//! Claims: jobs that are due, by priority, then age, then id, under new leases (Q2).
//!
//! Always true: leases of these queues that ran out come back first, so no sweeper is needed (L7); "empty" is said only
//! after a full look; tokens are drawn in the transaction that writes them (L2).

use super::{ids, recover, row};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use tenure_core::lease::renewed;
use tenure_core::queue::{Claim, ClaimedJob, Claims, Grants, Idle, JobId};
use tenure_core::{Time, Token};

/// Leases that one look returns for each queue, before it takes what is ready: a storm of expiries is worked off over
/// several claims. A look that finds nothing is repeated while there are more.
const EXPIRED_PER_LOOK: u32 = 1_000;
/// Scheduled jobs that one look makes ready in each queue.
const PROMOTED_PER_LOOK: u32 = 10_000;

/// A job's place in the order of claims, and its queue.
type Due<'a> = ((Reverse<i32>, Time, JobId), &'a str);

/// Takes jobs that are due.
pub(crate) fn claim(step: &Step<'_>, claim: &Claim) -> Done<Claims> {
    let queues: BTreeSet<&str> = claim.queues.iter().map(String::as_str).collect();
    let mut due = Vec::new();
    let mut more = true;
    while more && due.is_empty() {
        more = false;
        for queue in &queues {
            more |= recover::of_queue(step, queue, EXPIRED_PER_LOOK)?;
            let promoted = step.conn.prepare_cached(sql::PROMOTE)?.execute((queue, step.now.0, PROMOTED_PER_LOOK))?;
            more |= promoted >= PROMOTED_PER_LOOK as usize;
            ready(step, claim, queue, &mut due)?;
        }
    }
    due.sort_unstable();
    due.truncate(claim.max as usize);
    if due.is_empty() {
        return Ok(Claims { jobs: Vec::new(), idle: Some(Idle::Empty), again_in_ms: again_in_ms(step, &queues)? });
    }
    let grants = grants(claim, &due);
    let counters = grants.len() as u64;
    let (epoch, last): (u16, u64) =
        step.conn.prepare_cached(sql::DRAW_GRANTS)?.query_row([counters], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let expires_at = renewed(None, step.now, claim.lease_ms);
    let started = match claim.grants {
        Grants::Each => due.len(),
        Grants::Shared { started } => started as usize,
    };

    let mut jobs = read(step, &due, expires_at)?;
    let mut insert = step.conn.prepare_cached(sql::GRANT)?;
    for (counter, units) in (last + 1 - counters..).zip(&grants) {
        let token = Token::new(epoch, counter);
        let ids = ids(units.iter().map(|i| jobs[*i].id));
        mark(step, units.iter().map(|i| jobs[*i].id), &ids, token)?;
        insert.execute(params![
            token.0,
            claim.owner,
            due[units[0]].1,
            ids,
            units.iter().filter(|i| **i < started).count(),
            units.len(),
            claim.lease_ms,
            step.now.0,
            expires_at.0,
        ])?;
        units.iter().for_each(|i| jobs[*i].token = token);
    }
    Ok(Claims { jobs, idle: None, again_in_ms: None })
}

/// The first ready jobs of one queue.
fn ready<'a>(step: &Step<'_>, claim: &Claim, queue: &'a str, due: &mut Vec<Due<'a>>) -> Done<()> {
    let kinds = claim.kinds.as_ref().map(names);
    let mut select = step.conn.prepare_cached(if kinds.is_some() { sql::READY_OF_KINDS } else { sql::READY })?;
    let mut rows = match kinds {
        Some(kinds) => select.query((queue, claim.max, kinds))?,
        None => select.query((queue, claim.max))?,
    };
    while let Some(row) = rows.next()? {
        due.push(((Reverse(row.get(0)?), row::time(row, 1)?, JobId(row.get(2)?)), queue));
    }
    Ok(())
}

/// Which of the due jobs go under one lease each: places in `due`, in the order of the tokens to be drawn.
fn grants(claim: &Claim, due: &[Due<'_>]) -> Vec<Vec<usize>> {
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

/// The jobs as their claimer will know them; the tokens are filled in as they are drawn.
fn read(step: &Step<'_>, due: &[Due<'_>], lease_expires_at: Time) -> Done<Vec<ClaimedJob>> {
    let mut select = step.conn.prepare_cached(sql::CLAIMED)?;
    let jobs = select.query_map([ids(due.iter().map(|((_, _, id), _)| *id))], |row| {
        Ok(ClaimedJob {
            id: JobId(row.get(0)?),
            queue: row.get(1)?,
            kind: row.get(2)?,
            payload: row.get(3)?,
            priority: row.get(4)?,
            attempt: row.get::<_, u32>(5)? + 1,
            attempts_max: row.get(6)?,
            token: Token(0),
            lease_expires_at,
            created_at: row::time(row, 7)?,
            run_at: row::time(row, 8)?,
            timeout_ms: row.get(9)?,
            checkpoint: row.get(10)?,
        })
    })?;
    let jobs = jobs.collect::<rusqlite::Result<Vec<_>>>()?;
    if jobs.iter().map(|job| job.id).ne(due.iter().map(|((_, _, id), _)| *id)) {
        return Err(Fault::broken("the index of ready jobs and the jobs disagree; run PRAGMA integrity_check"));
    }
    Ok(jobs)
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

/// How long until time alone may change the answer.
fn again_in_ms(step: &Step<'_>, queues: &BTreeSet<&str>) -> Done<Option<u64>> {
    let next: i64 = step.conn.prepare_cached(sql::NEXT_DUE)?.query_row([names(queues)], |row| row.get(0))?;
    // Rounded up: asking a moment too early would find nothing.
    Ok((next != i64::MAX).then(|| Time(next.saturating_add(999)).ms_since(step.now)))
}

/// Names as a JSON array. They need no escaping: core lets only letters, digits and `._:-` into a name.
fn names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    format!("[{}]", quoted.join(","))
}
