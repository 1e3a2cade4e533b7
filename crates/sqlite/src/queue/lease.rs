//! The row of one lease: the one thing a heartbeat writes.

use super::row::{self, Held};
use crate::column;
use crate::fault::Done;
use crate::sql;
use rusqlite::{Connection, OptionalExtension};
use tenure_core::bounds::ATTEMPTS_KEPT;
use tenure_core::lease::{Lease, Presented, judge};
use tenure_core::queue::{JobId, Status, Verb};
use tenure_core::{LostReason, Time, Token};
use tenure_store::Fenced;

/// One lease, over one job or several of one queue.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) lease: Lease,
    pub(super) queue: String,
    /// Jobs it was granted over.
    pub(super) units: u32,
    /// How many of them were started.
    pub(super) started: u32,
    /// How many of them still run.
    pub(super) left: u32,
    /// How many of them were ended since it was read; not a column.
    pub(super) ended: u32,
    /// No heartbeat moves the expiry beyond.
    pub(super) ends_at: Option<Time>,
    /// Some of its jobs have a lane or a tenant.
    pub(super) keyed: bool,
    /// An operator asked to cancel some of its jobs.
    pub(super) cancels: bool,
}

impl Grant {
    /// The lease of `token`, unless it is gone.
    pub(super) fn find(conn: &Connection, token: Token) -> Done<Option<Grant>> {
        let found = conn.prepare_cached(sql::LEASE)?.query_row([token.0], |row| {
            Ok(Grant {
                lease: Lease {
                    owner: row.get(0)?,
                    token,
                    granted_at: column::time(row, 6)?,
                    lease_ms: row.get(5)?,
                    expires_at: column::time(row, 7)?,
                    pulse: column::pulse(row, [8, 9, 10])?,
                },
                queue: row.get(1)?,
                units: row.get(2)?,
                started: row.get(3)?,
                left: row.get(4)?,
                ended: 0,
                ends_at: column::time_opt(row, 11)?,
                keyed: row.get(12)?,
                cancels: row.get(13)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Whether it is held by `owner`, whatever is left under it (L1).
    pub(super) fn shared(grant: Option<Grant>, owner: &str, token: Token, now: Time) -> Fenced<Grant> {
        let presented = Presented::<Verb> { owner, token, verb: None };
        let lease = grant.as_ref().map(|grant| &grant.lease);
        judge::<Verb, Status>(presented, None, Some(token), lease, now).or_lost()?;
        grant.ok_or(LostReason::Unknown)
    }

    /// A job that still runs under it.
    pub(super) fn unit(&self, conn: &Connection, id: JobId) -> Done<Option<Held>> {
        let mut running = conn.prepare_cached(sql::RUNNING)?;
        Ok(running.query_row((id.0, self.lease.token.0, ATTEMPTS_KEPT), row::held).optional()?)
    }

    /// Whether `owner` holds it at `now` (L1).
    pub(super) fn held_by(&self, owner: &str, now: Time) -> bool {
        self.lease.owner == owner && self.lease.live(now)
    }

    /// Writes how many jobs are left; with none, the lease goes.
    pub(super) fn write_left(&self, conn: &Connection) -> Done<()> {
        match self.left {
            0 => conn.prepare_cached(sql::DROP_LEASE)?.execute([self.lease.token.0])?,
            left => conn.prepare_cached(sql::SHRINK_LEASE)?.execute((self.lease.token.0, left))?,
        };
        Ok(())
    }
}
