//! Rows of pipelines, between the database and core.

use crate::value::{at, at_opt, backoff, get, pulse, some_word, word};
use serde_json::Value;
use tenure_core::lease::Lease;
use tenure_core::pipeline::{
    Attempt, Definition, Event, Outcome, PipelineInfo, Reason, Record, Run, RunId, RunStatus, SegmentCounts, StageInfo,
    Status, Unit, Verb, What,
};
use tenure_core::{LostReason, Token};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

/// What is kept as an empty text where there is nothing.
fn filled(row: &Row, column: &str) -> Result<Option<String>> {
    Ok(Some(get::<String>(row, column)?).filter(|text| !text.is_empty()))
}

pub(super) fn record(row: &Row) -> Result<Option<Record>> {
    let Some(text) = get::<Option<&str>>(row, "record")? else { return Ok(None) };
    Record::decode(text).map(Some).ok_or_else(|| StoreError::broken("a record cannot be read"))
}

/// A unit as `pipeline/stages.sql` and its siblings return it.
pub(super) fn unit(row: &Row) -> Result<Unit> {
    let token = get::<Option<i64>>(row, "token")?.map(Token);
    let owner: Option<String> = get(row, "owner")?;
    let lease = match (owner, token, at_opt(row, "granted_at")?, at_opt(row, "expires_at")?) {
        (Some(owner), Some(token), Some(granted_at), Some(expires_at)) => {
            let lease_ms = get::<i64>(row, "granted_ms")? as u64;
            Some(Lease { owner, token, granted_at, lease_ms, expires_at, pulse: pulse(row)? })
        }
        _ => None,
    };
    Ok(Unit {
        id: get(row, "id")?,
        run: RunId(get(row, "run")?),
        pipeline: get(row, "pipeline")?,
        stage: get(row, "stage")?,
        segment: filled(row, "segment")?,
        needs: get(row, "needs")?,
        priority: get(row, "priority")?,
        lease_ms: get::<i64>(row, "lease_ms")? as u64,
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        backoff: backoff(row)?,
        segmented: get(row, "segmented")?,
        split: get(row, "split")?,
        status: some_word(row, "status", Status::parse)?,
        reason: word(row, "reason", Reason::parse)?,
        retry_at: at_opt(row, "retry_at")?,
        attempt: get::<i32>(row, "attempt")? as u32,
        input: get(row, "input")?,
        output: get(row, "output")?,
        error: get(row, "error")?,
        progress: get(row, "progress")?,
        record: record(row)?,
        token,
        lease,
        changed_at: at(row, "changed_at")?,
    })
}

/// A stage as `pipeline/stages.sql` returns it.
pub(super) fn stage(row: &Row) -> Result<StageInfo> {
    let mut segments = SegmentCounts::default();
    if let Some(Value::Object(counts)) = get::<Option<Value>>(row, "segments")? {
        for (status, count) in counts {
            let status = Status::parse(&status).ok_or_else(|| StoreError::broken(format!("status `{status}`")))?;
            segments.add(status, count.as_u64().unwrap_or(0));
        }
    }
    Ok(StageInfo { unit: unit(row)?, segments })
}

/// A run as `pipeline/run.sql` returns it.
pub(super) fn run(row: &Row) -> Result<Run> {
    Ok(Run {
        id: RunId(get(row, "id")?),
        pipeline: get(row, "pipeline")?,
        version: get::<i32>(row, "version")? as u32,
        input: get(row, "input")?,
        status: some_word(row, "status", RunStatus::parse)?,
        paused: get(row, "paused")?,
        created_at: at(row, "created_at")?,
        finished_at: at_opt(row, "finished_at")?,
        key: get(row, "key")?,
    })
}

/// A version of a pipeline as `pipeline/definition.sql` returns it.
pub(super) fn pipeline(row: &Row) -> Result<PipelineInfo> {
    let name: &str = get(row, "name")?;
    let definition = Definition::decode(name, get::<i32>(row, "version")? as u32, get(row, "definition")?);
    let definition = definition.ok_or_else(|| StoreError::broken(format!("pipeline {name} cannot be read")))?;
    Ok(PipelineInfo { definition, created_at: at(row, "created_at")? })
}

/// An ended claim as `pipeline/attempts.sql` returns it.
pub(super) fn attempt(row: &Row) -> Result<Attempt> {
    Ok(Attempt {
        run: RunId(get(row, "run")?),
        token: Token(get(row, "token")?),
        stage: get(row, "stage")?,
        segment: filled(row, "segment")?,
        owner: get(row, "owner")?,
        claimed_at: at(row, "claimed_at")?,
        ended_at: at(row, "ended_at")?,
        outcome: some_word(row, "outcome", Outcome::parse)?,
        verb: word(row, "verb", Verb::parse)?,
        status: some_word(row, "status", Status::parse)?,
        error: get(row, "error")?,
        pulse: pulse(row)?,
    })
}

/// An event as `pipeline/events.sql` returns it.
pub(super) fn event(row: &Row) -> Result<Event> {
    Ok(Event {
        run: RunId(get(row, "run")?),
        at: at(row, "at")?,
        stage: filled(row, "stage")?,
        segment: filled(row, "segment")?,
        what: some_word(row, "what", What::parse)?,
        token: get::<Option<i64>>(row, "token")?.map(Token),
        owner: get(row, "owner")?,
        attempt: get::<Option<i32>>(row, "attempt")?.map(|n| n as u32),
        verb: word(row, "verb", Verb::parse)?,
        lost: word(row, "lost", LostReason::parse)?,
        reason: word(row, "reason", Reason::parse)?,
        until: at_opt(row, "until")?,
        error: get(row, "error")?,
        count: get::<i32>(row, "count")? as u32,
        first_at: at_opt(row, "first_at")?,
        by: get(row, "by")?,
    })
}
