//! Rows of jobs, queues and events, as core knows them.

use crate::value::{at, at_opt, backoff, get, pulse, some_word, word};
use serde_json::Value;
use tenure_core::bounds::ATTEMPTS_KEPT;
use tenure_core::lease::{Lease, Pulse};
use tenure_core::queue::{
    Attempt, Counts, Event, Job, JobId, LaneOnFailure, Outcome, QueueInfo, Rate, Reason, Settings, Status, Verb, What,
};
use tenure_core::{LostReason, Time, Token};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

/// A job as `tenure.show_job` returns it.
pub(super) fn job(row: &Row) -> Result<Job> {
    let status = some_word(row, "status", Status::parse)?;
    let token = get::<Option<i64>>(row, "token")?.map(Token);
    let mut attempts = attempts(get::<Option<Value>>(row, "attempts")?)?;
    let pulse = pulse(row)?;
    let claim = get::<Option<String>>(row, "owner")?.zip(token).zip(at_opt(row, "claimed_at")?);
    let mut lease = None;
    let finished_at = at_opt(row, "finished_at")?;
    if let Some(((owner, token), claimed_at)) = claim {
        match at_opt(row, "expires_at")? {
            Some(expires_at) => {
                let lease_ms = get::<i64>(row, "lease_ms")? as u64;
                lease = Some(Lease { owner, token, granted_at: claimed_at, lease_ms, expires_at, pulse });
            }
            None => attempts.push(Attempt {
                token,
                owner,
                claimed_at,
                ended_at: finished_at,
                outcome: word(row, "outcome", Outcome::parse)?,
                verb: word(row, "verb", Verb::parse)?,
                error: get(row, "final_error")?,
                pulse,
            }),
        }
    }
    let excess = attempts.len().saturating_sub(ATTEMPTS_KEPT);
    attempts.drain(..excess);
    Ok(Job {
        id: JobId(get(row, "id")?),
        queue: get(row, "queue")?,
        kind: get(row, "kind")?,
        payload: get(row, "payload")?,
        priority: get(row, "priority")?,
        created_at: at(row, "created_at")?,
        run_at: at(row, "run_at")?,
        attempt: get::<i32>(row, "attempt")? as u32,
        attempts_max: get::<i32>(row, "attempts_max")? as u32,
        backoff: backoff(row)?,
        timeout_ms: get::<Option<i64>>(row, "timeout_ms")?.map(|ms| ms as u64),
        ordering_key: get(row, "ordering_key")?,
        limit_key: get(row, "limit_key")?,
        cancel_requested: get(row, "cancel_requested")?,
        status,
        reason: word(row, "reason", Reason::parse)?,
        result: get(row, "result")?,
        error: get(row, "error")?,
        progress: get(row, "progress")?,
        checkpoint: get(row, "checkpoint")?,
        token,
        lease,
        attempts,
        finished_at,
    })
}

/// An event as `queue/events.sql` returns it.
pub(super) fn event(row: &Row) -> Result<Event> {
    Ok(Event {
        at: at(row, "at")?,
        job: JobId(get(row, "job")?),
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

/// A queue as `tenure.list_queues` returns it.
pub(super) fn queue(row: &Row) -> Result<QueueInfo> {
    let count = |column| get::<i64>(row, column).map(|n| n as u64);
    Ok(QueueInfo {
        name: get(row, "name")?,
        created_at: at(row, "created_at")?,
        settings: settings(row)?,
        counts: Counts {
            queued: count("queued")?,
            running: count("running")?,
            completed: count("completed")?,
            failed: count("failed")?,
        },
        oldest_queued_at: at_opt(row, "oldest_queued_at")?,
    })
}

fn settings(row: &Row) -> Result<Settings> {
    let limit = |column| get::<Option<i32>>(row, column).map(|max| max.map(|max| max as u32));
    let rate = |max: Option<u32>, period: &str| -> Result<Option<Rate>> {
        let period_ms = get::<Option<i64>>(row, period)?;
        Ok(max.zip(period_ms).map(|(max, period_ms)| Rate { max, period_ms: period_ms as u64 }))
    };
    Ok(Settings {
        paused: get(row, "paused")?,
        max_running: limit("max_running")?,
        max_running_per_key: limit("max_running_per_key")?,
        lane_on_failure: some_word(row, "lane_on_failure", LaneOnFailure::parse)?,
        retention_ms: get::<i64>(row, "retention_ms")? as u64,
        rate_limit: rate(limit("rate_max")?, "rate_period_ms")?,
        rate_limit_per_key: rate(limit("key_rate_max")?, "key_rate_period_ms")?,
    })
}

/// Ended attempts as `tenure.attempt` writes them.
fn attempts(kept: Option<Value>) -> Result<Vec<Attempt>> {
    let Some(Value::Array(kept)) = kept else { return Ok(Vec::new()) };
    kept.iter().map(|one| attempt(one).ok_or_else(|| StoreError::broken("an attempt cannot be read"))).collect()
}

fn attempt(one: &Value) -> Option<Attempt> {
    let text = |name: &str| one[name].as_str().map(str::to_owned);
    Some(Attempt {
        token: Token(one["token"].as_i64()?),
        owner: text("owner")?,
        claimed_at: Time(one["claimed_at"].as_i64()?),
        ended_at: one["ended_at"].as_i64().map(Time),
        outcome: Some(Outcome::parse(one["outcome"].as_str()?)?),
        verb: match one["verb"].as_str() {
            Some(word) => Some(Verb::parse(word)?),
            None => None,
        },
        error: text("error"),
        pulse: Pulse {
            beats: u32::try_from(one["beats"].as_u64()?).ok()?,
            last_beat_at: one["last_beat_at"].as_i64().map(Time),
            longest_gap_ms: one["longest_gap_ms"].as_u64()?,
        },
    })
}
