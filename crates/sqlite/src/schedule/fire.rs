//! Slots that are due become jobs, once (T1).

use super::put::draw_revision;
use super::read;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::{queue, sql};
use rusqlite::params;
use tenure_core::queue::{JobId, NewJob};
use tenure_core::schedule::{Fire, Fired, Refused, rules};

/// Deals with slots that are due, unless another has since they were looked at.
pub(super) fn fire(step: &Step<'_>, fire: &Fire) -> Done<Result<Fired, Refused>> {
    let Some(schedule) = read::schedule(step, &fire.name)? else { return Ok(Err(Refused::Absent)) };
    let standing =
        rules::Standing { revision: schedule.revision, paused: schedule.definition.paused, next_at: schedule.next_at };
    if let Err(refused) = rules::judge(standing, fire, step.now) {
        return Ok(Err(refused));
    }
    let template = &schedule.definition.job;
    let new: Vec<NewJob> = fire.slots.iter().map(|slot| template.clone().run_at(*slot)).collect();
    let jobs: Vec<JobId> = if new.is_empty() {
        Vec::new()
    } else {
        let enqueued = queue::enqueue::enqueue(step, &new)?;
        let enqueued = enqueued.map_err(|_| Fault::broken("a job without a key met a conflict"))?;
        enqueued.iter().map(|job| job.id).collect()
    };
    for (slot, job) in fire.slots.iter().zip(&jobs) {
        step.conn.prepare_cached(sql::SCHEDULE_FIRING)?.execute((&fire.name, slot.0, step.now.0, job.0))?;
    }
    let moved = step.conn.prepare_cached(sql::SCHEDULE_FIRE)?.execute(params![
        fire.name,
        fire.revision,
        draw_revision(step)?,
        fire.next_at.map(|at| at.0),
        jobs.len(),
        fire.missed,
        fire.missed_at.map(|at| at.0),
        fire.slots.last().map(|slot| slot.0),
        step.now.0,
        jobs.last().map(|job| job.0),
    ])?;
    if moved != 1 {
        return Err(Fault::broken(format!("the schedule {} moved while it was being fired", fire.name)));
    }
    step.conn.prepare_cached(sql::SCHEDULE_TRIM)?.execute((&fire.name, rules::FIRINGS_KEPT))?;
    Ok(Ok(Fired { at: step.now, jobs }))
}
