//! The workers' verbs: claim, heartbeat, finish; and recovery.

use super::row::{all, backoff_text, value};
use super::unit::{each, end, find, judge, run, save};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use crate::tokens;
use tenure_core::LostReason;
use tenure_core::bounds::CLAIM_BYTES_MAX;
use tenure_core::lease::Lease;
use tenure_core::lease::{Pulse, renewed};
use tenure_core::pipeline::rules::{self, Judgement};
use tenure_core::pipeline::{
    Act, Beat, Beaten, Claim, ClaimedUnit, Claims, Ended, Ending, NewSegment, RECOVERED_PER_CLAIM, Record, Recovered,
    Refusal, Status, Unit, UnitKey, compose_input,
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
    let now = step.now;
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
    unit.granted_ms = claim.lease_ms.unwrap_or(unit.lease_ms);
    let expires_at = now.plus_ms(unit.granted_ms);
    unit.status = Status::Running;
    unit.changed_at = now;
    unit.attempt += 1;
    unit.token = Some(token);
    unit.lease =
        Some(Lease { owner: claim.owner.clone(), token, granted_at: now, expires_at, pulse: Pulse::default() });
    save(step, &unit)?;
    Ok(Some(ClaimedUnit {
        run: unit.run,
        pipeline: unit.pipeline,
        version: of.version,
        stage: unit.stage,
        segment: unit.segment,
        join: unit.split,
        segmented: unit.segmented,
        input,
        attempt: unit.attempt,
        attempts_max: unit.attempts_max,
        token,
        lease_expires_at: expires_at,
        lease_ms: unit.granted_ms,
        record: unit.record,
    }))
}

pub(crate) fn heartbeat(step: &Step<'_>, beats: &[Beat]) -> Done<Vec<Fenced<Beaten>>> {
    beats.iter().map(|beat| beat_one(step, beat)).collect()
}

fn beat_one(step: &Step<'_>, beat: &Beat) -> Done<Fenced<Beaten>> {
    let (judgement, unit) = judge(step, &beat.unit, &beat.owner, beat.token, None)?;
    let Some(mut unit) = unit.filter(|_| judgement == Judgement::Held) else {
        return Ok(Err(match judgement {
            Judgement::Lost(reason) => reason,
            Judgement::Held | Judgement::Already(_) => LostReason::Finished,
        }));
    };
    let Some(lease) = &mut unit.lease else { return Err(Fault::broken("a held unit without a lease")) };
    lease.pulse.beat(lease.granted_at, step.now);
    lease.expires_at = renewed(Some(lease.expires_at), step.now, unit.granted_ms);
    let lease_expires_at = lease.expires_at;
    unit.progress = beat.progress.clone().or(unit.progress);
    unit.record = beat.record.clone().map(|record| Record { token: beat.token, ..record }).or(unit.record);
    save(step, &unit)?;
    Ok(Ok(Beaten { lease_expires_at }))
}

pub(crate) fn finish(step: &Step<'_>, ending: &Ending) -> Done<Result<Ended, Refusal>> {
    let Ending { unit: key, owner, token, act } = ending;
    let (judgement, unit) = judge(step, key, owner, *token, Some(act.verb()))?;
    let unit = match judgement {
        Judgement::Held => unit.ok_or_else(|| Fault::broken("a held unit is gone"))?,
        Judgement::Already(ended) => return Ok(Ok(ended)),
        Judgement::Lost(reason) => return Ok(Err(Refusal::Lost(reason))),
    };
    if let Act::Split { .. } = act {
        if unit.split {
            return Ok(Err(Refusal::AlreadySplit));
        }
        if !unit.segmented || unit.segment.is_some() {
            return Ok(Err(Refusal::NotSegmented));
        }
    }
    let settled = rules::settle(act, &unit, step.now);
    let status = settled.status;
    let error = match act {
        Act::Fail { error, .. } => Some(error.clone()),
        Act::Complete { .. } | Act::Release | Act::Split { .. } => None,
    };
    let mut unit = end(step, unit, settled, Some(act.verb()), error)?;
    match act {
        Act::Complete { output, record } => {
            unit.output = output.clone();
            unit.record = rules::completed_record(record.clone(), unit.record, *token);
            save(step, &unit)?;
        }
        Act::Split { segments } => {
            unit.split = true;
            save(step, &unit)?;
            split(step, &unit, segments)?;
        }
        Act::Fail { .. } | Act::Release => {}
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
