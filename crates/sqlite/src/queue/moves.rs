//! What the verbs do to the jobs that wait, and to the counters of those that run.
//!
//! Always true once an operation is settled:
//! - `queue.running` and `tenant.running` count the jobs that run (Q8);
//! - of a lane at most one job is anywhere but behind: the one that runs, or, unless the lane has stopped, the one with
//!   the smallest id (Q9);
//! - of a tenant and kind at most one due job is ready: the first in the order of claims, and none while the tenant is
//!   at its limit; the others are parked (Q8).
//!
//! A verb says what it moved; [`Moves::settle`] brings each lane, tenant and queue in line once, however many of its
//! jobs were moved. A plain job costs nothing here but its queue's counter, written once for a whole batch.

use super::shelf::{Shelf, free};
use super::{Keys, Place, prune};
use crate::column;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::OptionalExtension;
use std::collections::BTreeMap;
use tenure_core::queue::JobId;

/// What one operation has moved, by queue.
#[derive(Debug, Default)]
pub(super) struct Moves(BTreeMap<String, InQueue>);

#[derive(Debug, Default)]
struct InQueue {
    /// Jobs that run no more.
    halted: u32,
    /// Jobs that ended.
    ended: Vec<JobId>,
    /// Tenants to look at, each with how many of its jobs run no more.
    tenants: BTreeMap<String, u32>,
    /// Lanes to look at.
    lanes: Vec<String>,
}

impl Moves {
    /// A running job runs no more.
    pub(super) fn halted(&mut self, queue: &str, keys: &Keys) {
        self.of(queue).halted += 1;
        self.keys_halted(queue, keys);
    }

    /// A running job of this lane and tenant runs no more; its queue is told by [`Moves::completed`].
    pub(super) fn keys_halted(&mut self, queue: &str, keys: &Keys) {
        if *keys == Keys::default() {
            return;
        }
        let moved = self.of(queue);
        if let Some(key) = &keys.limit {
            *moved.tenants.entry(key.clone()).or_default() += 1;
        }
        moved.lanes.extend(keys.ordering.clone());
    }

    /// Jobs run no more, and have ended.
    pub(super) fn completed(&mut self, queue: &str, jobs: &[JobId]) {
        let moved = self.of(queue);
        moved.halted += u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        moved.ended.extend(jobs);
    }

    /// A waiting job came, went or changed its place.
    pub(super) fn moved(&mut self, queue: &str, keys: &Keys) {
        if *keys == Keys::default() {
            return;
        }
        let moved = self.of(queue);
        moved.lanes.extend(keys.ordering.clone());
        if let Some(key) = &keys.limit {
            moved.tenants.entry(key.clone()).or_default();
        }
    }

    /// A job has ended, and is kept no longer than its queue says.
    pub(super) fn ended(&mut self, queue: &str, id: JobId) {
        self.of(queue).ended.push(id);
    }

    fn of(&mut self, queue: &str) -> &mut InQueue {
        // Most operations are about one queue, and its name is not worth a copy for each job.
        if !self.0.contains_key(queue) {
            self.0.insert(queue.to_owned(), InQueue::default());
        }
        self.0.get_mut(queue).expect("it was just put there")
    }

    /// Brings everything in line.
    pub(super) fn settle(self, step: &Step<'_>) -> Done<()> {
        for (queue, mut moved) in self.0 {
            moved.lanes.sort_unstable();
            moved.lanes.dedup();
            for lane in std::mem::take(&mut moved.lanes) {
                for tenant in next_turn(step, &queue, &lane)? {
                    moved.tenants.entry(tenant).or_default();
                }
            }
            if !moved.tenants.is_empty() {
                let shelf = Shelf::find(step.conn, &queue)?;
                let max = shelf.and_then(|shelf| shelf.settings.max_running_per_key);
                for (key, halted) in &moved.tenants {
                    let running = halt_tenant(step, &queue, key, *halted)?;
                    show(step, &queue, key, free(max, running) == 0)?;
                }
            }
            halt(step, &queue, moved.halted, &moved.ended)?;
        }
        Ok(())
    }
}

/// Counts jobs of a queue that run no more; those that ended go at once, where nothing is kept.
fn halt(step: &Step<'_>, queue: &str, halted: u32, ended: &[JobId]) -> Done<()> {
    if halted == 0 && ended.is_empty() {
        return Ok(());
    }
    let mut halt = step.conn.prepare_cached(sql::HALT)?;
    let (limited, engine_limited, kept): (bool, bool, bool) =
        halt.query_row((queue, halted), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    drop(halt);
    if halted > 0 && engine_limited {
        step.ring_all();
    } else if halted > 0 && limited {
        step.ring(queue);
    }
    if kept { Ok(()) } else { prune::unless_blocking(step, ended) }
}

/// Counts jobs of a tenant that run no more; how many still run.
fn halt_tenant(step: &Step<'_>, queue: &str, key: &str, halted: u32) -> Done<u64> {
    if halted == 0 {
        let mut tenant = step.conn.prepare_cached(sql::TENANT)?;
        return Ok(tenant.query_row((queue, key), |row| row.get(0)).optional()?.unwrap_or(0));
    }
    let mut halt = step.conn.prepare_cached(sql::TENANT_HALT)?;
    let running = halt.query_row((queue, key, halted), |row| row.get(0)).optional()?;
    let running = running.ok_or_else(|| Fault::broken(format!("the tenant {key:?} of {queue} was not counted")))?;
    if running == 0 {
        step.conn.prepare_cached(sql::TENANT_DROP)?.execute((queue, key))?;
    }
    Ok(running)
}

/// Lets the first job of each kind of a tenant stand ready, or none while the tenant is full.
pub(super) fn show(step: &Step<'_>, queue: &str, key: &str, full: bool) -> Done<()> {
    if full {
        step.conn.prepare_cached(sql::PARK_ALL)?.execute((queue, key))?;
        return Ok(());
    }
    step.conn.prepare_cached(sql::PARK_OUTRANKED)?.execute((queue, key))?;
    if step.conn.prepare_cached(sql::SHOW)?.execute((queue, key))? > 0 {
        step.ring(queue);
    }
    Ok(())
}

/// Lets the job whose turn it is in a lane stand where it may be claimed, and the one whose turn it was step back. The
/// tenants of both are to be looked at.
pub(super) fn next_turn(step: &Step<'_>, queue: &str, lane: &str) -> Done<Vec<String>> {
    let mut head = step.conn.prepare_cached(sql::LANE_HEAD)?;
    let head = head.query_row((queue, lane), |row| {
        let (id, place, run_at): (i64, i64, _) = (row.get(0)?, row.get(1)?, column::time(row, 2)?);
        Ok((id, place, run_at, row.get::<_, Option<String>>(3)?, row.get::<_, bool>(4)?))
    });
    let Some((id, place, run_at, tenant, stopped)) = head.optional()? else { return Ok(Vec::new()) };
    if stopped || place != Place::Behind as i64 {
        return Ok(Vec::new());
    }
    let mut turn = step.conn.prepare_cached(sql::LANE_TURN)?;
    let turn = turn.query_row((queue, lane), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<String>>(2)?))
    });
    let mut tenants = Vec::new();
    let mut move_to = step.conn.prepare_cached(sql::PLACE)?;
    match turn.optional()? {
        Some((_, place, _)) if place == Place::Running as i64 => return Ok(Vec::new()),
        // An operator has put an older one back.
        Some((before, _, tenant)) => {
            move_to.execute((before, Place::Behind as i64))?;
            tenants.extend(tenant);
        }
        None => {}
    }
    move_to.execute((id, Place::in_turn(tenant.is_some(), run_at, step.now) as i64))?;
    tenants.extend(tenant);
    step.ring(queue);
    Ok(tenants)
}
