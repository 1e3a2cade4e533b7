//! Claims: of the first sync by priority and age (S2), of the next chunk or a named one (S3).
//!
//! What ran out is written down first (L7), and what ran out too often ends here; the token is drawn in the transaction
//! that writes it (L2).

use super::{operate, row};
use crate::column::first as first_row;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::readable;
use crate::sql;
use crate::tokens;
use rusqlite::Params;
use std::cmp::Reverse;
use std::fmt::Debug;
use tenure_core::sync::rules::{End, Notes};
use tenure_core::sync::{
    Chunk, ChunkClaim, ClaimedChunk, ClaimedSync, Idle, IdleReason, Standing, State, Sync, SyncClaim, SyncId, Unit,
};
use tenure_core::{Time, Token};

/// Takes the first sync that waits or whose lease ran out.
pub(super) fn sync(step: &Step<'_>, claim: &SyncClaim) -> Done<Option<ClaimedSync>> {
    loop {
        let Some(mut sync) = first(step, claim.matrix_id.as_deref())? else { return Ok(None) };
        let before = sync.standing.token;
        if sync.standing.lease.is_some() {
            if operate::tell_sync(step, &mut sync)? {
                continue;
            }
            remember_lapsed(step, &Unit::sync(sync.id), &sync.standing)?;
        }
        let claimed = sync.take(claim, draw(step)?, step.now);
        row::save_sync(step, &sync, before)?;
        return Ok(Some(claimed));
    }
}

/// Keeps, of a lease that ran out and now makes way, what its holder will be told.
fn remember_lapsed(step: &Step<'_>, unit: &Unit, standing: &Standing) -> Done<()> {
    let receipt = standing.receipt(End::Expired, step.now);
    row::note(step, unit, &Notes { receipt, ..Notes::default() })
}

/// The sync to claim next.
fn first(step: &Step<'_>, matrix_id: Option<&str>) -> Done<Option<Sync>> {
    let find = |id: &SyncId| row::find_sync(step, *id);
    let found = match matrix_id {
        Some(matrix_id) => {
            let unfinished = id(step, sql::SYNC_UNFINISHED, [matrix_id])?;
            [unfinished.as_ref().map(find).transpose()?.flatten(), None]
        }
        None => {
            let waiting = |passed| id(step, sql::SYNC_WAITING_JOB, [passed]);
            let lapsed = |passed| id(step, sql::SYNC_LAPSED_JOB, [step.now.0, passed]);
            [intact(waiting, find)?.0, intact(lapsed, find)?.0]
        }
    };
    let claimable = found.into_iter().flatten().filter(|sync| sync.standing.claimable(step.now));
    Ok(claimable.min_by_key(|sync| (Reverse(sync.priority), sync.created_at, sync.id)))
}

/// The first that can be read of what `name` names, which passes over as many as it is told; and how many could not be.
/// One bad row keeps nobody from the others (L7).
fn intact<K: Debug, T>(
    name: impl Fn(i64) -> Done<Option<K>>,
    find: impl Fn(&K) -> Done<Option<T>>,
) -> Done<(Option<T>, i64)> {
    let mut passed = 0;
    while let Some(key) = name(passed)? {
        match readable(find(&key))? {
            Ok(found) => return Ok((found, passed)),
            Err(fault) => {
                tracing::error!(?key, fault, "a row that waits to be claimed cannot be read and is passed over");
                passed += 1;
            }
        }
    }
    Ok((None, passed))
}

fn id(step: &Step<'_>, sql: &str, params: impl Params) -> Done<Option<SyncId>> {
    first_row(step.conn, sql, params, |row| row.get(0).map(SyncId))
}

/// Takes the next chunk of a sync in the order of its plan, or the one that is named.
pub(super) fn chunk(step: &Step<'_>, claim: &ChunkClaim) -> Done<Result<ClaimedChunk, Idle>> {
    let idle = |reason| Ok(Err(Idle { reason, again_in_ms: None }));
    let Some(sync) = row::find_sync(step, claim.sync)? else { return idle(IdleReason::Unknown) };
    if !sync.standing.open() {
        return idle(IdleReason::Ended);
    }
    loop {
        let found = match &claim.chunk_hash {
            Some(hash) => named(step, &sync, hash)?,
            None => next(step, &sync)?,
        };
        let mut chunk = match found {
            Ok(chunk) => chunk,
            Err(idle) => return Ok(Err(idle)),
        };
        let before = chunk.standing.token;
        if chunk.standing.lease.is_some() {
            if operate::tell_chunk(step, &mut chunk)? {
                continue;
            }
            remember_lapsed(step, &Unit::chunk(chunk.sync, &chunk.chunk_hash), &chunk.standing)?;
        }
        let claimed = chunk.take(claim, draw(step)?, step.now);
        row::save_chunk(step, &chunk, before)?;
        return Ok(Ok(claimed));
    }
}

/// The chunk that is named, if a claim may take it.
fn named(step: &Step<'_>, sync: &Sync, hash: &str) -> Done<Result<Chunk, Idle>> {
    let idle = |reason, until: Option<Time>| Idle { reason, again_in_ms: until.map(|until| ms_until(until, step.now)) };
    let found = row::find_chunk(step, &sync.matrix_id, hash)?.filter(|chunk| chunk.sync == sync.id);
    let Some(chunk) = found else { return Ok(Err(idle(IdleReason::Unknown, None))) };
    Ok(match chunk.state {
        State::Available | State::Expired => Ok(chunk),
        State::Running => Err(idle(IdleReason::Held, chunk.standing.lease.map(|lease| lease.expires_at))),
        State::Completed | State::Failed => Err(idle(IdleReason::Done, None)),
    })
}

/// The next chunk that waits or whose lease ran out.
fn next(step: &Step<'_>, sync: &Sync) -> Done<Result<Chunk, Idle>> {
    let place = |sql: &str, params: &[i64]| -> Done<Option<String>> {
        first_row(step.conn, sql, rusqlite::params_from_iter(params), |row| row.get(1))
    };
    let find = |hash: &String| row::find_chunk(step, &sync.matrix_id, hash);
    let (waiting, unread) = intact(|passed| place(sql::SYNC_WAITING_CHUNK, &[sync.id.0, passed]), find)?;
    let (lapsed, _) = intact(|passed| place(sql::SYNC_LAPSED_CHUNK, &[sync.id.0, passed, step.now.0]), find)?;
    if let Some(chunk) = waiting.into_iter().chain(lapsed).min_by_key(|chunk| chunk.ord) {
        return Ok(Ok(chunk));
    }
    let until = first_row(step.conn, sql::SYNC_NEXT_DEADLINE, [sync.id.0], |row| row.get(0).map(Time))?;
    let reason = if until.is_some() || unread > 0 { IdleReason::Held } else { IdleReason::Done };
    Ok(Err(Idle { reason, again_in_ms: until.map(|until| ms_until(until, step.now)) }))
}

fn draw(step: &Step<'_>) -> Done<Token> {
    tokens::draw(step, 1)?.next().ok_or_else(|| Fault::broken("no token was drawn"))
}

/// Milliseconds until `at`, rounded up: asking a moment too early would find nothing.
fn ms_until(at: Time, now: Time) -> u64 {
    Time(at.0.saturating_add(999)).ms_since(now)
}
