//! One row of `domain`: read whole, handed to the rules, written back if they changed it.

use super::books::Tables;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{OptionalExtension, params};
use tenure_core::domain::{InFlight, Record, Settings};
use tenure_core::lease::Lease;
use tenure_core::{Time, Token};

/// A domain: what the rules call its record, and what the row knows about its books.
pub(super) struct Row {
    id: i64,
    record: Record,
    counts: Counts,
}

/// What the row keeps of the books, so that most calls need no other table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// What ended, and of it what failed.
    pub(super) ended: Ranges,
    pub(super) failed: Ranges,
    pub(super) backlog_len: u64,
    pub(super) waiting_seq: u64,
    pub(super) event_seq: u64,
}

/// What the row keeps of a set of ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    /// The one that grew last.
    pub(super) last: Option<(u64, u64)>,
    /// How many others there are.
    pub(super) others: u64,
}

impl Row {
    /// The domain `name`, if it was ever used.
    pub(super) fn find(step: &Step<'_>, name: &str) -> Done<Option<Row>> {
        Ok(step.conn.prepare_cached(sql::DOMAIN_FIND)?.query_row([name], read).optional()?)
    }

    /// The domain `name`, made if it was not.
    pub(super) fn made(step: &Step<'_>, name: &str) -> Done<Row> {
        if let Some(row) = Row::find(step, name)? {
            return Ok(row);
        }
        let id = step.conn.prepare_cached(sql::DOMAIN_MAKE)?.query_row((name, step.now.0), |row| row.get(0))?;
        Ok(Row { id, record: Record::new(step.now), counts: Counts::default() })
    }

    /// Does `verb`, and writes what it changed.
    pub(super) fn with<'s, T>(
        mut self,
        step: &Step<'s>,
        verb: impl FnOnce(&mut Record, &mut Tables<'s>) -> Done<T>,
    ) -> Done<T> {
        let was = (self.record.clone(), self.counts);
        let mut tables = Tables { conn: step.conn, id: self.id, counts: self.counts };
        let answer = verb(&mut self.record, &mut tables)?;
        self.counts = tables.counts;
        if (&self.record, self.counts) != (&was.0, was.1) {
            self.save(step)?;
        }
        Ok(answer)
    }

    fn save(&self, step: &Step<'_>) -> Done<()> {
        let Row { id, record, counts } = self;
        let flight = record.in_flight.as_ref();
        let saved = step.conn.prepare_cached(sql::DOMAIN_SAVE)?.execute(params![
            id,
            record.settings.max_retries,
            record.settings.takeovers_max,
            record.last_token.0,
            flight.map(|flight| flight.offset),
            flight.map(|flight| flight.acquired_at.0),
            flight.map_or(0, |flight| flight.retry_count),
            flight.map_or(0, |flight| flight.takeovers),
            flight.and_then(|flight| flight.holder()),
            flight.and_then(|flight| flight.lease.span_ms()),
            flight.and_then(|flight| flight.lease.deadline()).map(|at| at.0),
            flight.is_some_and(|flight| flight.expiry_told),
            counts.ended.last.map(|(from, _)| from),
            counts.ended.last.map(|(_, to)| to),
            counts.ended.others,
            counts.failed.last.map(|(from, _)| from),
            counts.failed.last.map(|(_, to)| to),
            counts.failed.others,
            counts.backlog_len,
            counts.waiting_seq,
            counts.event_seq,
        ])?;
        if saved == 1 { Ok(()) } else { Err(Fault::broken("a domain was gone before it could be saved")) }
    }
}

/// A row of `domain/find.sql`.
fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let last_token = Token(row.get(4)?);
    let in_flight = match row.get::<_, Option<u64>>(5)? {
        None => None,
        Some(offset) => {
            let acquired_at = Time(row.get(6)?);
            let owner = row.get::<_, Option<String>>(9)?.unwrap_or_default();
            let span = row.get::<_, Option<u64>>(10)?.unwrap_or(Lease::ENDLESS);
            let mut lease = Lease::grant(owner, last_token, span, acquired_at);
            if let Some(at) = row.get(11)? {
                lease.expires_at = Time(at);
            }
            let (retry_count, takeovers, expiry_told) = (row.get(7)?, row.get(8)?, row.get(12)?);
            Some(InFlight { offset, lease, acquired_at, retry_count, takeovers, expiry_told })
        }
    };
    Ok(Row {
        id: row.get(0)?,
        record: Record {
            in_flight,
            last_token,
            settings: Settings { max_retries: row.get(2)?, takeovers_max: row.get(3)? },
            created_at: Time(row.get(1)?),
        },
        counts: Counts {
            ended: Ranges { last: row.get::<_, Option<u64>>(13)?.zip(row.get(14)?), others: row.get(15)? },
            failed: Ranges { last: row.get::<_, Option<u64>>(16)?.zip(row.get(17)?), others: row.get(18)? },
            backlog_len: row.get(19)?,
            waiting_seq: row.get(20)?,
            event_seq: row.get(21)?,
        },
    })
}
