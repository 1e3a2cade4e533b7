//! Judges operators: settings, limits, cancels, retries, and what is no longer kept (L9, L11, I19).

use super::{Due, Ledger, Met, State, Wrong};
use tenure_core::Time;
use tenure_core::queue::{Action, LaneOnFailure, Refusal, Settings, Status};

impl Ledger {
    /// A queue's settings, as the store answered them.
    pub(in super::super) fn changed(&mut self, queue: &str, settings: Settings) {
        self.settings.insert(queue.to_owned(), settings);
        if settings.lane_on_failure == LaneOnFailure::Continue {
            self.blocked.retain(|(of, _), _| of != queue);
        }
    }

    pub(in super::super) fn limited(&mut self, max_running: Option<u32>) {
        self.engine_max = max_running;
    }

    /// The answer to an operator's action; `None` is an id that was never drawn.
    pub(in super::super) fn operated(
        &mut self,
        unit: Option<usize>,
        action: &Action,
        answer: Result<Status, Refusal>,
        now: Time,
    ) -> Result<(), Wrong> {
        let on_record = unit.filter(|unit| !self.units[*unit].gone);
        let state = on_record.map(|unit| self.units[unit].state);
        let expected = match (state, action) {
            (None, _) => Err(Refusal::Absent),
            (Some(State::Over(_)), Action::Cancel { .. }) => Err(Refusal::Terminal),
            (Some(State::Over(_)), Action::Retry) => Ok(Status::Queued),
            (Some(_), Action::Retry) => Err(Refusal::NotTerminal),
            (Some(State::Claimed), Action::Cancel { force: false, .. }) => Ok(Status::Running),
            (Some(_), Action::Cancel { .. }) => Ok(Status::Failed),
        };
        if answer != expected {
            let rule = if *action == Action::Retry { "L9" } else { "L11" };
            return Err(format!("{rule}: {action:?} of {state:?} is {answer:?}, expected {expected:?}"));
        }
        match (on_record, answer) {
            (Some(index), Ok(Status::Queued)) => {
                let unit = &mut self.units[index];
                unit.state = State::Waiting;
                unit.due = Due::At(now);
                unit.finished_at = None;
                self.held.recount(&index);
                self.blocked.retain(|_, blocker| *blocker != index);
                self.met(Met::RetriedByOperator);
            }
            (Some(index), Ok(Status::Running)) => self.units[index].cancel_asked = true,
            (Some(index), Ok(_)) => {
                self.end(index, Status::Failed, true, now);
                let forced = state == Some(State::Claimed);
                self.met(if forced { Met::CancelledByForce } else { Met::CancelledWaiting });
            }
            (_, Err(_)) => self.met(Met::ActionRefused),
            (None, Ok(_)) => {}
        }
        Ok(())
    }

    /// Pruning went on until nothing was left to remove: it removed exactly what is past its retention.
    pub(in super::super) fn pruned(&mut self, jobs: u32, now: Time) -> Result<(), Wrong> {
        let past = |index: &usize| {
            let unit = &self.units[*index];
            let retention_ms = self.settings(&unit.queue).retention_ms;
            let kept = unit.gone || self.blocked.values().any(|blocker| blocker == index);
            !kept && unit.finished_at.is_some_and(|at| at.plus_ms(retention_ms) <= now)
        };
        let removed: Vec<usize> = (0..self.units.len()).filter(past).collect();
        if jobs as usize != removed.len() {
            return Err(format!("I19: {jobs} jobs were removed, expected {removed:?}"));
        }
        for index in removed {
            self.units[index].gone = true;
            self.met(Met::Pruned);
        }
        self.forget_keys(now);
        Ok(())
    }
}
