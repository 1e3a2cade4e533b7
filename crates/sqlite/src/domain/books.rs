//! The books of a domain in tables: each question is one step down one index, and most are answered by the row.

use super::row::{Counts, Ranges};
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

impl Tables<'_> {
    /// The range beside the one that grew last which begins at or before `offset`.
    fn below(&self, failed: bool, offset: u64) -> Done<Option<(u64, u64)>> {
        let mut below = self.conn.prepare_cached(sql::DOMAIN_RANGE_BELOW)?;
        Ok(below.query_row((self.id, failed, offset), |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Whether `ranges` hold `offset`.
    fn hold(&self, ranges: Ranges, failed: bool, offset: u64) -> Done<bool> {
        let last = ranges.last.is_some_and(|(from, to)| (from..=to).contains(&offset));
        Ok(last || ranges.others > 0 && self.below(failed, offset)?.is_some_and(|(_, to)| to >= offset))
    }

    /// Takes the range out that begins at `from`; where it ended.
    fn take(&self, failed: bool, from: u64) -> Done<Option<u64>> {
        if from > OFFSET_MAX {
            return Ok(None);
        }
        let mut take = self.conn.prepare_cached(sql::DOMAIN_RANGE_TAKE)?;
        let mut rows = take.query((self.id, failed, from))?;
        let to = rows.next()?.map(|row| row.get(0)).transpose()?;
        // A statement that returns rows is done only when it has returned them all.
        while rows.next()?.is_some() {}
        Ok(to)
    }

    /// `ranges` with `offset`. The rules have looked: they did not hold it. Those that touch become one.
    fn grown(&self, ranges: Ranges, failed: bool, offset: u64) -> Done<Ranges> {
        let (beside, mut others) = (ranges.others > 0, ranges.others);
        let (mut from, mut to) = (offset, offset);
        match ranges.last {
            Some((last_from, last_to)) if last_to + 1 == offset => from = last_from,
            Some((last_from, last_to)) if offset + 1 == last_from => to = last_to,
            Some((last_from, last_to)) => {
                let mut put = self.conn.prepare_cached(sql::DOMAIN_RANGE_PUT)?;
                put.execute((self.id, failed, last_from, last_to))?;
                others += 1;
            }
            None => {}
        }
        if beside
            && from == offset
            && let Some((below_from, below_to)) = self.below(failed, offset)?
            && below_to + 1 == offset
        {
            self.take(failed, below_from)?;
            others -= 1;
            from = below_from;
        }
        if beside
            && to == offset
            && let Some(above_to) = self.take(failed, offset + 1)?
        {
            others -= 1;
            to = above_to;
        }
        Ok(Ranges { last: Some((from, to)), others })
    }
}

impl Books for Tables<'_> {
    type Error = Fault;

    fn terminal(&mut self, offset: u64) -> Done<Option<Terminal>> {
        if !self.hold(self.counts.ended, false, offset)? {
            return Ok(None);
        }
        let failed = self.hold(self.counts.failed, true, offset)?;
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
        self.counts.ended = self.grown(self.counts.ended, false, offset)?;
        if how == Terminal::Failed {
            self.counts.failed = self.grown(self.counts.failed, true, offset)?;
        }
        Ok(())
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
