//! Claims of units, and recovery.

use super::unit::{each, end, find, run, save};
use crate::column::{all, value};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use crate::tokens;
use tenure_core::bounds::CLAIM_BYTES_MAX;
use tenure_core::pipeline::rules;
use tenure_core::pipeline::{
    Claim, ClaimedUnit, Claims, RECOVERED_PER_CLAIM, Recovered, Status, Unit, UnitKey, compose_input,
};

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
