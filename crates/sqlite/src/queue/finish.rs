//! The holder's endings (Q4): accepted only while held (L3), answered again from receipts (L12).
//!
//! A batch is mostly jobs of a few leases, all held and all completed. So a lease is read once and written once for
//! the whole batch, a job's history is not looked at unless the plain check fails, and plain completions are written
//! a lease at a time.

use super::ending::{Ender, Ending as End};
use super::lease::Grant;
use super::moves::Moves;
use super::{Keys, ids, judge};
use crate::fault::Done;
use crate::inbox::Step;
use crate::savepoint::apart;
use crate::sql;
use rusqlite::params;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use tenure_core::Token;
use tenure_core::lease::Presented;
use tenure_core::queue::rules;
use tenure_core::queue::{Act, Ended, Ending, JobId, Status};
use tenure_store::Fenced;

/// Fewer than this are not worth a second way of doing it.
const MANY: usize = 4;

/// Ends claims, each answered on its own, in this order.
pub(crate) fn finish(step: &Step<'_>, endings: &[Ending]) -> Done<Vec<Fenced<Ended>>> {
    if let Some(batch) = plain_completions(endings) {
        // Any job that is not plainly held undoes the attempt, and each is judged by itself.
        if apart(step.conn, || complete_all(step, &batch).map(|all| all.ok_or(())))?.is_ok() {
            return Ok(vec![Ok(Ended { status: Status::Completed, already: false }); endings.len()]);
        }
    }
    one_by_one(step, endings)
}

/// Completions of one claim.
struct Batch<'a> {
    owner: &'a str,
    token: Token,
    jobs: Vec<JobId>,
}

/// The endings by their claims, if they are many, all plain completions, and each of another job.
fn plain_completions(endings: &[Ending]) -> Option<Vec<Batch<'_>>> {
    let plain = |ending: &Ending| matches!(ending.act, Act::Complete { result: None });
    if endings.len() < MANY || !endings.iter().all(plain) {
        return None;
    }
    let mut jobs = HashSet::with_capacity(endings.len());
    let mut places: HashMap<(Token, &str), usize> = HashMap::new();
    let mut batches: Vec<Batch<'_>> = Vec::new();
    for Ending { job, owner, token, .. } in endings {
        if !jobs.insert(*job) {
            return None;
        }
        let place = *places.entry((*token, owner)).or_insert_with(|| {
            batches.push(Batch { owner, token: *token, jobs: Vec::new() });
            batches.len() - 1
        });
        batches[place].jobs.push(*job);
    }
    // With a lease for each job there is nothing to gather.
    (batches.len() * MANY <= endings.len()).then_some(batches)
}

/// Completes whole batches; `None` if some job of them is not held.
fn complete_all(step: &Step<'_>, batches: &[Batch<'_>]) -> Done<Option<()>> {
    let mut moves = Moves::default();
    for Batch { owner, token, jobs } in batches {
        let grant = Grant::find(step.conn, *token)?.filter(|grant| grant.held_by(owner, step.now));
        let Some(mut grant) = grant else { return Ok(None) };
        let list = ids(jobs.iter().copied());
        if grant.keyed {
            let mut keys = step.conn.prepare_cached(sql::KEYS_OF)?;
            let keys = keys.query_map([&list], |row| Ok(Keys { ordering: row.get(0)?, limit: row.get(1)? }))?;
            keys.collect::<rusqlite::Result<Vec<_>>>()?.iter().for_each(|keys| moves.keys_halted(&grant.queue, keys));
        }
        let completed = step.conn.prepare_cached(sql::COMPLETE_MANY)?.execute(params![
            list,
            token.0,
            grant.lease.owner,
            grant.lease.granted_at.0,
            step.now.0,
            grant.lease.pulse.beats,
            grant.lease.pulse.last_beat_at.map(|at| at.0),
            grant.lease.pulse.longest_gap_ms,
        ])?;
        if completed != jobs.len() {
            return Ok(None);
        }
        step.conn.prepare_cached(sql::LEAVE_MANY)?.execute([list])?;
        grant.left = grant.left.saturating_sub(u32::try_from(completed).unwrap_or(u32::MAX));
        grant.write_left(step.conn)?;
        moves.completed(&grant.queue, jobs);
    }
    moves.settle(step)?;
    Ok(Some(()))
}

fn one_by_one(step: &Step<'_>, endings: &[Ending]) -> Done<Vec<Fenced<Ended>>> {
    let mut leases: HashMap<Token, Option<Grant>> = HashMap::new();
    let mut ender = Ender::new(step)?;
    let mut answers = Vec::with_capacity(endings.len());
    for ending in endings {
        let grant = match leases.entry(ending.token) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Grant::find(step.conn, ending.token)?),
        };
        let grant = grant.as_mut().filter(|grant| grant.held_by(&ending.owner, step.now));
        let held = match &grant {
            Some(grant) => grant.unit(step.conn, ending.job)?,
            None => None,
        };
        let verb = Some(ending.act.verb());
        let (Some(grant), Some(held)) = (grant, held) else {
            let presented = Presented { owner: &ending.owner, token: ending.token, verb };
            // A job that was ended by this very call may not be kept at all.
            ender.settle()?;
            answers.push(judge::unheld(step, ending.job, presented)?);
            continue;
        };
        let settled = rules::settle(&ending.act, held.was, step.now);
        let (error, result) = match &ending.act {
            Act::Complete { result } => (None, result.as_deref()),
            Act::Fail { error, .. } => (Some(error.as_str()), None),
            Act::Snooze { .. } | Act::Release => (None, None),
        };
        ender.end(&End { id: ending.job, grant, held: &held, settled, verb, error, result, by: None })?;
        grant.left = grant.left.saturating_sub(1);
        grant.ended += 1;
        answers.push(Ok(Ended { status: settled.status, already: false }));
    }
    for grant in leases.values().flatten().filter(|grant| grant.ended > 0) {
        grant.write_left(step.conn)?;
    }
    ender.settle()?;
    Ok(answers)
}
