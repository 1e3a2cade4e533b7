//! What the holder of a unit writes: heartbeats and endings.

use super::row::backoff_text;
use super::unit::{end, judge, run, save};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use tenure_core::lease::Presented;
use tenure_core::pipeline::rules;
use tenure_core::pipeline::{Act, Beat, Beaten, Ended, Ending, NewSegment, Refusal, Status, Unit};
use tenure_store::{Fenced, wake_of_pipeline};

pub(crate) fn heartbeat(step: &Step<'_>, beats: &[Beat]) -> Done<Vec<Fenced<Beaten>>> {
    beats.iter().map(|beat| beat_one(step, beat)).collect()
}

fn beat_one(step: &Step<'_>, beat: &Beat) -> Done<Fenced<Beaten>> {
    let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
    let (judgement, unit) = judge(step, &beat.unit, presented)?;
    if let Err(reason) = judgement.or_lost() {
        return Ok(Err(reason));
    }
    let mut unit = unit.ok_or_else(|| Fault::broken("a held unit is gone"))?;
    let renewed = unit.renew(beat, step.now);
    let lease_expires_at = renewed.ok_or_else(|| Fault::broken("a held unit without a lease"))?;
    save(step, &unit)?;
    Ok(Ok(Beaten { lease_expires_at }))
}

pub(crate) fn finish(step: &Step<'_>, ending: &Ending) -> Done<Result<Ended, Refusal>> {
    let Ending { unit: key, owner, token, act } = ending;
    let presented = Presented { owner, token: *token, verb: Some(act.verb()) };
    let (judgement, unit) = judge(step, key, presented)?;
    match judgement.or_lost() {
        Err(reason) => return Ok(Err(Refusal::Lost(reason))),
        Ok(Some(status)) => return Ok(Ok(Ended { status, already: true })),
        Ok(None) => {}
    }
    let unit = unit.ok_or_else(|| Fault::broken("a held unit is gone"))?;
    if let Err(refusal) = act.may_end(&unit) {
        return Ok(Err(refusal));
    }
    let settled = rules::settle(act, &unit, step.now);
    let status = settled.status;
    let mut unit = end(step, unit, settled, Some(act.verb()), act.error())?;
    if unit.complete(act, *token) {
        save(step, &unit)?;
    }
    if let Act::Split { segments } = act {
        split(step, &unit, segments)?;
    }
    Ok(Ok(Ended { status, already: false }))
}

fn split(step: &Step<'_>, stage: &Unit, segments: &[NewSegment]) -> Done<()> {
    let open = !run(step, stage.run)?.is_some_and(|run| run.paused);
    let mut add = step.conn.prepare_cached(sql::PIPELINE_ADD_UNIT)?;
    let backoff = backoff_text(stage.backoff);
    for segment in segments {
        add.execute(rusqlite::params![
            stage.run.0,
            stage.pipeline,
            stage.stage,
            segment.name,
            "",
            stage.priority,
            stage.lease_ms as i64,
            stage.attempts_max,
            backoff,
            false,
            Status::Ready.as_str(),
            segment.input,
            open,
            step.now.0,
        ])?;
    }
    step.ring(&wake_of_pipeline(&stage.pipeline));
    Ok(())
}
