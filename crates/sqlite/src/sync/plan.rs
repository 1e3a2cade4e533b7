//! Plans: a pass over a matrix and its chunks (S4, S6).
//!
//! A plan that is too large for one transaction is laid in parts, so that heartbeats come in between. Nobody sees it before
//! the last part, which makes the sync; until then it is a draft, under the id that the sync will have. A draft that meets a
//! fault is undone; one whose process has gone is undone by the next plan of its matrix, or by pruning.

use super::row;
use crate::column::all;
use crate::fault::{Done, Fault};
use crate::inbox::{Part, Step};
use crate::sql;
use rusqlite::{OptionalExtension, params};
use tenure_core::Time;
use tenure_core::sync::{NewChunk, Plan, Planned, Refused, SyncId};
use tenure_store::OrRefused;

/// Chunks laid in one transaction: some milliseconds of the writer.
pub(super) const PART: usize = 2_000;
/// A draft of which no part was laid for so long has no process any more: a part takes milliseconds.
const DRAFT_MS: u64 = 60_000;

/// How far a plan has come.
#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing was done yet.
    Begin,
    /// A draft of the same matrix that was given up is undone first.
    Clear(SyncId),
    /// So much of the draft was laid; it began at this time.
    Lay(Planned, Time, usize),
    /// It met a fault, and is undone.
    Undo(SyncId),
}

impl Stage {
    /// Where a plan goes on that met a fault here.
    pub(super) fn undo(&self) -> Option<Stage> {
        match self {
            Stage::Lay(planned, ..) => Some(Stage::Undo(planned.id)),
            Stage::Begin | Stage::Clear(_) | Stage::Undo(_) => None,
        }
    }
}

/// Plans a pass, unless an earlier one has not ended: the whole of a small one, the next part of a large one.
pub(super) fn plan(step: &Step<'_>, plan: &Plan, stage: &Stage) -> Done<Part<Stage, OrRefused<Planned>>> {
    match stage {
        Stage::Begin => begin(step, plan),
        Stage::Clear(id) => Ok(Part::More(if undo(step, *id, PART)?.1 { Stage::Begin } else { Stage::Clear(*id) })),
        Stage::Lay(planned, at, from) => part(step, plan, *planned, *at, *from),
        Stage::Undo(id) => Ok(match undo(step, *id, PART)?.1 {
            // Its caller was told of the fault.
            true => Part::Last(Err(Refused::Absent)),
            false => Part::More(Stage::Undo(*id)),
        }),
    }
}

fn begin(step: &Step<'_>, plan: &Plan) -> Done<Part<Stage, OrRefused<Planned>>> {
    let mut unfinished = step.conn.prepare_cached(sql::SYNC_UNFINISHED)?;
    if let Some(id) = unfinished.query_row([&plan.matrix_id], |row| row.get(0)).optional()? {
        return Ok(Part::Last(Err(Refused::Unfinished { id: SyncId(id) })));
    }
    let mut draft = step.conn.prepare_cached(sql::SYNC_DRAFT)?;
    let draft = draft.query_row([&plan.matrix_id], |row| {
        let (id, at, given_up): (i64, i64, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((SyncId(id), given_up || at <= stale_before(step.now)))
    });
    match draft.optional()? {
        Some((id, true)) => return Ok(Part::More(Stage::Clear(id))),
        Some((id, false)) => return Ok(Part::Last(Err(Refused::Unfinished { id }))),
        None => {}
    }
    let id = insert(step, plan, step.now, None)?;
    let planned = Planned { id, planned: 0, added: 0, skipped: 0 };
    if plan.chunks.len() <= PART {
        let planned = lay(step, &Laying::of(plan, step.now), planned, &plan.chunks)?;
        return Ok(Part::Last(Ok(planned)));
    }
    // The id is its own from now on, though the sync is not there yet.
    step.conn.prepare_cached(sql::SYNC_FORGET)?.execute([id.0])?;
    step.conn.prepare_cached(sql::SYNC_DRAFT_OPEN)?.execute(params![id.0, plan.matrix_id, step.now.0])?;
    part(step, plan, planned, step.now, 0)
}

/// Lays the next part of a draft, and after the last makes it a sync.
fn part(
    step: &Step<'_>,
    plan: &Plan,
    planned: Planned,
    at: Time,
    from: usize,
) -> Done<Part<Stage, OrRefused<Planned>>> {
    if step.conn.prepare_cached(sql::SYNC_DRAFT_KEEP)?.execute((planned.id.0, step.now.0))? == 0 {
        return Err(Fault::Busy("the plan stood still for so long that another process gave it up".to_owned()));
    }
    let chunks = &plan.chunks[from..];
    let (now, later) = chunks.split_at(chunks.len().min(PART));
    let mut take = step.conn.prepare_cached(sql::SYNC_TAKE)?;
    for chunk in now {
        take.execute(params![plan.matrix_id, chunk.chunk_hash, planned.id.0])?;
    }
    if !later.is_empty() {
        let planned = lay(step, &Laying::of(plan, at), planned, now)?;
        return Ok(Part::More(Stage::Lay(planned, at, from + now.len())));
    }
    insert(step, plan, at, Some(planned.id))?;
    let planned = lay(step, &Laying::of(plan, at), planned, now)?;
    step.conn.prepare_cached(sql::SYNC_DRAFT_CLOSE)?.execute([planned.id.0])?;
    Ok(Part::Last(Ok(planned)))
}

/// Makes the sync, under an id of its own or this one.
fn insert(step: &Step<'_>, plan: &Plan, at: Time, id: Option<SyncId>) -> Done<SyncId> {
    let new = params![
        plan.matrix_id,
        plan.priority,
        at.0,
        plan.skip_if_synced_within_ms,
        plan.attempts_max,
        plan.crashes_max,
        id.map(|id| id.0),
    ];
    Ok(SyncId(step.conn.prepare_cached(sql::SYNC_PLAN)?.query_row(new, |row| row.get(0))?))
}

fn stale_before(now: Time) -> i64 {
    now.0.saturating_sub(micros(DRAFT_MS))
}

/// Undoes a part of what a draft changed, at most `max` rows; how many, and whether nothing is left of it.
fn undo(step: &Step<'_>, id: SyncId, max: usize) -> Done<(usize, bool)> {
    step.conn.prepare_cached(sql::SYNC_DRAFT_GIVE_UP)?.execute([id.0])?;
    step.conn.prepare_cached(sql::SYNC_GIVE_BACK)?.execute((id.0, max))?;
    let given_back = step.conn.prepare_cached(sql::SYNC_GIVEN_BACK)?.execute((id.0, max))?;
    let removed = step.conn.prepare_cached(sql::SYNC_FORGET_CHUNKS)?.execute((id.0, max - given_back))?;
    let over = given_back + removed < max;
    if over {
        step.conn.prepare_cached(sql::SYNC_DRAFT_CLOSE)?.execute([id.0])?;
    }
    Ok((given_back + removed, over))
}

/// Undoes drafts that nobody goes on with, and forgets what was kept for those that have become syncs: at most `max`
/// rows; how many.
pub(super) fn clear_drafts(step: &Step<'_>, max: usize) -> Done<usize> {
    let mut cleared = 0;
    for id in all(step.conn, sql::SYNC_DRAFT_STALE, [stale_before(step.now)], |row| row.get(0).map(SyncId))? {
        if cleared < max {
            cleared += undo(step, id, max - cleared)?.0;
        }
    }
    cleared += step.conn.prepare_cached(sql::SYNC_PRUNE_TAKEN)?.execute([max - cleared])?;
    Ok(cleared)
}

/// Adds chunks to a sync that has not ended.
pub(super) fn add(step: &Step<'_>, id: SyncId, chunks: &[NewChunk]) -> Done<OrRefused<Planned>> {
    match row::find_sync(step, id)? {
        None => Ok(Err(Refused::Absent)),
        Some(sync) if !sync.standing.open() => Ok(Err(Refused::Terminal)),
        Some(sync) => {
            let (within_ms, attempts_max) = (sync.skip_if_synced_within_ms, sync.attempts_max);
            let laying = Laying { matrix_id: &sync.matrix_id, attempts_max, within_ms, at: step.now };
            lay(step, &laying, Planned { id, planned: sync.planned, added: 0, skipped: 0 }, chunks).map(Ok)
        }
    }
}

/// What the chunks of a plan have in common.
struct Laying<'a> {
    matrix_id: &'a str,
    attempts_max: u32,
    /// Chunks synced more recently than this before `at` are not synced again.
    within_ms: Option<u64>,
    at: Time,
}

impl<'a> Laying<'a> {
    fn of(plan: &'a Plan, at: Time) -> Laying<'a> {
        let (within_ms, attempts_max) = (plan.skip_if_synced_within_ms, plan.attempts_max);
        Laying { matrix_id: &plan.matrix_id, attempts_max, within_ms, at }
    }
}

/// Puts chunks at the end of a plan; those it has already stay as they are.
fn lay(step: &Step<'_>, laying: &Laying<'_>, mut planned: Planned, chunks: &[NewChunk]) -> Done<Planned> {
    let synced_after = laying.within_ms.map(|ms| laying.at.0.saturating_sub(micros(ms)));
    let mut lay = step.conn.prepare_cached(sql::SYNC_LAY)?;
    for chunk in chunks {
        let ord = planned.planned + 1;
        let params = params![
            laying.matrix_id,
            chunk.chunk_hash,
            planned.id.0,
            ord,
            laying.attempts_max,
            chunk.payload,
            laying.at.0,
            synced_after,
        ];
        if let Some(skipped) = lay.query_row(params, |row| row.get::<_, bool>(0)).optional()? {
            planned.planned = ord;
            planned.added += 1;
            planned.skipped += u64::from(skipped);
        }
    }
    step.conn.prepare_cached(sql::SYNC_PLANNED)?.execute((planned.id.0, planned.planned))?;
    Ok(planned)
}

fn micros(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000)
}
