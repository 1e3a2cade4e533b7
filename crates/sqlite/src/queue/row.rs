//! Rows of jobs that are being ended, and of their ended claims.

use super::Keys;
use crate::column::{Read, all, backoff, pulse, time, time_opt, word_opt};
use crate::fault::Done;
use crate::sql;
use rusqlite::{Connection, Row};
use tenure_core::Token;
use tenure_core::queue::rules::Running;
use tenure_core::queue::{Attempt, Outcome, Verb};

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
    all(conn, sql::ATTEMPTS, [kept], |row| {
        Ok(Attempt {
            token: Token(row.get(0)?),
            owner: row.get(1)?,
            claimed_at: time(row, 2)?,
            ended_at: time_opt(row, 3)?,
            outcome: word_opt(row, 4, Outcome::parse)?,
            verb: word_opt(row, 5, Verb::parse)?,
            error: row.get(6)?,
            pulse: pulse(row, [7, 8, 9])?,
        })
    })
}
