//! Reading columns: what a file may hold that the rules do not know is an error, never a panic.

use super::Keys;
use crate::fault::Done;
use crate::sql;
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, Row};
use tenure_core::lease::Pulse;
use tenure_core::queue::rules::Running;
use tenure_core::queue::{Attempt, Outcome, Verb};
use tenure_core::retry::Backoff;
use tenure_core::{Time, Token};

type Read<T> = rusqlite::Result<T>;

pub(crate) fn time(row: &Row<'_>, at: usize) -> Read<Time> {
    row.get(at).map(Time)
}

pub(crate) fn time_opt(row: &Row<'_>, at: usize) -> Read<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Time))
}

pub(super) fn token_opt(row: &Row<'_>, at: usize) -> Read<Option<Token>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Token))
}

/// A word of one of core's lists.
pub(crate) fn word<T>(row: &Row<'_>, at: usize, parse: fn(&str) -> Option<T>) -> Read<T> {
    let text = row.get_ref(at)?.as_str()?;
    parse(text).ok_or_else(|| unknown(at, text))
}

pub(super) fn word_opt<T>(row: &Row<'_>, at: usize, parse: fn(&str) -> Option<T>) -> Read<Option<T>> {
    match row.get_ref(at)?.as_str_or_null()? {
        None => Ok(None),
        Some(text) => parse(text).map(Some).ok_or_else(|| unknown(at, text)),
    }
}

fn unknown(at: usize, text: &str) -> rusqlite::Error {
    let shown: String = text.chars().take(40).collect();
    let why = FromSqlError::Other(format!("the word {shown:?} is not known").into());
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why))
}

/// Beats, last beat and longest gap, in three columns from `at` on.
pub(super) fn pulse(row: &Row<'_>, at: usize) -> Read<Pulse> {
    Ok(Pulse { beats: row.get(at)?, last_beat_at: time_opt(row, at + 1)?, longest_gap_ms: row.get(at + 2)? })
}

/// A job's own backoff, in four columns from `at` on: all or none.
pub(crate) fn backoff(row: &Row<'_>, at: usize) -> Read<Option<Backoff>> {
    let Some(initial_ms) = row.get(at)? else { return Ok(None) };
    Ok(Some(Backoff { initial_ms, factor: row.get(at + 1)?, max_ms: row.get(at + 2)?, jitter: row.get(at + 3)? }))
}

/// A running job, as far as its ending needs it: a row of `running.sql`.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) was: Running,
    pub(super) timeout_ms: Option<u64>,
    pub(super) keys: Keys,
    /// It has as many ended claims as are kept, so that the first must make room.
    pub(super) crowded: bool,
}

pub(super) fn held(row: &Row<'_>) -> Read<Held> {
    let was = Running {
        attempt: row.get(0)?,
        attempts_max: row.get(1)?,
        run_at: time(row, 2)?,
        backoff: backoff(row, 3)?,
        cancel_requested: row.get(7)?,
    };
    let keys = Keys { ordering: row.get(9)?, limit: row.get(10)? };
    Ok(Held { was, timeout_ms: row.get(8)?, keys, crowded: row.get::<_, Option<bool>>(11)?.unwrap_or(false) })
}

/// The ended claims kept with a job.
pub(super) fn attempts(conn: &Connection, kept: Option<&str>) -> Done<Vec<Attempt>> {
    let Some(kept) = kept else { return Ok(Vec::new()) };
    let mut read = conn.prepare_cached(sql::ATTEMPTS)?;
    let attempts = read.query_map([kept], |row| {
        Ok(Attempt {
            token: Token(row.get(0)?),
            owner: row.get(1)?,
            claimed_at: time(row, 2)?,
            ended_at: time_opt(row, 3)?,
            outcome: word_opt(row, 4, Outcome::parse)?,
            verb: word_opt(row, 5, Verb::parse)?,
            error: row.get(6)?,
            pulse: pulse(row, 7)?,
        })
    })?;
    Ok(attempts.collect::<Read<_>>()?)
}
