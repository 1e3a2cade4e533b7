//! What an operator does to runs.

use super::super::event::{Event, What};
use super::super::graph::downstream;
use super::super::request::{RunAction, RunRefusal, UnitKey};
use super::super::rules::{Settled, reset};
use super::super::unit::{Reason, RunId, RunStatus, Status, Unit};
use super::Pipelines;
use crate::actor::Actor;
use crate::time::Time;
use std::collections::BTreeSet;

impl Pipelines {
    /// Carries out an operator's action on a run (L9, S6); where the run stands then.
    pub fn operate(&mut self, id: RunId, action: &RunAction, by: &Actor, now: Time) -> Result<RunStatus, RunRefusal> {
        let row = self.runs.get(&id).ok_or(RunRefusal::Absent)?;
        let terminal = row.run.status.terminal();
        match action {
            RunAction::Cancel { .. } | RunAction::Pause | RunAction::Resume if terminal => {
                return Err(RunRefusal::Terminal);
            }
            RunAction::Retry | RunAction::RetryFrom { .. } | RunAction::Repair { .. } if !terminal => {
                return Err(RunRefusal::NotTerminal);
            }
            RunAction::Cancel { reason } => self.cancel(id, reason.as_deref(), by, now),
            RunAction::Pause => self.pause(id, true, by, now),
            RunAction::Resume => self.pause(id, false, by, now),
            RunAction::Retry => self.retry(id, by, now)?,
            RunAction::RetryFrom { stage } => self.retry_from(id, stage, by, now)?,
            RunAction::Repair { units } => self.repair(id, units, by, now)?,
        }
        Ok(self.runs[&id].run.status)
    }

    fn tell(&mut self, event: Event) {
        self.events.entry(event.run).or_default().push(event);
    }

    fn all_units(&self, id: RunId) -> Vec<i64> {
        let mut ids = self.runs[&id].stages.clone();
        ids.extend(self.runs[&id].stages.iter().filter_map(|id| self.segments.get(id)).flat_map(|of| &of.ids));
        ids.sort();
        ids
    }

    fn cancel(&mut self, id: RunId, reason: Option<&str>, by: &Actor, now: Time) {
        self.tell(Event::of_run(now, id, What::Cancelled).acted(by).error(reason));
        for unit in self.all_units(id) {
            let mut unit = self.units[&unit].clone();
            match unit.status {
                Status::Done => continue,
                Status::Error if unit.reason.is_some() => continue,
                Status::Running => {
                    self.end(unit.id, Settled::cancelled(&unit), None, None, now);
                }
                Status::New | Status::Ready | Status::Error => {
                    unit.status = Status::Error;
                    unit.reason = Some(Reason::Cancelled);
                    unit.retry_at = None;
                    unit.changed_at = now;
                    self.save(unit);
                }
            }
        }
        self.untouch(id);
        let run = &mut self.runs.get_mut(&id).expect("looked up above").run;
        run.status = RunStatus::Error;
        run.finished_at = Some(now);
    }

    fn pause(&mut self, id: RunId, paused: bool, by: &Actor, now: Time) {
        let run = &mut self.runs.get_mut(&id).expect("looked up above").run;
        if run.paused == paused {
            return;
        }
        run.paused = paused;
        self.tell(Event::of_run(now, id, if paused { What::Paused } else { What::Resumed }).acted(by));
        for unit in self.all_units(id) {
            let unit = self.units[&unit].clone();
            self.unindex(&unit);
            self.index(&unit);
        }
    }

    /// Tries again what is finally `ERROR`.
    fn retry(&mut self, id: RunId, by: &Actor, now: Time) -> Result<(), RunRefusal> {
        let failed: Vec<i64> =
            self.runs[&id].stages.iter().copied().filter(|stage| self.units[stage].failed_for_good()).collect();
        if failed.is_empty() {
            return Err(RunRefusal::NothingToRetry);
        }
        for stage in failed {
            let mut unit = self.units[&stage].clone();
            self.tell(Event::of_unit(now, id, &unit.stage, None, What::RetriedByOperator).acted(by));
            let ready = !unit.split && self.prerequisites_done(&unit);
            reset(&mut unit, if ready { Status::Ready } else { Status::New }, now);
            self.save(unit);
            let segments = self.segments.get(&stage).map(|segments| segments.ids.clone()).unwrap_or_default();
            for segment in segments {
                let mut segment = self.units[&segment].clone();
                if segment.status == Status::Error {
                    reset(&mut segment, Status::Ready, now);
                    self.save(segment);
                }
            }
        }
        self.reopen(id);
        Ok(())
    }

    /// Does a stage again from the beginning, and what follows from it.
    fn retry_from(&mut self, id: RunId, stage: &str, by: &Actor, now: Time) -> Result<(), RunRefusal> {
        let mut unit = self.stage(id, stage).ok_or(RunRefusal::NoSuchUnit)?.clone();
        if unit.status == Status::New || !self.prerequisites_done(&unit) {
            return Err(RunRefusal::PrerequisiteMissing);
        }
        self.tell(Event::of_unit(now, id, stage, None, What::RetriedByOperator).acted(by));
        self.forget_segments(unit.id);
        reset(&mut unit, Status::Ready, now);
        unit.split = false;
        // Done again although its outputs may be valid: that is what was asked for.
        unit.record = None;
        self.save(unit);
        self.reset_downstream(id, &BTreeSet::from([stage]), now);
        self.reopen(id);
        Ok(())
    }

    /// Does again exactly these units, and has what follows from them look whether its own outputs still count.
    fn repair(
        &mut self,
        id: RunId,
        units: &[(String, Option<String>)],
        by: &Actor,
        now: Time,
    ) -> Result<(), RunRefusal> {
        for (stage, segment) in units {
            let key = UnitKey { run: id, stage: stage.clone(), segment: segment.clone() };
            let unit = self.by_key.get(&key).map(|id| &self.units[id]).ok_or(RunRefusal::NoSuchUnit)?;
            let stage = self.stage(id, stage).ok_or(RunRefusal::NoSuchUnit)?;
            if unit.status != Status::Done || stage.status != Status::Done {
                return Err(RunRefusal::NotDone);
            }
        }
        let graph = self.graph(id);
        let stages: BTreeSet<&str> = units.iter().map(|(stage, _)| stage.as_str()).collect();
        let later: BTreeSet<&str> =
            stages.iter().flat_map(|stage| downstream(&graph, &BTreeSet::from([*stage]))).collect();
        let wanted: BTreeSet<(&str, Option<&str>)> =
            units.iter().map(|(stage, segment)| (stage.as_str(), segment.as_deref())).collect();
        for (stage, segment) in &wanted {
            self.tell(Event::of_unit(now, id, stage, *segment, What::Repaired).acted(by));
        }
        // Of those that wait for another of these, only the first is done at once; the others find out when it is DONE.
        let stages: BTreeSet<&str> = stages.difference(&later).copied().collect();
        for (stage, segment) in wanted.iter().filter(|(stage, segment)| stages.contains(stage) && segment.is_some()) {
            let key = UnitKey { run: id, stage: (*stage).to_owned(), segment: segment.map(str::to_owned) };
            let mut unit = self.units[&self.by_key[&key]].clone();
            reset(&mut unit, Status::Ready, now);
            self.save(unit);
        }
        for stage in &stages {
            let mut unit = self.stage(id, stage).expect("looked up above").clone();
            let joins = wanted.iter().any(|(of, segment)| of == stage && segment.is_some());
            reset(&mut unit, if joins { Status::New } else { Status::Ready }, now);
            self.save(unit);
        }
        self.reset_downstream(id, &stages, now);
        self.reopen(id);
        Ok(())
    }

    fn graph(&self, id: RunId) -> Vec<(String, Vec<String>)> {
        let stages = self.runs[&id].stages.iter().map(|id| &self.units[id]);
        stages.map(|unit| (unit.stage.clone(), unit.needs.clone())).collect()
    }

    /// What follows from these stages waits for them again; what it recorded stays, to be validated when its turn comes.
    fn reset_downstream(&mut self, id: RunId, of: &BTreeSet<&str>, now: Time) {
        let graph = self.graph(id);
        let later: BTreeSet<String> = downstream(&graph, of).into_iter().map(str::to_owned).collect();
        let stages: Vec<i64> =
            self.runs[&id].stages.iter().copied().filter(|stage| later.contains(&self.units[stage].stage)).collect();
        for stage in stages {
            let mut unit = self.units[&stage].clone();
            self.forget_segments(stage);
            if unit.status != Status::New {
                reset(&mut unit, Status::New, now);
            }
            unit.split = false;
            self.save(unit);
        }
    }

    fn prerequisites_done(&self, unit: &Unit) -> bool {
        unit.needs.iter().all(|need| self.stage(unit.run, need).is_some_and(|need| need.status == Status::Done))
    }

    fn reopen(&mut self, id: RunId) {
        let run = &mut self.runs.get_mut(&id).expect("looked up above").run;
        run.status = RunStatus::Running;
        run.finished_at = None;
        self.touch(id);
    }
}
