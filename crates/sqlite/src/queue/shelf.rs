//! The row of one queue: how it behaves, what runs in it, and what is spent of its rate.

use crate::column;
use crate::fault::Done;
use crate::sql;
use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::Time;
use tenure_core::queue::{LaneOnFailure, Rate, Settings};

/// A queue as it stands.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) created_at: Time,
    pub(super) running: u64,
    pub(super) settings: Settings,
    pub(super) spent: Window,
}

impl Shelf {
    /// The queue `name`, if it was ever used.
    pub(super) fn find(conn: &Connection, name: &str) -> Done<Option<Shelf>> {
        Ok(conn.prepare_cached(sql::SETTINGS)?.query_row([name], Shelf::read).optional()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Shelf> {
        let rate = |at| -> rusqlite::Result<Option<Rate>> {
            let Some(max) = row.get(at)? else { return Ok(None) };
            Ok(Some(Rate { max, period_ms: row.get(at + 1)? }))
        };
        Ok(Shelf {
            created_at: column::time(row, 0)?,
            running: row.get(1)?,
            settings: Settings {
                paused: row.get(2)?,
                max_running: row.get(3)?,
                max_running_per_key: row.get(4)?,
                lane_on_failure: column::word(row, 5, LaneOnFailure::parse)?,
                retention_ms: row.get(6)?,
                rate_limit: rate(7)?,
                rate_limit_per_key: rate(9)?,
            },
            spent: Window::read(row, 11)?,
        })
    }

    /// Jobs that may still be claimed before the queue's own limit is reached.
    pub(super) fn slots(&self) -> u64 {
        free(self.settings.max_running, self.running)
    }
}

/// What is left of a limit; without one, more than anybody asks for.
pub(super) fn free(max: Option<u32>, running: u64) -> u64 {
    max.map_or(u64::MAX, |max| u64::from(max).saturating_sub(running))
}

/// Claims counted in one period of a rate. Periods are aligned to the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) period: i64,
    pub(super) claims: u32,
}

impl Window {
    /// In two columns from `at` on.
    pub(super) fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Window> {
        Ok(Window { period: row.get(at)?, claims: row.get(at + 1)? })
    }

    /// Claims that are left in the period of `now`.
    pub(super) fn left(&self, rate: Option<Rate>, now: Time) -> u64 {
        let Some(rate) = rate else { return u64::MAX };
        let spent = if self.period == rate.period(now) { self.claims } else { 0 };
        u64::from(rate.max.saturating_sub(spent))
    }

    /// When the period of `now` is over, if nothing is left in it.
    pub(super) fn spent_until(&self, rate: Option<Rate>, now: Time) -> Option<Time> {
        rate.filter(|_| self.left(rate, now) == 0).map(|rate| rate.period_end(now))
    }

    /// With so many claims more. Without a rate nothing is counted.
    #[must_use]
    pub(super) fn plus(self, claims: u32, rate: Option<Rate>, now: Time) -> Window {
        let Some(rate) = rate else { return self };
        let period = rate.period(now);
        let before = if self.period == period { self.claims } else { 0 };
        Window { period, claims: before.saturating_add(claims) }
    }
}
