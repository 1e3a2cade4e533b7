//! What every face reads from a row, and how batches are asked and answered.

use std::collections::HashSet;
use std::error::Error;
use std::hash::Hash;
use tenure_core::lease::Pulse;
use tenure_core::retry::Backoff;
use tenure_core::{Page, Time};
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

/// The answers of all rounds, in the order of the questions.
pub(crate) struct Answers<T>(pub(crate) Vec<Option<T>>);

impl<T> Answers<T> {
    pub(crate) fn new(count: usize) -> Answers<T> {
        Answers((0..count).map(|_| None).collect())
    }

    /// The answers of one round; `ord` counts its questions from one.
    pub(crate) fn take<Q>(
        &mut self,
        round: &[(usize, Q)],
        rows: &[Row],
        read: impl Fn(&Q, &Row) -> Result<T>,
    ) -> Result<()> {
        for row in rows {
            let ord = get::<i64>(row, "ord")?;
            let asked = usize::try_from(ord - 1).ok().and_then(|at| round.get(at));
            let (i, question) = asked.ok_or_else(|| StoreError::broken(format!("an answer to question {ord}")))?;
            self.0[*i] = Some(read(question, row)?);
        }
        Ok(())
    }

    pub(crate) fn all(self) -> Result<Vec<T>> {
        let whole: Option<Vec<T>> = self.0.into_iter().collect();
        whole.ok_or_else(|| StoreError::broken("a batch was not answered whole"))
    }
}

/// What was asked for, and whether there was more: one more row than that was read.
pub(crate) fn page<T>(rows: &[Row], limit: u32, read: impl Fn(&Row) -> Result<T>) -> Result<Page<T>> {
    Ok(Page::cut(rows.iter().map(read).collect::<Result<Vec<_>>>()?, limit as usize))
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
