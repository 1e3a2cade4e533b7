//! What ends without a holder: leases that run out (L7), syncs that are cancelled (S6), what is no longer kept (I19).

use super::{plan, read, row};
use crate::column::{all, value};
use crate::fault::Done;
use crate::inbox::Step;
use crate::savepoint::{apart, readable};
use crate::sql;
use rusqlite::params;
use tenure_core::bounds::RECEIPT_MS;
use tenure_core::sync::rules::RETENTION_MS;
use tenure_core::sync::{Chunk, Reason, Refused, State, Sync, SyncId, SyncsPruned, SyncsRecovered, Unit};
use tenure_core::{Actor, Time};
use tenure_store::OrRefused;

/// Ends a sync at once: whoever holds it or one of its chunks is told `cancelled`.
pub(super) fn cancel(step: &Step<'_>, id: SyncId, why: Option<&str>, by: &Actor) -> Done<OrRefused<State>> {
    let Some(mut sync) = row::find_sync(step, id)? else { return Ok(Err(Refused::Absent)) };
    if !sync.standing.open() {
        return Ok(Err(Refused::Terminal));
    }
    row::note(step, &Unit::sync(id), &sync.cancelled(why, by, step.now))?;
    let reason = Some(Reason::Cancelled);
    end(step, &mut sync, State::Failed, reason, Some(Reason::Cancelled.as_str()))?;
    Ok(Ok(State::Failed))
}

/// Ends a sync, and with it the leases of its chunks.
pub(super) fn end(
    step: &Step<'_>,
    sync: &mut Sync,
    state: State,
    reason: Option<Reason>,
    error: Option<&str>,
) -> Done<()> {
    for hash in all(step.conn, sql::SYNC_LOCKED_CHUNKS, [sync.id.0], |row| row.get::<_, String>(0))? {
        if let Some(mut chunk) = row::find_chunk(step, &sync.matrix_id, &hash)? {
            let notes = chunk.part(step.now);
            row::note(step, &Unit::chunk(sync.id, hash), &notes)?;
            row::save_chunk(step, &chunk, chunk.standing.token)?;
        }
    }
    let done = read::progress(step, sync.id)?.at_the_end();
    let before = sync.standing.token;
    sync.standing.settle(state, reason, error, step.now);
    row::save_sync(step, sync, before)?;
    step.conn.prepare_cached(sql::SYNC_DONE)?.execute(params![
        sync.id.0,
        done.available,
        done.completed,
        done.failed,
        done.skipped,
        done.rows,
        done.began_at.map(|at| at.0),
        done.last_done_at.map(|at| at.0),
    ])?;
    Ok(())
}

/// Writes down leases that ran out, at most `leases_max`, once for each token; they stay in place. Rows that cannot be
/// read are set aside and stop none of the others.
pub(super) fn recover(step: &Step<'_>, leases_max: u32) -> Done<SyncsRecovered> {
    let mut recovered = SyncsRecovered::default();
    let jobs = |most: u32| all(step.conn, sql::SYNC_UNTOLD_JOBS, (step.now.0, most), |row| row.get(0).map(SyncId));
    let tell = |id: &SyncId| match row::find_sync(step, *id)? {
        Some(mut sync) => tell_sync(step, &mut sync),
        None => Ok(false),
    };
    let aside = |id: &SyncId| Ok(step.conn.prepare_cached(sql::SYNC_JOB_ASIDE)?.execute([id.0])?);
    sweep(step, &mut recovered, leases_max, jobs, tell, aside)?;

    let key = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let chunks = |most: u32| all(step.conn, sql::SYNC_UNTOLD_CHUNKS, (step.now.0, most), key);
    let tell = |(matrix_id, hash): &(String, String)| match row::find_chunk(step, matrix_id, hash)? {
        Some(mut chunk) => tell_chunk(step, &mut chunk),
        None => Ok(false),
    };
    let aside =
        |key: &(String, String)| Ok(step.conn.prepare_cached(sql::SYNC_CHUNK_ASIDE)?.execute((&key.0, &key.1))?);
    sweep(step, &mut recovered, leases_max, chunks, tell, aside)?;
    Ok(recovered)
}

/// Tells what `untold` finds, until `leases_max` are recovered or no more are found; each row by itself.
fn sweep<K: std::fmt::Debug>(
    step: &Step<'_>,
    recovered: &mut SyncsRecovered,
    leases_max: u32,
    untold: impl Fn(u32) -> Done<Vec<K>>,
    tell: impl Fn(&K) -> Done<bool>,
    aside: impl Fn(&K) -> Done<usize>,
) -> Done<()> {
    while recovered.leases < leases_max {
        let keys = untold(leases_max - recovered.leases)?;
        if keys.is_empty() {
            break;
        }
        for key in keys {
            match apart(step.conn, || readable(tell(&key)))? {
                Ok(ended) => {
                    recovered.leases += 1;
                    recovered.failed += u32::from(ended);
                }
                Err(fault) => {
                    tracing::error!(?key, fault, "a lease that ran out could not be told and is set aside");
                    // Met again and again, it would keep the others from being found.
                    if apart(step.conn, || readable(aside(&key)))?.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Notices that the lease of a sync ran out; whether that ended it.
pub(super) fn tell_sync(step: &Step<'_>, sync: &mut Sync) -> Done<bool> {
    let last_done_at = value::<Option<i64>>(step.conn, sql::SYNC_LAST_DONE, [sync.id.0])?.map(Time);
    let Some((notes, crashed_out)) = sync.expire(last_done_at, step.now) else { return Ok(false) };
    row::note(step, &Unit::sync(sync.id), &notes)?;
    if crashed_out {
        let reason = Reason::CrashLimit;
        end(step, sync, State::Failed, Some(reason), Some(reason.as_str()))?;
    } else {
        row::save_sync(step, sync, sync.standing.token)?;
    }
    Ok(crashed_out)
}

/// Notices that the lease of a chunk ran out; whether that ended it.
pub(super) fn tell_chunk(step: &Step<'_>, chunk: &mut Chunk) -> Done<bool> {
    let Some((notes, crashed_out)) = chunk.expire(step.now) else { return Ok(false) };
    row::note(step, &Unit::chunk(chunk.sync, &chunk.chunk_hash), &notes)?;
    row::save_chunk(step, chunk, chunk.standing.token)?;
    Ok(crashed_out)
}

/// Removes what is no longer kept, at most `max` of each kind. A sync goes once nothing of it is left.
pub(super) fn prune(step: &Step<'_>, max: u32) -> Done<SyncsPruned> {
    let before = |ms: u64| step.now.0.saturating_sub(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000));
    let receipts = step.conn.prepare_cached(sql::SYNC_PRUNE_RECEIPTS)?.execute((before(RECEIPT_MS), max))?;
    let past = all(step.conn, sql::SYNC_PAST, (before(RETENTION_MS), max), |row| row.get::<_, i64>(0))?;
    let (mut syncs, mut chunks, mut events) = (0, plan::clear_drafts(step, max as usize)?, 0);
    for id in past {
        let most = max as usize;
        chunks += step.conn.prepare_cached(sql::SYNC_FORGET_CHUNKS)?.execute((id, most - chunks))?;
        events += step.conn.prepare_cached(sql::SYNC_FORGET_EVENTS)?.execute((id, most - events))?;
        syncs += step.conn.prepare_cached(sql::SYNC_FORGET)?.execute([id])?;
    }
    let count = |removed: usize| u32::try_from(removed).unwrap_or(u32::MAX);
    Ok(SyncsPruned { syncs: count(syncs), chunks: count(chunks), events: count(events), receipts: count(receipts) })
}
