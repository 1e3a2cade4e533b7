//! What an operator does to single jobs: cancel them, or put them back (L9, L11).

use super::ending::{Ender, Ending, record};
use super::lease::Grant;
use super::moves::Moves;
use super::{Keys, Place};
use crate::column;
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::OptionalExtension;
use tenure_core::queue::rules;
use tenure_core::queue::{Action, Event, JobId, Operation, Reason, Refusal, Status, What};
use tenure_core::{Actor, Token};

/// Carries out actions, each answered on its own, in this order.
pub(crate) fn operate(step: &Step<'_>, operations: &[Operation], by: &Actor) -> Done<Vec<Result<Status, Refusal>>> {
    operations.iter().map(|operation| one(step, operation, by)).collect()
}

/// A job that has not ended.
struct Unfinished {
    id: JobId,
    queue: String,
    running: bool,
    token: Option<Token>,
    keys: Keys,
}

fn one(step: &Step<'_>, operation: &Operation, by: &Actor) -> Done<Result<Status, Refusal>> {
    let id = operation.job;
    let mut select = step.conn.prepare_cached(sql::UNFINISHED)?;
    let unfinished = select.query_row([id.0], |row| {
        Ok(Unfinished {
            id,
            queue: row.get(0)?,
            running: row.get::<_, i64>(1)? == Place::Running as i64,
            token: column::token_opt(row, 2)?,
            keys: Keys { ordering: row.get(3)?, limit: row.get(4)? },
        })
    });
    let unfinished = unfinished.optional()?;
    match (&operation.action, unfinished) {
        (Action::Cancel { reason, force }, Some(job)) => cancel(step, &job, reason.as_deref(), *force, by).map(Ok),
        (Action::Retry, Some(_)) => Ok(Err(Refusal::NotTerminal)),
        (Action::Cancel { .. }, None) => {
            let ended: bool = step.conn.prepare_cached(sql::IS_FINISHED)?.query_row([id.0], |row| row.get(0))?;
            Ok(Err(if ended { Refusal::Terminal } else { Refusal::Absent }))
        }
        (Action::Retry, None) => retry(step, id, by),
    }
}

fn cancel(step: &Step<'_>, job: &Unfinished, reason: Option<&str>, force: bool, by: &Actor) -> Done<Status> {
    match (job.running, force) {
        (false, _) => cancel_waiting(step, job, reason, by),
        (true, false) => ask_to_stop(step, job, reason, by),
        (true, true) => end_now(step, job, reason, by),
    }
}

fn cancel_waiting(step: &Step<'_>, job: &Unfinished, reason: Option<&str>, by: &Actor) -> Done<Status> {
    if step.conn.prepare_cached(sql::CANCEL)?.execute((job.id.0, step.now.0))? != 1 {
        return Err(Fault::broken(format!("job {} moved while it was being cancelled", job.id)));
    }
    step.conn.prepare_cached(sql::LEAVE)?.execute([job.id.0])?;
    let event = Event::new(step.now, job.id, What::Cancelled).acted(by).error(reason);
    record(step, &Event { reason: Some(Reason::Cancelled), ..event })?;
    let mut moves = Moves::default();
    moves.moved(&job.queue, &job.keys);
    moves.ended(&job.queue, job.id);
    moves.settle(step)?;
    Ok(Status::Failed)
}

/// The holder hears of it with its next heartbeat.
fn ask_to_stop(step: &Step<'_>, job: &Unfinished, reason: Option<&str>, by: &Actor) -> Done<Status> {
    let grant = lease_of(step, job)?;
    step.conn.prepare_cached(sql::CANCEL_REQUESTED)?.execute([job.id.0])?;
    step.conn.prepare_cached(sql::LEASE_CANCELS)?.execute([grant.lease.token.0])?;
    let event = Event::new(step.now, job.id, What::CancelRequested).by(&grant.lease.owner, grant.lease.token);
    record(step, &event.acted(by).error(reason))?;
    Ok(Status::Running)
}

/// Ends a running job, whatever its holder does.
fn end_now(step: &Step<'_>, job: &Unfinished, reason: Option<&str>, by: &Actor) -> Done<Status> {
    let mut grant = lease_of(step, job)?;
    let gone = || Fault::broken(format!("job {} left its lease while it was being cancelled", job.id));
    let held = grant.unit(step.conn, job.id)?.ok_or_else(gone)?;
    let settled = rules::force_cancel(held.was);
    let mut ender = Ender::new(step)?;
    let (error, by) = (reason, Some(by));
    ender.end(&Ending { id: job.id, grant: &grant, held: &held, settled, verb: None, error, result: None, by })?;
    grant.left = grant.left.saturating_sub(1);
    grant.write_left(step.conn)?;
    ender.settle()?;
    Ok(settled.status)
}

fn lease_of(step: &Step<'_>, job: &Unfinished) -> Done<Grant> {
    let grant = job.token.map(|token| Grant::find(step.conn, token)).transpose()?.flatten();
    grant.ok_or_else(|| Fault::broken(format!("job {} runs under no lease", job.id)))
}

fn retry(step: &Step<'_>, id: JobId, by: &Actor) -> Done<Result<Status, Refusal>> {
    let mut retry = step.conn.prepare_cached(sql::RETRY)?;
    let back = retry.query_row((id.0, step.now.0), |row| {
        Ok((row.get::<_, String>(0)?, Keys { ordering: row.get(1)?, limit: row.get(2)? }))
    });
    let Some((queue, keys)) = back.optional()? else { return Ok(Err(Refusal::Absent)) };
    step.conn.prepare_cached(sql::LEAVE_HISTORY)?.execute([id.0])?;
    if let Some(lane) = &keys.ordering {
        step.conn.prepare_cached(sql::LANE_FREE)?.execute((&queue, lane, id.0))?;
    }
    record(step, &Event::new(step.now, id, What::RetriedByOperator).acted(by))?;
    let mut moves = Moves::default();
    moves.moved(&queue, &keys);
    moves.settle(step)?;
    step.ring(&queue);
    Ok(Ok(Status::Queued))
}
