//! The holder's writes: heartbeats and endings, accepted only while held (L3), answered again from receipts (L12).

use super::{operate, read, row};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::lease::{self, Judgement, Presented};
use tenure_core::sync::rules::{End, Receipt};
use tenure_core::sync::{
    Act, Beat, Chunk, Denied, Ended, Ending, Reason, Refused, State, Sync, SyncEvent, Unit, Verb, What,
};
use tenure_core::{LostReason, Time};
use tenure_store::Fenced;

/// What a write is about, as it was read.
pub(super) enum Found {
    /// A sync.
    Sync(Sync),
    /// A chunk of this pass.
    Chunk(Chunk),
}

/// Renews a lease to now plus the time granted at its claim; the new deadline.
pub(super) fn heartbeat(step: &Step<'_>, beat: &Beat) -> Done<Fenced<Time>> {
    let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
    let (judgement, found) = judge(step, &beat.unit, presented)?;
    if let Err(reason) = judgement.or_lost() {
        return Ok(Err(reason));
    }
    let renewed = match found {
        Some(Found::Sync(mut sync)) => {
            let renewed = sync.standing.renew(step.now);
            row::save_sync(step, &sync, Some(beat.token))?;
            renewed
        }
        Some(Found::Chunk(mut chunk)) => {
            let renewed = chunk.standing.renew(step.now);
            row::save_chunk(step, &chunk, Some(beat.token))?;
            renewed
        }
        None => None,
    };
    renewed.map(Ok).ok_or_else(|| Fault::broken("what is held has no lease"))
}

/// Ends a claim, if it is held.
pub(super) fn finish(step: &Step<'_>, ending: &Ending) -> Done<Result<Ended, Denied>> {
    let verb = ending.act.verb();
    let presented = Presented { owner: &ending.owner, token: ending.token, verb: Some(verb) };
    let (judgement, found) = judge(step, &ending.unit, presented)?;
    match judgement.or_lost() {
        Err(reason) => return Ok(Err(Denied::Lost(reason))),
        Ok(Some(state)) => return Ok(Ok(Ended { state, already: true })),
        Ok(None) => {}
    }
    let state = match found {
        Some(Found::Chunk(chunk)) => finish_chunk(step, chunk, ending)?,
        Some(Found::Sync(sync)) => match finish_sync(step, sync, ending)? {
            Ok(state) => state,
            Err(refused) => return Ok(Err(Denied::Refused(refused))),
        },
        None => return Err(Fault::broken("what is held is not on record")),
    };
    let receipt = Receipt { owner: ending.owner.clone(), end: End::By(verb, state), at: step.now };
    row::remember(step, &ending.unit, ending.token, &receipt)?;
    Ok(Ok(Ended { state, already: false }))
}

fn finish_chunk(step: &Step<'_>, mut chunk: Chunk, ending: &Ending) -> Done<State> {
    let (state, told) = chunk.finish(ending, step.now);
    if let Some(event) = told {
        row::write(step, &event)?;
    }
    if state == State::Completed {
        step.conn.prepare_cached(sql::SYNC_PROGRESSED)?.execute((chunk.sync.0, step.now.0))?;
    }
    row::save_chunk(step, &chunk, Some(ending.token))?;
    Ok(state)
}

fn finish_sync(step: &Step<'_>, mut sync: Sync, ending: &Ending) -> Done<Result<State, Refused>> {
    let (state, reason, error) = match &ending.act {
        Act::Complete { .. } => {
            let progress = read::progress(step, sync.id)?;
            if progress.left() + progress.failed > 0 {
                return Ok(Err(Refused::Incomplete { left: progress.left(), failed: progress.failed }));
            }
            (State::Completed, None, None)
        }
        Act::Fail { error, .. } => {
            let reason = Some(Reason::Failed);
            row::write(step, &SyncEvent { reason, ..ending.event(What::Failed, step.now) })?;
            (State::Failed, reason, Some(error.as_str()))
        }
        Act::Release => {
            sync.standing.free();
            row::save_sync(step, &sync, Some(ending.token))?;
            return Ok(Ok(State::Available));
        }
    };
    operate::end(step, &mut sync, state, reason, error)?;
    Ok(Ok(state))
}

/// Judges a write by everything that is known, and counts a refusal of what was once planned or claimed in this pass into
/// the one event of its token and reason (L8).
pub(super) fn judge(
    step: &Step<'_>,
    unit: &Unit,
    presented: Presented<'_, Verb>,
) -> Done<(Judgement<State>, Option<Found>)> {
    let Some(sync) = row::find_sync(step, unit.sync)? else {
        return Ok((Judgement::Lost(LostReason::Unknown), None));
    };
    let receipt = row::receipt(step, unit, presented.token)?;
    let (last_token, found) = match &unit.chunk_hash {
        None => (sync.standing.token, Some(Found::Sync(sync))),
        Some(hash) => {
            let chunk = row::find_chunk(step, &sync.matrix_id, hash)?;
            let last_token = chunk.as_ref().and_then(|chunk| chunk.standing.token);
            (last_token, chunk.filter(|chunk| chunk.sync == unit.sync).map(Found::Chunk))
        }
    };
    let standing = found.as_ref().map(|found| match found {
        Found::Sync(sync) => &sync.standing,
        Found::Chunk(chunk) => &chunk.standing,
    });
    let lease = standing.and_then(|standing| standing.lease.as_ref());
    let judgement = lease::judge(presented, receipt.as_ref(), last_token, lease, step.now);
    let known = found.is_some() || receipt.is_some_and(|receipt| receipt.owner == presented.owner);
    if let (Judgement::Lost(reason), true) = (judgement, known) {
        step.conn.prepare_cached(sql::SYNC_REFUSED)?.execute(params![
            step.now.0,
            unit.sync.0,
            row::hash(unit),
            presented.token.0,
            presented.owner,
            presented.verb.map(Verb::as_str),
            reason.as_str(),
        ])?;
    }
    Ok((judgement, found))
}
