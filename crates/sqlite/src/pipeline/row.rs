//! Rows of pipelines, between the database and core.

use crate::column::{Read, filled, pulse, time_opt, word, word_opt, wrong};
use rusqlite::Row;
use tenure_core::lease::Lease;
use tenure_core::pipeline::{Attempt, Definition, Event, PipelineInfo, Record, Run, RunId, Unit};
use tenure_core::retry::Backoff;
use tenure_core::{Time, Token};

pub(super) fn backoff_text(backoff: Option<Backoff>) -> Option<String> {
    backoff.map(|of| format!("{},{},{},{}", of.initial_ms, of.factor, of.max_ms, of.jitter))
}

fn backoff(text: &str) -> Read<Backoff> {
    let parts = || {
        let [initial_ms, factor, max_ms, jitter] = text.split(',').collect::<Vec<_>>().try_into().ok()?;
        Some(Backoff {
            initial_ms: initial_ms.parse().ok()?,
            factor: factor.parse().ok()?,
            max_ms: max_ms.parse().ok()?,
            jitter: jitter.parse().ok()?,
        })
    };
    parts().ok_or_else(|| wrong("a backoff cannot be read".to_owned()))
}

/// A unit as `pipeline/unit.sql` and its siblings return it.
pub(super) fn unit(row: &Row<'_>) -> Read<Unit> {
    let token = row.get::<_, Option<i64>>(21)?.map(Token);
    let owner: Option<String> = row.get(22)?;
    let granted_at = time_opt(row, 24)?;
    let lease = match (owner, token, granted_at, time_opt(row, 25)?) {
        (Some(owner), Some(token), Some(granted_at), Some(expires_at)) => {
            let lease_ms = row.get::<_, i64>(23)? as u64;
            Some(Lease { owner, token, granted_at, lease_ms, expires_at, pulse: pulse(row, [26, 27, 28])? })
        }
        _ => None,
    };
    let needs: String = row.get(5)?;
    let record: Option<String> = row.get(20)?;
    let record = match record {
        Some(text) => Some(Record::decode(&text).ok_or_else(|| wrong("a record cannot be read".to_owned()))?),
        None => None,
    };
    Ok(Unit {
        id: row.get(0)?,
        run: RunId(row.get(1)?),
        pipeline: row.get(2)?,
        stage: row.get(3)?,
        segment: filled(row, 4)?,
        needs: needs.split(',').filter(|need| !need.is_empty()).map(str::to_owned).collect(),
        priority: row.get(6)?,
        lease_ms: row.get::<_, i64>(7)? as u64,
        attempts_max: row.get(8)?,
        backoff: row.get::<_, Option<String>>(9)?.as_deref().map(backoff).transpose()?,
        segmented: row.get(10)?,
        split: row.get(11)?,
        status: word(row, 12, tenure_core::pipeline::Status::parse)?,
        reason: word_opt(row, 13, tenure_core::pipeline::Reason::parse)?,
        retry_at: time_opt(row, 14)?,
        attempt: row.get(15)?,
        input: row.get(16)?,
        output: row.get(17)?,
        error: row.get(18)?,
        progress: row.get(19)?,
        record,
        token,
        lease,
        changed_at: Time(row.get(29)?),
    })
}

/// A run as `pipeline/run.sql` returns it.
pub(super) fn run(row: &Row<'_>) -> Read<Run> {
    Ok(Run {
        id: RunId(row.get(0)?),
        pipeline: row.get(1)?,
        version: row.get(2)?,
        input: row.get(3)?,
        status: word(row, 4, tenure_core::pipeline::RunStatus::parse)?,
        paused: row.get(5)?,
        created_at: Time(row.get(6)?),
        finished_at: time_opt(row, 7)?,
        key: row.get(8)?,
    })
}

/// A version of a pipeline as `pipeline/definition.sql` returns it.
pub(super) fn pipeline(row: &Row<'_>) -> Read<PipelineInfo> {
    let (name, version, text): (String, u32, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let definition = Definition::decode(&name, version, &text);
    let definition = definition.ok_or_else(|| wrong(format!("pipeline {name} cannot be read")))?;
    Ok(PipelineInfo { definition, created_at: Time(row.get(3)?) })
}

/// An ended claim as `pipeline/receipt.sql` returns it.
pub(super) fn attempt(row: &Row<'_>) -> Read<Attempt> {
    Ok(Attempt {
        run: RunId(row.get(0)?),
        token: Token(row.get(1)?),
        stage: row.get(2)?,
        segment: filled(row, 3)?,
        owner: row.get(4)?,
        claimed_at: Time(row.get(5)?),
        ended_at: Time(row.get(6)?),
        outcome: word(row, 7, tenure_core::pipeline::Outcome::parse)?,
        verb: word_opt(row, 8, tenure_core::pipeline::Verb::parse)?,
        status: word(row, 9, tenure_core::pipeline::Status::parse)?,
        error: row.get(10)?,
        pulse: pulse(row, [11, 12, 13])?,
    })
}

/// An event as `pipeline/events.sql` returns it.
pub(super) fn event(row: &Row<'_>) -> Read<Event> {
    Ok(Event {
        run: RunId(row.get(0)?),
        at: Time(row.get(1)?),
        stage: filled(row, 2)?,
        segment: filled(row, 3)?,
        what: word(row, 4, tenure_core::pipeline::What::parse)?,
        token: row.get::<_, Option<i64>>(5)?.map(Token),
        owner: row.get(6)?,
        attempt: row.get(7)?,
        verb: word_opt(row, 8, tenure_core::pipeline::Verb::parse)?,
        lost: word_opt(row, 9, tenure_core::LostReason::parse)?,
        reason: word_opt(row, 10, tenure_core::pipeline::Reason::parse)?,
        until: time_opt(row, 11)?,
        error: row.get(12)?,
        count: row.get(13)?,
        first_at: time_opt(row, 14)?,
        by: row.get(15)?,
    })
}
