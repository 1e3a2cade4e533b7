//! The books of a domain in tables: each question is one step down one index, and most are answered by the row.

use super::row::Counts;
use crate::fault::{Done, Fault};
use crate::sql;
use rusqlite::{Connection, OptionalExtension, params};
use tenure_core::Time;
use tenure_core::domain::{Books, EVENTS_KEPT, Event, OFFSET_MAX, REFUSALS_KEPT, Terminal, Verb, What};

/// The tables of one domain.
pub(super) struct Tables<'a> {
    pub(super) conn: &'a Connection,
    pub(super) id: i64,
    pub(super) counts: Counts,
}

/// The statements of one table of ranges.
struct Ranges {
    below: &'static str,
    put: &'static str,
    take: &'static str,
}

const ENDED: Ranges =
    Ranges { below: sql::DOMAIN_ENDED_BELOW, put: sql::DOMAIN_ENDED_PUT, take: sql::DOMAIN_ENDED_TAKE };
const FAILED: Ranges =
    Ranges { below: sql::DOMAIN_FAILED_BELOW, put: sql::DOMAIN_FAILED_PUT, take: sql::DOMAIN_FAILED_TAKE };

impl Tables<'_> {
    /// The range that begins at or before `offset`.
    fn below(&self, ranges: &Ranges, offset: u64) -> Done<Option<(u64, u64)>> {
        let mut below = self.conn.prepare_cached(ranges.below)?;
        Ok(below.query_row((self.id, offset), |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    fn contains(&self, ranges: &Ranges, offset: u64) -> Done<bool> {
        Ok(self.below(ranges, offset)?.is_some_and(|(_, to)| to >= offset))
    }

    fn put(&self, ranges: &Ranges, from: u64, to: u64) -> Done<()> {
        self.conn.prepare_cached(ranges.put)?.execute((self.id, from, to))?;
        Ok(())
    }

    /// Takes the range out that begins at `from`; where it ended.
    fn take(&self, ranges: &Ranges, from: u64) -> Done<Option<u64>> {
        if from > OFFSET_MAX {
            return Ok(None);
        }
        let mut take = self.conn.prepare_cached(ranges.take)?;
        let mut rows = take.query((self.id, from))?;
        let to = rows.next()?.map(|row| row.get(0)).transpose()?;
        // A statement that returns rows is done only when it has returned them all.
        while rows.next()?.is_some() {}
        Ok(to)
    }

    /// Adds `offset` to what ended. The rules have looked: it had not.
    fn end_at(&mut self, offset: u64) -> Done<()> {
        let others = self.counts.ended_others > 0;
        let (mut from, mut to) = (offset, offset);
        match self.counts.ended {
            Some((hot_from, hot_to)) if hot_to + 1 == offset => from = hot_from,
            Some((hot_from, hot_to)) if offset + 1 == hot_from => to = hot_to,
            Some((hot_from, hot_to)) => {
                self.put(&ENDED, hot_from, hot_to)?;
                self.counts.ended_others += 1;
            }
            None => {}
        }
        if others
            && from == offset
            && let Some((below_from, below_to)) = self.below(&ENDED, offset)?
            && below_to + 1 == offset
        {
            self.take(&ENDED, below_from)?;
            self.counts.ended_others -= 1;
            from = below_from;
        }
        if others
            && to == offset
            && let Some(above_to) = self.take(&ENDED, offset + 1)?
        {
            self.counts.ended_others -= 1;
            to = above_to;
        }
        self.counts.ended = Some((from, to));
        Ok(())
    }

    fn fail_at(&mut self, offset: u64) -> Done<()> {
        let below = if self.counts.any_failed { self.below(&FAILED, offset)? } else { None };
        let from = below.filter(|(_, to)| *to + 1 == offset).map_or(offset, |(from, _)| from);
        let above = if self.counts.any_failed { self.take(&FAILED, offset + 1)? } else { None };
        self.counts.any_failed = true;
        self.put(&FAILED, from, above.unwrap_or(offset))
    }
}

impl Books for Tables<'_> {
    type Error = Fault;

    fn terminal(&mut self, offset: u64) -> Done<Option<Terminal>> {
        let hot = self.counts.ended.is_some_and(|(from, to)| (from..=to).contains(&offset));
        if !hot && (self.counts.ended_others == 0 || !self.contains(&ENDED, offset)?) {
            return Ok(None);
        }
        let failed = self.counts.any_failed && self.contains(&FAILED, offset)?;
        Ok(Some(if failed { Terminal::Failed } else { Terminal::Processed }))
    }

    fn head(&mut self) -> Done<Option<u64>> {
        if self.counts.backlog_len == 0 {
            return Ok(None);
        }
        let head = self.conn.prepare_cached(sql::DOMAIN_HEAD)?.query_row([self.id], |row| row.get(0)).optional()?;
        head.map(Some).ok_or_else(|| Fault::broken("a backlog is shorter than its domain says"))
    }

    fn wait(&mut self, offset: u64, now: Time) -> Done<()> {
        let seq = self.counts.waiting_seq + 1;
        let added = self.conn.prepare_cached(sql::DOMAIN_WAIT)?.execute((self.id, seq, offset, now.0))?;
        if added > 0 {
            self.counts.waiting_seq = seq;
            self.counts.backlog_len += 1;
        }
        Ok(())
    }

    fn leave(&mut self, offset: u64) -> Done<()> {
        if self.counts.backlog_len > 0 {
            let left = self.conn.prepare_cached(sql::DOMAIN_LEAVE)?.execute((self.id, offset))?;
            self.counts.backlog_len -= left as u64;
        }
        Ok(())
    }

    fn end(&mut self, offset: u64, how: Terminal) -> Done<()> {
        self.end_at(offset)?;
        match how {
            Terminal::Processed => Ok(()),
            Terminal::Failed => self.fail_at(offset),
        }
    }

    fn tell(&mut self, event: Event) -> Done<()> {
        let token = event.token.map(|token| token.0);
        if event.what == What::Refused {
            let verb = event.verb.map(Verb::as_str);
            let mut refused = self.conn.prepare_cached(sql::DOMAIN_REFUSED)?;
            let code = event.refused;
            let params = (self.id, code, event.at.0, verb, token.unwrap_or(0));
            let count: i64 = refused.query_row(params, |row| row.get(0))?;
            if count == 1 {
                self.conn.prepare_cached(sql::DOMAIN_REFUSALS_TRIM)?.execute((self.id, REFUSALS_KEPT as i64))?;
            }
            return Ok(());
        }
        self.counts.event_seq += 1;
        let seq = self.counts.event_seq;
        self.conn.prepare_cached(sql::DOMAIN_EVENT)?.execute(params![
            self.id,
            seq,
            event.at.0,
            event.what.as_str(),
            event.offset,
            token,
            event.holder.as_deref(),
            event.nth,
            event.by.as_deref(),
        ])?;
        if let Some(last) = seq.checked_sub(EVENTS_KEPT as u64).filter(|last| *last > 0) {
            self.conn.prepare_cached(sql::DOMAIN_FORGET_EVENTS)?.execute((self.id, last))?;
        }
        Ok(())
    }
}
