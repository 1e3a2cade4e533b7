//! One unit: read, judged, ended, written back.

use super::row;
use crate::column::{first, value};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::savepoint::{apart, readable};
use crate::sql;
use tenure_core::Token;
use tenure_core::lease::{self, Judgement, Presented};
use tenure_core::pipeline::rules::Settled;
use tenure_core::pipeline::{Attempt, Event, Reason, Run, RunId, Status, Unit, UnitKey, Verb};
use tenure_store::{WAKE_ORCHESTRATOR, wake_of_pipeline};

pub(super) fn find(step: &Step<'_>, key: &UnitKey) -> Done<Option<Unit>> {
    let segment = key.segment.as_deref().unwrap_or("");
    first(step.conn, sql::PIPELINE_UNIT, (key.run.0, &key.stage, segment), row::unit)
}

/// Reads a unit and its run, for whoever only wants to know that they can be.
pub(crate) fn readable_unit(step: &Step<'_>, id: i64) -> Done<()> {
    let unit = first(step.conn, sql::PIPELINE_UNIT_BY_ID, [id], row::unit)?;
    unit.map_or(Ok(()), |unit| run(step, unit.run).map(drop))
}

pub(super) fn run(step: &Step<'_>, id: RunId) -> Done<Option<Run>> {
    first(step.conn, sql::PIPELINE_RUN, [id.0], row::run)
}

/// Does `work` on one of many units. One that cannot be read, or whose stage or run cannot, never stops the others: it is
/// set aside for a person, with one line in the log, and is tried again when the store is opened next.
pub(super) fn each<T>(step: &Step<'_>, id: i64, work: impl FnOnce(Unit) -> Done<T>) -> Done<Option<T>> {
    let alone = || {
        let gone = || Fault::broken("it is gone");
        work(first(step.conn, sql::PIPELINE_UNIT_BY_ID, [id], row::unit)?.ok_or_else(gone)?)
    };
    let fault = match apart(step.conn, || readable(alone()))? {
        Ok(done) => return Ok(Some(done)),
        Err(fault) => fault,
    };
    tracing::error!(unit = id, fault, "a unit of a pipeline could not be read and is set aside");
    step.conn.prepare_cached(sql::PIPELINE_STUCK)?.execute([id])?;
    Ok(None)
}

/// Whether what is `READY` of a unit may be handed out.
fn open(step: &Step<'_>, unit: &Unit) -> Done<bool> {
    if unit.status != Status::Ready {
        return Ok(false);
    }
    let paused = run(step, unit.run)?.is_some_and(|run| run.paused);
    let dead = match unit.segment {
        Some(_) => find(step, &UnitKey::stage(unit.run, &unit.stage))?.is_some_and(|stage| stage.failed_for_good()),
        None => false,
    };
    Ok(!paused && !dead)
}

/// Writes a unit back as core decided.
pub(super) fn save(step: &Step<'_>, unit: &Unit) -> Done<()> {
    let lease = unit.lease.as_ref();
    let pulse = lease.map(|lease| lease.pulse).unwrap_or_default();
    step.conn.prepare_cached(sql::PIPELINE_SAVE)?.execute(rusqlite::params![
        unit.id,
        unit.split,
        unit.status.as_str(),
        unit.reason.map(Reason::as_str),
        unit.retry_at.map(|at| at.0),
        unit.attempt,
        unit.output,
        unit.error,
        unit.progress,
        unit.record.as_ref().map(tenure_core::pipeline::Record::encode),
        unit.token.map(|token| token.0),
        open(step, unit)?,
        lease.map(|lease| &lease.owner),
        lease.map_or(0, |lease| lease.lease_ms as i64),
        lease.map(|lease| lease.granted_at.0),
        lease.map(|lease| lease.expires_at.0),
        pulse.beats,
        pulse.last_beat_at.map(|at| at.0),
        pulse.longest_gap_ms as i64,
        unit.changed_at.0,
    ])?;
    Ok(())
}

/// Whether the segments of a stage are handed out, after it failed for good or began anew.
pub(super) fn open_segments(step: &Step<'_>, stage: &Unit) -> Done<()> {
    let paused = run(step, stage.run)?.is_some_and(|run| run.paused);
    let open = !paused && !stage.failed_for_good();
    step.conn.prepare_cached(sql::PIPELINE_OPEN_SEGMENTS)?.execute((stage.run.0, &stage.stage, open))?;
    Ok(())
}

/// The orchestrator should look at this run.
pub(super) fn touch(step: &Step<'_>, run: RunId, pipeline: &str) -> Done<()> {
    step.conn.prepare_cached(sql::PIPELINE_TOUCH)?.execute([run.0])?;
    step.ring(WAKE_ORCHESTRATOR);
    step.ring(&wake_of_pipeline(pipeline));
    Ok(())
}

pub(super) fn tell(step: &Step<'_>, event: &Event) -> Done<()> {
    step.conn.prepare_cached(sql::PIPELINE_EVENT)?.execute(rusqlite::params![
        event.run.0,
        event.at.0,
        event.stage.as_deref().unwrap_or(""),
        event.segment.as_deref().unwrap_or(""),
        event.what.as_str(),
        event.token.map(|token| token.0),
        event.owner,
        event.attempt,
        event.reason.map(Reason::as_str),
        event.until.map(|at| at.0),
        event.error,
        event.by,
    ])?;
    Ok(())
}

/// Judges a write, and counts a refusal (L8). A segment that a retry dropped is told of as long as its stage is on record.
pub(super) fn judge(
    step: &Step<'_>,
    key: &UnitKey,
    presented: Presented<'_, Verb>,
) -> Done<(Judgement<Status>, Option<Unit>)> {
    let Presented { owner, token, verb } = presented;
    let segment = key.segment.as_deref().unwrap_or("");
    let unit = find(step, key)?;
    let receipt = first(step.conn, sql::PIPELINE_RECEIPT, (key.run.0, token.0, &key.stage, segment), row::attempt)?;
    let last = match unit.as_ref().and_then(|unit| unit.token) {
        None if receipt.is_some() => {
            let of = (key.run.0, token.0, &key.stage, segment);
            value::<Option<i64>>(step.conn, sql::PIPELINE_LAST_CLAIM, of)?.map(Token)
        }
        known => known,
    };
    let receipt = receipt.as_ref().map(Attempt::receipt);
    let lease = unit.as_ref().and_then(|unit| unit.lease.as_ref());
    let judgement = lease::judge(presented, receipt.as_ref(), last, lease, step.now);
    if let Judgement::Lost(reason) = judgement
        && (unit.is_some() || find(step, &UnitKey::stage(key.run, &key.stage))?.is_some())
    {
        step.conn.prepare_cached(sql::PIPELINE_REFUSED)?.execute(rusqlite::params![
            key.run.0,
            step.now.0,
            key.stage,
            segment,
            token.0,
            owner,
            verb.map(Verb::as_str),
            reason.as_str(),
        ])?;
    }
    Ok((judgement, unit))
}

/// Takes a running unit out of its lease and writes down how its attempt ended; the caller may change it further.
pub(super) fn end(
    step: &Step<'_>,
    mut unit: Unit,
    settled: Settled,
    verb: Option<Verb>,
    error: Option<String>,
) -> Done<Unit> {
    let fails_stage = settled.fails_stage();
    let ended = unit.end(settled, verb, error, step.now);
    let (events, ended) = ended.ok_or_else(|| Fault::broken("a unit without its lease"))?;
    events.iter().try_for_each(|event| tell(step, event))?;
    remember(step, &ended)?;
    save(step, &unit)?;
    if fails_stage && unit.segment.is_some() {
        fail_stage(step, &unit)?;
    }
    touch(step, unit.run, &unit.pipeline)?;
    Ok(unit)
}

/// A segment failed for good, and its stage with it (P6).
fn fail_stage(step: &Step<'_>, segment: &Unit) -> Done<()> {
    let Some(mut stage) = find(step, &UnitKey::stage(segment.run, &segment.stage))? else { return Ok(()) };
    let Some(told) = stage.fail_with(segment, step.now) else { return Ok(()) };
    tell(step, &told)?;
    save(step, &stage)?;
    open_segments(step, &stage)
}

fn remember(step: &Step<'_>, ended: &Attempt) -> Done<()> {
    step.conn.prepare_cached(sql::PIPELINE_ENDED)?.execute(rusqlite::params![
        ended.run.0,
        ended.token.0,
        ended.stage,
        ended.segment.as_deref().unwrap_or(""),
        ended.owner,
        ended.claimed_at.0,
        ended.ended_at.0,
        ended.outcome.as_str(),
        ended.verb.map(Verb::as_str),
        ended.status.as_str(),
        ended.error,
        ended.pulse.beats,
        ended.pulse.last_beat_at.map(|at| at.0),
        ended.pulse.longest_gap_ms as i64,
    ])?;
    Ok(())
}
