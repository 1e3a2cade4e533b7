//! Reading columns: what a file may hold that the rules do not know is an error, never a panic and never a guess.

use crate::fault::{Done, Fault};
use rusqlite::types::{FromSql, Type};
use rusqlite::{Connection, Params, Row, RowIndex};
use tenure_core::lease::Pulse;
use tenure_core::retry::Backoff;
use tenure_core::{Time, Token};

pub(crate) type Read<T> = rusqlite::Result<T>;

pub(crate) fn time(row: &Row<'_>, at: impl RowIndex) -> Read<Time> {
    row.get(at).map(Time)
}

pub(crate) fn time_opt(row: &Row<'_>, at: impl RowIndex) -> Read<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Time))
}

pub(crate) fn token_opt(row: &Row<'_>, at: impl RowIndex) -> Read<Option<Token>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Token))
}

/// What is kept as an empty text where there is nothing.
pub(crate) fn filled(row: &Row<'_>, at: impl RowIndex) -> Read<Option<String>> {
    Ok(Some(row.get::<_, String>(at)?).filter(|text| !text.is_empty()))
}

/// A word of one of core's lists.
pub(crate) fn word<T>(row: &Row<'_>, at: impl RowIndex, parse: fn(&str) -> Option<T>) -> Read<T> {
    let text = row.get_ref(at)?.as_str()?;
    parse(text).ok_or_else(|| unknown(text))
}

/// The same, where there may be none.
pub(crate) fn word_opt<T>(row: &Row<'_>, at: impl RowIndex, parse: fn(&str) -> Option<T>) -> Read<Option<T>> {
    match row.get_ref(at)?.as_str_or_null()? {
        None => Ok(None),
        Some(text) => parse(text).map(Some).ok_or_else(|| unknown(text)),
    }
}

fn unknown(text: &str) -> rusqlite::Error {
    let shown: String = text.chars().take(40).collect();
    wrong(format!("the word {shown:?} is not known"))
}

/// A column that holds what it should not.
pub(crate) fn wrong(why: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, why.into())
}

/// Beats, last beat and longest gap, in these columns.
pub(crate) fn pulse(row: &Row<'_>, [beats, last, gap]: [impl RowIndex; 3]) -> Read<Pulse> {
    Ok(Pulse { beats: row.get(beats)?, last_beat_at: time_opt(row, last)?, longest_gap_ms: row.get(gap)? })
}

/// A unit's own backoff, in four columns from `at` on: all or none.
pub(crate) fn backoff(row: &Row<'_>, at: usize) -> Read<Option<Backoff>> {
    let Some(initial_ms) = row.get(at)? else { return Ok(None) };
    Ok(Some(Backoff { initial_ms, factor: row.get(at + 1)?, max_ms: row.get(at + 2)?, jitter: row.get(at + 3)? }))
}

/// All rows of a statement.
pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Read<T>,
) -> Done<Vec<T>> {
    Ok(conn.prepare_cached(sql)?.query_map(params, read)?.collect::<Read<_>>()?)
}

/// The first row of a statement.
pub(crate) fn first<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Read<T>,
) -> Done<Option<T>> {
    Ok(conn.prepare_cached(sql)?.query_map(params, read)?.next().transpose()?)
}

/// The one value of a statement that always has one.
pub(crate) fn value<T: FromSql>(conn: &Connection, sql: &str, params: impl Params) -> Done<T> {
    conn.prepare_cached(sql)?.query_row(params, |row| row.get(0)).map_err(Fault::from)
}
