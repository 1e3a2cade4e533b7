//! What an operator sets: how a queue behaves, and the limit of the engine. Binds claims that begin after it (Q8).

use super::moves::{Moves, show};
use super::shelf::{Shelf, free};
use super::{Keys, read};
use crate::changes;
use crate::column::all;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::params;
use tenure_core::Actor;
use tenure_core::changes::{Difference, Face, Subject};
use tenure_core::queue::{Change, LaneOnFailure, QueueInfo, Settings};

/// Changes a queue's settings; a queue that is not there yet is created.
pub(crate) fn change(step: &Step<'_>, name: &str, change: &Change, by: &Actor) -> Done<QueueInfo> {
    step.conn.prepare_cached(sql::CREATE_QUEUE)?.execute((name, step.now.0))?;
    let absent = || Fault::broken(format!("the queue {name} is not there after it was created"));
    let before = Shelf::find(step.conn, name)?.ok_or_else(absent)?.settings;
    let settings = before.changed(change);
    step.conn.prepare_cached(sql::CHANGE)?.execute(params![
        name,
        settings.paused,
        settings.max_running,
        settings.max_running_per_key,
        settings.lane_on_failure.as_str(),
        settings.retention_ms,
        settings.rate_limit.map(|rate| rate.max),
        settings.rate_limit.map(|rate| rate.period_ms),
        settings.rate_limit_per_key.map(|rate| rate.max),
        settings.rate_limit_per_key.map(|rate| rate.period_ms),
    ])?;
    changes::changed(step, &Subject::new(Face::Queue, name), by, before.differences(&settings))?;
    show_tenants(step, name, before, settings)?;
    if settings.lane_on_failure == LaneOnFailure::Continue {
        free_lanes(step, name)?;
    }
    step.ring(name);
    read::queue(step, name)?.ok_or_else(absent)
}

/// Opens or closes the tenants that stand between the two limits: no more than have something running, whatever waits.
fn show_tenants(step: &Step<'_>, queue: &str, before: Settings, now: Settings) -> Done<()> {
    let (before, now) = (before.max_running_per_key, now.max_running_per_key);
    if before == now {
        return Ok(());
    }
    let between = (queue, before.unwrap_or(0), now.unwrap_or(0));
    for (key, running) in all(step.conn, sql::TENANTS_MOVED, between, |row| Ok((row.get(0)?, row.get(1)?)))? {
        show(step, queue, String::as_str(&key), free(now, running) == 0)?;
    }
    Ok(())
}

/// Lanes that had stopped go on.
fn free_lanes(step: &Step<'_>, queue: &str) -> Done<()> {
    let mut moves = Moves::default();
    for lane in all(step.conn, sql::LANES_FREE, [queue], |row| row.get(0))? {
        moves.moved(queue, &Keys { ordering: Some(lane), limit: None });
    }
    moves.settle(step)
}

/// The limit of the engine.
pub(crate) fn limit(step: &Step<'_>) -> Done<Option<u32>> {
    Ok(step.conn.prepare_cached(sql::LIMIT)?.query_row([], |row| row.get(0))?)
}

/// Sets it.
pub(crate) fn set_limit(step: &Step<'_>, max_running: Option<u32>, by: &Actor) -> Done<()> {
    changes::changed(step, &Subject::store(), by, Difference::limit(limit(step)?, max_running))?;
    step.conn.prepare_cached(sql::SET_LIMIT)?.execute([max_running])?;
    step.ring_all();
    Ok(())
}
