//! The row of one lease: the one thing a heartbeat writes.

use super::row::{self, Held};
use crate::fault::Done;
use crate::sql;
use rusqlite::{Connection, OptionalExtension};
use tenure_core::bounds::ATTEMPTS_KEPT;
use tenure_core::lease::{Pulse, live};
use tenure_core::queue::JobId;
use tenure_core::{Time, Token};

/// A lease as it stands.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) token: Token,
    pub(super) owner: String,
    pub(super) queue: String,
    /// Jobs it was granted over.
    pub(super) units: u32,
    /// How many of them were started.
    pub(super) started: u32,
    /// How many of them still run.
    pub(super) left: u32,
    /// How many of them were ended since it was read; not a column.
    pub(super) ended: u32,
    pub(super) lease_ms: u64,
    pub(super) granted_at: Time,
    pub(super) expires_at: Time,
    /// No heartbeat moves the expiry beyond.
    pub(super) ends_at: Option<Time>,
    /// Some of its jobs have a lane or a tenant.
    pub(super) keyed: bool,
    /// An operator asked to cancel some of its jobs.
    pub(super) cancels: bool,
    pub(super) pulse: Pulse,
}

impl Lease {
    /// The lease of `token`, unless it is gone.
    pub(super) fn find(conn: &Connection, token: Token) -> Done<Option<Lease>> {
        let found = conn.prepare_cached(sql::LEASE)?.query_row([token.0], |row| {
            Ok(Lease {
                token,
                owner: row.get(0)?,
                queue: row.get(1)?,
                units: row.get(2)?,
                started: row.get(3)?,
                left: row.get(4)?,
                ended: 0,
                lease_ms: row.get(5)?,
                granted_at: row::time(row, 6)?,
                expires_at: row::time(row, 7)?,
                pulse: row::pulse(row, 8)?,
                ends_at: row::time_opt(row, 11)?,
                keyed: row.get(12)?,
                cancels: row.get(13)?,
            })
        });
        Ok(found.optional()?)
    }

    /// A job that still runs under it.
    pub(super) fn unit(&self, conn: &Connection, id: JobId) -> Done<Option<Held>> {
        let mut running = conn.prepare_cached(sql::RUNNING)?;
        Ok(running.query_row((id.0, self.token.0, ATTEMPTS_KEPT), row::held).optional()?)
    }

    /// Whether `owner` holds it at `now` (L1).
    pub(super) fn held_by(&self, owner: &str, now: Time) -> bool {
        self.owner == owner && live(self.expires_at, now)
    }

    /// Writes how many jobs are left; with none, the lease goes.
    pub(super) fn write_left(&self, conn: &Connection) -> Done<()> {
        match self.left {
            0 => conn.prepare_cached(sql::DROP_LEASE)?.execute([self.token.0])?,
            left => conn.prepare_cached(sql::SHRINK_LEASE)?.execute((self.token.0, left))?,
        };
        Ok(())
    }
}
