//! How a running job leaves its lease: to history, or back to where it waits; and what is written down about it.

use super::lease::Grant;
use super::moves::Moves;
use super::row::Held;
use super::shelf::Shelf;
use super::{Place, prune};
use crate::fault::{Done, Fault};
use crate::inbox::Step;
use crate::sql;
use rusqlite::{CachedStatement, params};
use tenure_core::Actor;
use tenure_core::bounds::RECEIPT_MS;
use tenure_core::queue::rules::Settled;
use tenure_core::queue::{Event, JobId, LaneOnFailure, Reason, Status, Verb};

/// One ending, as core has settled it.
pub(super) struct Ending<'a> {
    pub(super) id: JobId,
    pub(super) grant: &'a Grant,
    /// What was known of the job before.
    pub(super) held: &'a Held,
    pub(super) settled: Settled,
    /// The holder's verb; `None` when the lease ran out, or an operator ended it.
    pub(super) verb: Option<Verb>,
    pub(super) error: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    /// The operator who ended it.
    pub(super) by: Option<&'a Actor>,
}

/// The statements of endings, prepared once for many.
pub(super) struct Ender<'a> {
    step: &'a Step<'a>,
    finish: CachedStatement<'a>,
    leave: CachedStatement<'a>,
    put_back: CachedStatement<'a>,
    moves: Moves,
}

impl<'a> Ender<'a> {
    pub(super) fn new(step: &'a Step<'a>) -> Done<Ender<'a>> {
        Ok(Ender {
            step,
            finish: step.conn.prepare_cached(sql::FINISH)?,
            leave: step.conn.prepare_cached(sql::LEAVE)?,
            put_back: step.conn.prepare_cached(sql::PUT_BACK)?,
            moves: Moves::default(),
        })
    }

    /// Moves a running job out of its lease. The lease itself is the caller's to shrink, and once all is ended the
    /// caller [settles](Ender::settle) it.
    pub(super) fn end(&mut self, ending: &Ending<'_>) -> Done<()> {
        if ending.held.crowded {
            self.evict(ending.id)?;
        }
        let changed = if ending.settled.status.terminal() { self.finish(ending)? } else { self.put_back(ending)? };
        if changed != 1 {
            return Err(Fault::broken(format!("job {} left its lease while it was being ended", ending.id)));
        }
        self.moves.halted(&ending.grant.queue, &ending.held.keys);
        let Ending { id, grant, held, settled, error, by, .. } = ending;
        for event in settled.events(*id, &grant.lease, held.was.attempt, *error, self.step.now) {
            let by = by.map(|by| by.as_str().to_owned());
            record(self.step, &Event { by, ..event })?;
        }
        Ok(())
    }

    /// Brings what waits in line with what was ended.
    pub(super) fn settle(&mut self) -> Done<()> {
        std::mem::take(&mut self.moves).settle(self.step)
    }

    /// The first ended claim of a job makes room for the next.
    fn evict(&self, id: JobId) -> Done<()> {
        let hour_ago = prune::before(self.step.now, RECEIPT_MS).0;
        self.step.conn.prepare_cached(sql::EVICT_RECEIPT)?.execute((id.0, hour_ago))?;
        self.step.conn.prepare_cached(sql::EVICT)?.execute([id.0])?;
        Ok(())
    }

    fn finish(&mut self, ending: &Ending<'_>) -> Done<usize> {
        let Ending { id, grant, settled, .. } = ending;
        let changed = self.finish.execute(params![
            id.0,
            grant.lease.token.0,
            settled.status.as_str(),
            settled.reason.map(|reason| reason.as_str()),
            grant.lease.owner,
            grant.lease.granted_at.0,
            self.step.now.0,
            settled.outcome.as_str(),
            ending.verb.map(Verb::as_str),
            grant.lease.pulse.beats,
            grant.lease.pulse.last_beat_at.map(|at| at.0),
            grant.lease.pulse.longest_gap_ms,
            ending.error,
            ending.result,
        ])?;
        self.leave.execute([id.0])?;
        self.moves.ended(&grant.queue, *id);
        let failed = settled.status == Status::Failed && settled.reason != Some(Reason::Cancelled);
        if let Some(lane) = ending.held.keys.ordering.as_ref().filter(|_| failed)
            && Shelf::find(self.step.conn, &grant.queue)?
                .is_some_and(|shelf| shelf.settings.lane_on_failure == LaneOnFailure::Block)
        {
            self.step.conn.prepare_cached(sql::LANE_BLOCK)?.execute((&grant.queue, lane, id.0))?;
        }
        Ok(changed)
    }

    fn put_back(&mut self, ending: &Ending<'_>) -> Done<usize> {
        let Ending { id, grant, settled, .. } = ending;
        self.step.ring(&grant.queue);
        Ok(self.put_back.execute(params![
            id.0,
            grant.lease.token.0,
            Place::waiting(&ending.held.keys, settled.run_at, self.step.now) as i64,
            settled.attempt,
            settled.run_at.0,
            ending.error,
            grant.lease.owner,
            grant.lease.granted_at.0,
            self.step.now.0,
            settled.outcome.as_str(),
            ending.verb.map(Verb::as_str),
            grant.lease.pulse.beats,
            grant.lease.pulse.last_beat_at.map(|at| at.0),
            grant.lease.pulse.longest_gap_ms,
        ])?)
    }
}

/// Writes an event down.
pub(super) fn record(step: &Step<'_>, event: &Event) -> Done<()> {
    step.conn.prepare_cached(sql::EVENT)?.execute(params![
        event.at.0,
        event.job.0,
        event.what.as_str(),
        event.token.map(|token| token.0),
        event.owner,
        event.attempt,
        event.reason.map(|reason| reason.as_str()),
        event.until.map(|until| until.0),
        event.error,
        event.by,
    ])?;
    Ok(())
}
