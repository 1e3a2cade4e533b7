//! The workers' verbs: claim, heartbeat, finish; and recovery.

use super::row::backoff_text;
use super::unit::{each, end, find, judge, run, save};
use crate::column::{all, value};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use crate::tokens;
use tenure_core::bounds::CLAIM_BYTES_MAX;
use tenure_core::lease::Presented;
use tenure_core::pipeline::rules;
use tenure_core::pipeline::{
    Act, Beat, Beaten, Claim, ClaimedUnit, Claims, Ended, Ending, NewSegment, RECOVERED_PER_CLAIM, Recovered, Refusal,
    Status, Unit, UnitKey, compose_input,
};
use tenure_store::{Fenced, wake_of_pipeline};

pub(crate) fn claim(step: &Step<'_>, claim: &Claim) -> Done<Option<Claims>> {
    for stage in &claim.stages {
        if !value::<bool>(step.conn, sql::PIPELINE_KNOWS_STAGE, (&claim.pipeline, stage))? {
            return Ok(None);
        }
    }
    let stages: std::collections::BTreeSet<&String> = claim.stages.iter().collect();
    // Names need no escaping: core lets only letters, digits and `._:-` into one.
    let names: Vec<String> = stages.iter().map(|stage| format!("\"{stage}\"")).collect();
    let names = format!("[{}]", names.join(","));
    let of = (step.now.0, RECOVERED_PER_CLAIM, &claim.pipeline, names);
    return_all(step, &all(step.conn, sql::PIPELINE_EXPIRED_OF, of, |row| row.get(0))?)?;
    loop {
        let mut found: Vec<(i64, i64)> = Vec::new();
        for stage in &stages {
            let of = (&claim.pipeline, stage, claim.max);
            found.extend(all(step.conn, sql::PIPELINE_READY, of, |row| Ok((row.get(0)?, row.get(1)?)))?);
        }
        found.sort_by_key(|(priority, id)| (std::cmp::Reverse(*priority), *id));
        found.truncate(claim.max as usize);
        let seen = found.len();
        let (units, unread) = take(step, claim, &found)?;
        // With nothing but what could not be read, there may be others behind it.
        if !units.is_empty() || unread < seen || seen == 0 {
            return Ok(Some(Claims { units }));
        }
    }
}

/// Puts units under leases, one after the other, as many as fit into a claim; how many could not be read.
fn take(step: &Step<'_>, claim: &Claim, found: &[(i64, i64)]) -> Done<(Vec<ClaimedUnit>, usize)> {
    let (mut units, mut unread, mut bytes) = (Vec::new(), 0, 0);
    for (_, id) in found {
        let room = (!units.is_empty()).then(|| CLAIM_BYTES_MAX.saturating_sub(bytes));
        match each(step, *id, |unit| grant(step, unit, claim, room))? {
            None => unread += 1,
            Some(None) => break,
            Some(Some(unit)) => {
                bytes += unit.input.len();
                units.push(unit);
            }
        }
    }
    Ok((units, unread))
}

/// Puts a unit under a lease, unless its input is larger than `room`.
fn grant(step: &Step<'_>, mut unit: Unit, claim: &Claim, room: Option<usize>) -> Done<Option<ClaimedUnit>> {
    let of = run(step, unit.run)?.ok_or_else(|| Fault::broken("a unit without its run"))?;
    let input = match &unit.segment {
        Some(_) => unit.input.clone().unwrap_or_else(|| "null".to_owned()),
        None => {
            let mut needs = Vec::with_capacity(unit.needs.len());
            for need in &unit.needs {
                let output = find(step, &UnitKey::stage(unit.run, need))?.and_then(|need| need.output);
                needs.push((need.clone(), output));
            }
            compose_input(&of.input, &needs)
        }
    };
    if room.is_some_and(|room| input.len() > room) {
        return Ok(None);
    }
    let token = tokens::draw(step, 1)?.next().ok_or_else(|| Fault::broken("no token was drawn"))?;
    let claimed = unit.take(claim, &of, input, token, step.now);
    save(step, &unit)?;
    Ok(Some(claimed))
}

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

/// Returns units whose lease ran out, at most `max`, oldest deadline first (L7).
pub(crate) fn recover(step: &Step<'_>, max: u32) -> Done<Recovered> {
    return_all(step, &all(step.conn, sql::PIPELINE_EXPIRED, (step.now.0, max), |row| row.get(0))?)
}

fn return_all(step: &Step<'_>, ids: &[i64]) -> Done<Recovered> {
    let mut recovered = Recovered::default();
    for id in ids {
        let returned = each(step, *id, |unit| {
            let settled = rules::expire(&unit);
            let status = settled.status;
            end(step, unit, settled, None, None)?;
            Ok(status)
        })?;
        match returned {
            Some(Status::Error) => recovered.failed += 1,
            Some(_) => recovered.returned += 1,
            None => {}
        }
    }
    Ok(recovered)
}
