//! Instants and rows, between the database and core.

use serde_json::Value;
use std::collections::HashSet;
use std::error::Error;
use std::hash::Hash;
use tenure_core::bounds::ATTEMPTS_KEPT;
use tenure_core::lease::{Lease, Pulse};
use tenure_core::queue::{
    Attempt, Event, Job, JobId, LaneOnFailure, Outcome, QueueInfo, Rate, Reason, Settings, Status, Verb, What,
};
use tenure_core::retry::Backoff;
use tenure_core::{LostReason, Page, Time, Token};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// A [`Time`] as `timestamptz`: both count microseconds, from different years.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) Time);

/// 2000-01-01T00:00:00Z in microseconds since 1970.
const POSTGRES_ZERO: i64 = 946_684_800_000_000;

impl<'a> FromSql<'a> for At {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<At, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(At(Time(micros.saturating_add(POSTGRES_ZERO))))
    }

    accepts!(TIMESTAMPTZ);
}

impl ToSql for At {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&(self.0.0 - POSTGRES_ZERO).to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

/// A column, or the error that says which one is not as expected.
pub(crate) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: &str) -> Result<T> {
    row.try_get(column).map_err(|error| StoreError::broken(format!("column {column}: {error}")))
}

/// An instant.
pub(crate) fn at(row: &Row, column: &str) -> Result<Time> {
    get::<At>(row, column).map(|at| at.0)
}

/// An instant that may be missing.
pub(crate) fn at_opt(row: &Row, column: &str) -> Result<Option<Time>> {
    get::<Option<At>>(row, column).map(|at| at.map(|at| at.0))
}

/// A word of one of core's lists.
pub(crate) fn word<T>(row: &Row, column: &str, parse: fn(&str) -> Option<T>) -> Result<Option<T>> {
    let Some(word) = get::<Option<&str>>(row, column)? else { return Ok(None) };
    parse(word).map(Some).ok_or_else(|| StoreError::broken(format!("column {column} holds `{word}`")))
}

/// A word of one of core's lists, which is always there.
pub(crate) fn some_word<T>(row: &Row, column: &str, parse: fn(&str) -> Option<T>) -> Result<T> {
    word(row, column, parse)?.ok_or_else(|| StoreError::broken(format!("column {column} holds nothing")))
}

/// Beats, last beat and longest gap.
pub(crate) fn pulse(row: &Row) -> Result<Pulse> {
    Ok(Pulse {
        beats: get::<Option<i32>>(row, "beats")?.unwrap_or(0) as u32,
        last_beat_at: at_opt(row, "last_beat_at")?,
        longest_gap_ms: get::<Option<i64>>(row, "longest_gap_ms")?.unwrap_or(0) as u64,
    })
}

/// Splits a batch into rounds in which no key appears twice, each with its place: the functions answer each key once, and
/// what is asked twice in one call is asked one after the other. What comes after a repetition waits for it, so that events
/// are written in the order of the call.
pub(crate) fn rounds<T, K: Hash + Eq>(items: Vec<T>, key: impl Fn(&T) -> K) -> Vec<Vec<(usize, T)>> {
    let mut seen = HashSet::with_capacity(items.len());
    let mut rounds: Vec<Vec<(usize, T)>> = vec![Vec::new()];
    for (i, item) in items.into_iter().enumerate() {
        if !seen.insert(key(&item)) {
            seen.clear();
            seen.insert(key(&item));
            rounds.push(Vec::new());
        }
        rounds.last_mut().expect("there is a first round").push((i, item));
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

/// The answers of all rounds in the order of the questions.
pub(crate) fn in_order<T>(answers: Vec<Option<T>>) -> Result<Vec<T>> {
    let count = answers.len();
    let answers: Vec<T> = answers.into_iter().flatten().collect();
    if answers.len() == count { Ok(answers) } else { Err(StoreError::broken("a batch was not answered whole")) }
}

/// What was asked for, and whether there was more: one more row than that was read.
pub(crate) fn page<T>(rows: &[Row], limit: u32, read: impl Fn(&Row) -> Result<T>) -> Result<Page<T>> {
    Ok(Page::cut(rows.iter().map(read).collect::<Result<Vec<_>>>()?, limit as usize))
}

/// A job as `tenure.show_job` returns it.
pub(crate) fn job(row: &Row) -> Result<Job> {
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
pub(crate) fn event(row: &Row) -> Result<Event> {
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
pub(crate) fn queue(row: &Row) -> Result<QueueInfo> {
    let count = |column| get::<i64>(row, column).map(|n| n as u64);
    Ok(QueueInfo {
        name: get(row, "name")?,
        created_at: at(row, "created_at")?,
        settings: settings(row)?,
        counts: tenure_core::queue::Counts {
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

/// A backoff in the order in which the column keeps it.
pub(crate) fn backoff_parts(backoff: Backoff) -> [f64; 4] {
    [backoff.initial_ms as f64, backoff.factor, backoff.max_ms as f64, backoff.jitter]
}

/// The same as an array literal.
pub(crate) fn backoff_text(backoff: Backoff) -> String {
    let [initial_ms, factor, max_ms, jitter] = backoff_parts(backoff);
    format!("{{{initial_ms},{factor},{max_ms},{jitter}}}")
}

/// The column of a unit's own backoff.
pub(crate) fn backoff(row: &Row) -> Result<Option<Backoff>> {
    let Some(parts) = get::<Option<Vec<f64>>>(row, "backoff")? else { return Ok(None) };
    let Ok([initial_ms, factor, max_ms, jitter]) = <[f64; 4]>::try_from(parts) else {
        return Err(StoreError::broken("column backoff is not four numbers"));
    };
    Ok(Some(Backoff { initial_ms: initial_ms as u64, factor, max_ms: max_ms as u64, jitter }))
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
