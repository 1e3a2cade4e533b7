//! Rows of syncs and chunks: read whole, and written back under the token that was read.

use crate::column::{Read, first, pulse, time_opt, token_opt, word_opt};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{Row, ToSql, params, params_from_iter};
use tenure_core::lease::Lease;
use tenure_core::sync::rules::{End, Notes, Receipt};
use tenure_core::sync::{Chunk, Progress, Reason, Standing, State, Sync, SyncEvent, SyncId, Unit, Verb};
use tenure_core::{Time, Token};

fn standing(row: &Row<'_>) -> Read<Standing> {
    let (token, claimed_at) = (token_opt(row, "token")?, time_opt(row, "claimed_at")?);
    let lease = match (row.get("locked_by")?, token, claimed_at) {
        (Some(owner), Some(token), Some(granted_at)) => Some(Lease {
            owner,
            token,
            granted_at,
            lease_ms: row.get("lease_ms")?,
            expires_at: Time(row.get("locked_until")?),
            pulse: pulse(row, ["beats", "last_beat_at", "longest_gap_ms"])?,
        }),
        _ => None,
    };
    Ok(Standing {
        token,
        claimed_at,
        lease,
        told: row.get("told")?,
        completed_at: time_opt(row, "completed_at")?,
        failed_at: time_opt(row, "failed_at")?,
        error_message: row.get("error_message")?,
        reason: word_opt(row, "reason", Reason::parse)?,
    })
}

/// A row of `job.sql` and its siblings, as of `now`.
pub(super) fn sync(row: &Row<'_>, now: Time) -> Read<Sync> {
    let standing = standing(row)?;
    let ended = match row.get::<_, Option<u64>>("done_completed")? {
        None => None,
        Some(completed) => Some(Progress {
            available: row.get("done_available")?,
            running: 0,
            expired: 0,
            completed,
            failed: row.get("done_failed")?,
            skipped: row.get("done_skipped")?,
            rows: row.get("done_rows")?,
            began_at: time_opt(row, "done_began_at")?,
            last_done_at: time_opt(row, "done_last_at")?,
        }),
    };
    Ok(Sync {
        id: SyncId(row.get("id")?),
        matrix_id: row.get("matrix_id")?,
        priority: row.get("priority")?,
        created_at: Time(row.get("created_at")?),
        skip_if_synced_within_ms: row.get("skip_if_synced_within_ms")?,
        attempts_max: row.get("attempts_max")?,
        crashes: row.get("crashes")?,
        crashes_max: row.get("crashes_max")?,
        planned: row.get("planned")?,
        state: standing.state(now),
        standing,
        ended,
    })
}

/// A row of `chunk.sql` and its siblings, as of `now`.
pub(super) fn chunk(row: &Row<'_>, now: Time) -> Read<Chunk> {
    let standing = standing(row)?;
    Ok(Chunk {
        sync: SyncId(row.get("sync")?),
        matrix_id: row.get("matrix_id")?,
        chunk_hash: row.get("chunk_hash")?,
        ord: row.get("ord")?,
        payload: row.get("payload")?,
        attempt: row.get("attempt")?,
        attempts_max: row.get("attempts_max")?,
        last_synced_at: time_opt(row, "last_synced_at")?,
        row_count: row.get("row_count")?,
        cursor: row.get("cursor")?,
        state: standing.state(now),
        standing,
    })
}

/// One sync.
pub(super) fn find_sync(step: &Step<'_>, id: SyncId) -> Done<Option<Sync>> {
    first(step.conn, sql::SYNC_JOB, [id.0], |row| sync(row, step.now))
}

/// One chunk, in whichever pass.
pub(super) fn find_chunk(step: &Step<'_>, matrix_id: &str, chunk_hash: &str) -> Done<Option<Chunk>> {
    first(step.conn, sql::SYNC_CHUNK, [matrix_id, chunk_hash], |row| chunk(row, step.now))
}

/// Writes a sync back; `before` is the token it was read with.
pub(super) fn save_sync(step: &Step<'_>, sync: &Sync, before: Option<Token>) -> Done<()> {
    save(step, sql::SYNC_SAVE_JOB, &[&sync.id.0], before, &sync.standing, &[&sync.crashes])
}

/// Writes a chunk back; `before` is the token it was read with.
pub(super) fn save_chunk(step: &Step<'_>, chunk: &Chunk, before: Option<Token>) -> Done<()> {
    let last_synced_at = chunk.last_synced_at.map(|at| at.0);
    let own: [&dyn ToSql; 4] = [&chunk.attempt, &last_synced_at, &chunk.row_count, &chunk.cursor];
    save(step, sql::SYNC_SAVE_CHUNK, &[&chunk.matrix_id, &chunk.chunk_hash], before, &chunk.standing, &own)
}

fn save(
    step: &Step<'_>,
    statement: &str,
    key: &[&dyn ToSql],
    before: Option<Token>,
    standing: &Standing,
    own: &[&dyn ToSql],
) -> Done<()> {
    let lease = standing.lease.as_ref();
    let values: [&dyn ToSql; 14] = [
        &before.map(|token| token.0),
        &standing.token.map(|token| token.0),
        &standing.claimed_at.map(|at| at.0),
        &lease.map(|lease| &lease.owner),
        &lease.map(|lease| lease.expires_at.0),
        &lease.map(|lease| lease.lease_ms),
        &standing.told,
        &lease.map_or(0, |lease| lease.pulse.beats),
        &lease.and_then(|lease| lease.pulse.last_beat_at).map(|at| at.0),
        &lease.map_or(0, |lease| lease.pulse.longest_gap_ms),
        &standing.completed_at.map(|at| at.0),
        &standing.failed_at.map(|at| at.0),
        &standing.error_message,
        &standing.reason.map(Reason::as_str),
    ];
    let params = params_from_iter(key.iter().chain(&values).chain(own));
    match step.conn.prepare_cached(statement)?.execute(params)? {
        1 => Ok(()),
        _ => Err(Fault::broken("a row changed between being read and being written")),
    }
}

/// What is remembered of an ended claim.
pub(super) fn receipt(step: &Step<'_>, unit: &Unit, token: Token) -> Done<Option<Receipt>> {
    first(step.conn, sql::SYNC_RECEIPT, params![unit.sync.0, hash(unit), token.0], |row| {
        let by = word_opt(row, "verb", Verb::parse)?.zip(word_opt(row, "state", State::parse)?);
        let end = match (by, row.get("cancelled")?) {
            (Some((verb, state)), _) => End::By(verb, state),
            (None, true) => End::Cancelled,
            (None, false) => End::Expired,
        };
        Ok(Receipt { owner: row.get("owner")?, end, at: Time(row.get("at")?) })
    })
}

/// Writes down what goes with a change of a unit.
pub(super) fn note(step: &Step<'_>, unit: &Unit, notes: &Notes) -> Done<()> {
    notes.events.iter().try_for_each(|event| write(step, event))?;
    notes.receipt.as_ref().map_or(Ok(()), |(token, receipt)| remember(step, unit, *token, receipt))
}

/// Keeps an ended claim for its hour.
pub(super) fn remember(step: &Step<'_>, unit: &Unit, token: Token, receipt: &Receipt) -> Done<()> {
    let by = match receipt.end {
        End::By(verb, state) => Some((verb.as_str(), state.as_str())),
        End::Expired | End::Cancelled => None,
    };
    step.conn.prepare_cached(sql::SYNC_REMEMBER)?.execute(params![
        unit.sync.0,
        hash(unit),
        token.0,
        receipt.owner,
        by.map(|by| by.0),
        by.map(|by| by.1),
        receipt.end == End::Cancelled,
        receipt.at.0,
    ])?;
    Ok(())
}

/// Writes an event down.
pub(super) fn write(step: &Step<'_>, event: &SyncEvent) -> Done<()> {
    step.conn.prepare_cached(sql::SYNC_EVENT)?.execute(params![
        event.at.0,
        event.sync.0,
        event.chunk_hash.as_deref().unwrap_or_default(),
        event.what.as_str(),
        event.token.map(|token| token.0),
        event.owner,
        event.attempt,
        event.reason.map(Reason::as_str),
        event.error,
        event.by,
    ])?;
    Ok(())
}

/// A unit's hash as rows keep it: nothing is the sync itself.
pub(super) fn hash(unit: &Unit) -> &str {
    unit.chunk_hash.as_deref().unwrap_or_default()
}
