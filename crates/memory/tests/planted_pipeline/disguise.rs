//! What a wrong store remembers beside the right one, and how it bends what it shows.

use super::Bug;
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::Token;
use tenure_core::pipeline::{
    ClaimedUnit, Definition, Event, Reason, Record, Run, RunId, RunStatus, StageInfo, Status, Unit, UnitKey,
};

/// Attempts beyond those declared, where the limit is not kept.
pub(super) const MORE: u32 = 100;

/// What a wrong store remembers.
#[derive(Default)]
pub(super) struct Disguise {
    /// The first token of each unit.
    pub(super) firsts: BTreeMap<UnitKey, Token>,
    /// Attempts that should not have counted.
    pub(super) extra: BTreeMap<UnitKey, u32>,
    /// What was declared, where something else was applied.
    pub(super) declared: BTreeMap<(String, u32), Definition>,
    /// The highest version of each pipeline.
    pub(super) highest: BTreeMap<String, u32>,
    /// The keys of runs that were started without them.
    pub(super) keys: BTreeMap<RunId, String>,
    /// Claims, to be given out again.
    pub(super) claims: BTreeMap<UnitKey, ClaimedUnit>,
    /// Units that are shown as if they had to be done again.
    pub(super) redone: BTreeSet<UnitKey>,
    /// Records that should not count, or that should be gone.
    pub(super) records: BTreeMap<UnitKey, Record>,
    /// Runs that are paused by name only, and what is told of it: the place in the run's past, and the event.
    pub(super) paused: BTreeSet<RunId>,
    pub(super) told: BTreeMap<RunId, Vec<(usize, Event)>>,
}

pub(super) fn key_of(unit: &Unit) -> UnitKey {
    UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() }
}

pub(super) fn key_of_claim(unit: &ClaimedUnit) -> UnitKey {
    UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() }
}

impl Disguise {
    /// A unit as the wrong store shows it.
    pub(super) fn unit(&self, bug: Bug, version: u32, mut unit: Unit) -> Unit {
        let key = key_of(&unit);
        unit.attempt += self.extra.get(&key).copied().unwrap_or(0);
        let declared = self.declared.get(&(unit.pipeline.clone(), version)).and_then(|of| of.find(&unit.stage));
        if let Some(stage) = declared {
            unit.attempts_max = stage.attempts_max;
            if unit.segment.is_none() {
                unit.needs = stage.needs.clone();
            }
        }
        if let Some(record) = self.records.get(&key) {
            unit.record = Some(record.clone());
        }
        if self.redone.contains(&key) && unit.status == Status::Done {
            unit.status = Status::Ready;
            unit.output = None;
        }
        match bug {
            Bug::CountedAtFailure if unit.status == Status::Running => unit.attempt -= 1,
            Bug::SegmentFailedRetried if unit.reason == Some(Reason::SegmentFailed) => unit.reason = None,
            Bug::SegmentFailureKept if unit.reason == Some(Reason::SegmentFailed) => {
                (unit.status, unit.reason, unit.error) = (Status::New, None, None);
            }
            _ => {}
        }
        unit
    }

    pub(super) fn stage(&self, bug: Bug, version: u32, mut of: StageInfo) -> StageInfo {
        let segments = self.redone.iter().filter(|key| key.run == of.unit.run && key.stage == of.unit.stage);
        let moved = (segments.filter(|key| key.segment.is_some()).count() as u64).min(of.segments.done);
        of.segments.done -= moved;
        of.segments.ready += moved;
        StageInfo { unit: self.unit(bug, version, of.unit), ..of }
    }

    /// A run as the wrong store shows it; `done` of its stages are `DONE`.
    pub(super) fn run(&self, bug: Bug, mut run: Run, done: usize) -> Run {
        run.paused |= self.paused.contains(&run.id);
        run.key = self.keys.get(&run.id).cloned().or(run.key);
        match bug {
            Bug::VersionTaken => run.version = self.highest.get(&run.pipeline).copied().unwrap_or(run.version),
            Bug::DoneWithError if run.status == RunStatus::Error && done > 0 => run.status = RunStatus::Done,
            _ => {}
        }
        run
    }
}
