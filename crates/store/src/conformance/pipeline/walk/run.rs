//! Applies operations to a store and to core at the same instant, and compares every answer.
//!
//! Run ids and tokens may differ; both are kept in tables that keep order, and what the store answers is translated
//! before it is compared. Beside core a small account of its own judges the answers first: one holder a unit, tokens
//! that grow, no write accepted without a lease, attempts that add up, no completion twice, no stage handed out before its
//! prerequisites, no join before its segments, nothing of a paused run.

use super::Met;
use super::draw::{Doing, Drawn, KEYED_INPUTS, Move, Op, Renewal, STAGES, definitions, op};
use crate::Store;
use crate::conformance::walk::{
    Bench, Chance, Grant, Ledger, OWNERS, Presented, Report, Tables, Walk, Wrong, nth_recent, same, unwell, whole,
};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::pipeline::{
    Act, Advanced, Artifact, Beat, Claim, ClaimedUnit, Ending, Event, Filter, History, NewRun, NewSegment, Outcome,
    Pipelines, Reason, Record, Refusal, Run, RunAction, RunId, RunStatus, Sealed, StageInfo, StartRefusal, Status,
    Unit, UnitKey, Verb,
};
use tenure_core::{Actor, Epoch, LostReason, Time, Token, Tokens};

/// Not on record in any store.
const NO_RUN: RunId = RunId(1 << 50);
/// More than a walk ever writes about one run.
const ALL: u32 = 100_000;

/// A store and core, run by run.
pub struct PipelineWalk {
    bench: Bench,
    core: Pipelines,
    /// As it was last raised.
    epoch: Option<Epoch>,
    /// Those that core draws.
    core_tokens: Tokens,
    tables: Tables<RunId>,
    ledger: Ledger<UnitKey, Verb, Status>,
    endings: Vec<(Presented<UnitKey>, Act)>,
    /// Units accepted as complete since an operator last moved their run.
    completed: BTreeSet<UnitKey>,
    /// The segments of each stage that is split.
    splits: BTreeMap<UnitKey, Vec<UnitKey>>,
    paused: BTreeSet<RunId>,
    touched: BTreeSet<usize>,
    report: Report<Met>,
}

#[async_trait]
impl Walk for PipelineWalk {
    type Op = Op;
    type Met = Met;
    const WORTH_MEETING: &'static [Met] = Met::ALL;
    const LONG: u64 = 20_000;
    const SHORT: usize = 80;

    /// The definitions, so that the rest means something.
    fn begin() -> Vec<Op> {
        (0..3).map(Op::Apply).collect()
    }

    fn draw(chance: &mut Chance) -> Op {
        op(chance)
    }

    async fn open(bench: Bench) -> PipelineWalk {
        PipelineWalk {
            ledger: Ledger::new(bench.now),
            bench,
            core: Pipelines::new(),
            epoch: None,
            core_tokens: Tokens::default(),
            tables: Tables::new(),
            endings: Vec::new(),
            completed: BTreeSet::new(),
            splits: BTreeMap::new(),
            paused: BTreeSet::new(),
            touched: BTreeSet::new(),
            report: Report::default(),
        }
    }

    /// Every run that may have changed: the run, its stages, its segments, its past.
    async fn compare(&mut self) -> Result<(), Wrong> {
        let store = self.bench.handles[0].clone();
        for index in std::mem::take(&mut self.touched) {
            let (theirs_id, ours_id) = self.tables.ids[index];
            let theirs = store.run(theirs_id).await.map_err(unwell)?;
            let ours = self.core.run(ours_id).map(|run| (run, plain(self.core.stages(ours_id))));
            if let Some((run, stages)) = &theirs {
                let done = stages.iter().all(|of| of.unit.status == Status::Done);
                if run.status == RunStatus::Done && !done {
                    return Err(format!("P1: run #{index} is DONE, and not all its stages are"));
                }
            }
            let theirs = theirs.map(|(run, stages)| {
                let stages =
                    stages.into_iter().map(|of| StageInfo { unit: self.unit_to_core(of.unit), ..of }).collect();
                (self.run_to_core(run), plain(stages))
            });
            same(&format!("run #{index}"), &theirs, &ours)?;
            let stages = ours.iter().flat_map(|(_, stages)| stages);
            for stage in stages.filter(|of| of.segments.all > 0).map(|of| &of.unit.stage) {
                let theirs = store.segments(theirs_id, stage, None, 1_000).await.map_err(unwell)?.items;
                let theirs: Vec<Unit> = theirs.into_iter().map(|unit| bare(self.unit_to_core(unit))).collect();
                let ours = self.core.segments(ours_id, stage, None, 1_000).items;
                let ours: Vec<Unit> = ours.into_iter().map(bare).collect();
                same(&format!("segments of {stage} of run #{index}"), &theirs, &ours)?;
            }
            let ours = self.core.history(ours_id, ALL as usize);
            self.notice(&ours);
            let theirs = store.run_history(theirs_id, ALL).await.map_err(unwell)?;
            let theirs = self.history_to_core(theirs);
            same(&format!("past of run #{index}"), &theirs, &ours)?;
        }
        Ok(())
    }

    async fn compare_all(&mut self) -> Result<(), Wrong> {
        self.touched.extend(0..self.tables.ids.len());
        self.compare().await
    }

    fn report(&mut self) -> &mut Report<Met> {
        &mut self.report
    }

    async fn apply(&mut self, op: &Op, store: &dyn Store) -> Result<(), Wrong> {
        match op {
            Op::Apply(which) => self.define(store, *which).await,
            Op::Start { definition, version, key } => {
                let of = &definitions()[*definition];
                let input =
                    key.map_or_else(|| format!("[{}]", self.tables.ids.len()), |(_, n)| KEYED_INPUTS[n].to_owned());
                let new = NewRun {
                    version: version.then_some(of.version),
                    key: key.map(|(key, _)| format!("k{key}")),
                    ..NewRun::new(of.name.clone(), input)
                };
                self.start(store, new).await
            }
            Op::Claim { pipeline, stages, owner, max, lease_ms } => {
                let claim = Claim {
                    pipeline: ["p", "q"][*pipeline].to_owned(),
                    stages: stages.iter().map(|stage| STAGES[*stage].to_owned()).collect(),
                    owner: OWNERS[*owner].to_owned(),
                    max: *max,
                    lease_ms: *lease_ms,
                };
                self.claim(store, claim).await
            }
            Op::Beat(renewals) => self.beat(store, renewals).await,
            Op::Finish { from, act } => {
                let Some(of) = self.ledger.present(*from) else { return self.skip() };
                let act = self.act(*act, of.token);
                self.endings.push((of.clone(), act.clone()));
                self.finish(store, of, act).await
            }
            Op::Again(nth) => match nth_recent(&self.endings, *nth).cloned() {
                Some((of, act)) => self.finish(store, of, act).await,
                None => self.skip(),
            },
            Op::Advance { max } => self.advance(store, *max).await,
            Op::Recover { max } => self.recover(store, *max).await,
            Op::Operate { run, action } => self.operate(store, *run, *action).await,
            Op::Clock(by) => {
                self.ledger.now = self.moved(*by);
                self.bench.set_clock(self.ledger.now).await;
                Ok(())
            }
            Op::NewEpoch => {
                let raised = store.new_epoch().await.map_err(unwell)?;
                self.tables.raised(raised);
                self.report.meet(Met::EpochRaised);
                match self.epoch.replace(raised) {
                    Some(before) => same("new_epoch", &raised.count, &(before.count + 1)),
                    None => Ok(()),
                }
            }
            Op::Prune => {
                let (theirs, ours) =
                    (store.prune_runs(1_000).await.map_err(unwell)?, self.core.prune(1_000, self.bench.now));
                if ours > 0 {
                    self.report.meet(Met::Pruned);
                }
                self.touched.extend(0..self.tables.ids.len());
                same("prune", &theirs, &ours)
            }
            Op::List { pipeline, status, before, limit } => {
                let filter = Filter {
                    pipeline: pipeline.map(|of| ["p", "q"][of].to_owned()),
                    status: status.map(|of| RunStatus::ALL[of]),
                };
                let before = before.and_then(|nth| nth_recent(&self.tables.ids, nth).copied());
                let theirs = store.runs(filter.clone(), before.map(|ids| ids.0), *limit).await.map_err(unwell)?;
                let ours = self.core.runs(&filter, before.map(|ids| ids.1), *limit as usize);
                let items: Vec<Run> = theirs.items.into_iter().map(|run| self.run_to_core(run)).collect();
                same("runs", &(items, theirs.more), &(ours.items, ours.more))
            }
        }
    }
}

impl PipelineWalk {
    async fn define(&mut self, store: &dyn Store, which: usize) -> Result<(), Wrong> {
        let definition = definitions()[which].clone();
        let theirs = store.apply_pipeline(definition.clone()).await.map_err(unwell)?;
        let ours = self.core.apply(definition, self.bench.now);
        if ours.is_err() {
            self.report.meet(Met::VersionTaken);
        }
        same("apply", &theirs, &ours)?;
        let theirs = store.pipelines(None, 10).await.map_err(unwell)?;
        same("pipelines", &theirs, &self.core.pipelines(None, 10))
    }

    async fn start(&mut self, store: &dyn Store, new: NewRun) -> Result<(), Wrong> {
        let theirs = store.start_run(new.clone()).await.map_err(unwell)?;
        let ours = self.core.start(&new, self.bench.now);
        match (theirs, ours) {
            (Ok(theirs), Ok(ours)) if self.tables.core_index(ours).is_some() => {
                self.report.meet(Met::StartedAgain);
                same("start under a key", &self.tables.to_core(theirs), &ours)
            }
            (Ok(theirs), Ok(ours)) => {
                self.touched.insert(self.tables.ids.len());
                self.tables.added(theirs, ours)
            }
            (theirs, ours) => {
                if let Err(StartRefusal::KeyTaken(_)) = ours {
                    self.report.meet(Met::KeyTaken);
                }
                let theirs = theirs.map(|id| self.tables.to_core(id)).map_err(|refusal| match refusal {
                    StartRefusal::KeyTaken(id) => StartRefusal::KeyTaken(self.tables.to_core(id)),
                    StartRefusal::Absent => StartRefusal::Absent,
                });
                same("start", &theirs, &ours)
            }
        }
    }

    async fn claim(&mut self, store: &dyn Store, claim: Claim) -> Result<(), Wrong> {
        // Recovery may move others too.
        self.touch_open();
        let before = self.core_running();
        let theirs = store.claim_units(claim.clone()).await.map_err(unwell)?;
        let ours = self.core.claim(&claim, &mut self.core_tokens, self.bench.now);
        let (Some(theirs), Some(ours)) = (&theirs, &ours) else {
            self.report.meet(Met::AbsentClaimed);
            return same("claim of what is not on record", &theirs.is_some(), &ours.is_some());
        };
        if self.core_running() < before + ours.units.len() {
            self.report.meet(Met::RecoveredByClaim);
        }
        for theirs in &theirs.units {
            self.account_for(theirs, &claim)?;
        }
        same("units claimed", &theirs.units.len(), &ours.units.len())?;
        for (theirs, ours) in theirs.units.iter().zip(&ours.units) {
            self.tables.granted(theirs.token, ours.token)?;
            let translated = ClaimedUnit {
                run: self.tables.to_core(theirs.run),
                token: ours.token,
                record: theirs.record.clone().map(|record| self.record_to_core(record)),
                ..theirs.clone()
            };
            same("a claimed unit", &translated, ours)?;
        }
        Ok(())
    }

    /// Judges a claim apart from core.
    fn account_for(&mut self, unit: &ClaimedUnit, claim: &Claim) -> Result<(), Wrong> {
        let key = UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() };
        let grant = Grant::new(&claim.owner, unit.token, unit.lease_expires_at, unit.lease_ms);
        self.ledger.grant(key.clone(), grant, false)?;
        let version = definitions().into_iter().find(|of| of.name == unit.pipeline && of.version == unit.version);
        let stage = version.as_ref().and_then(|of| of.find(&unit.stage)).ok_or("a stage of no pipeline")?;
        for need in &stage.needs {
            if !self.completed.contains(&UnitKey::stage(unit.run, need)) {
                return Err(format!("I13: {key} was handed out before {need} was DONE"));
            }
        }
        if self.completed.contains(&key) {
            return Err(format!("I5: {key} was handed out after it was DONE"));
        }
        if self.paused.contains(&unit.run) {
            return Err(format!("Y: {key} was handed out while its run is paused"));
        }
        if unit.join {
            let of = self.splits.get(&key).cloned().unwrap_or_default();
            if let Some(open) = of.iter().find(|segment| !self.completed.contains(segment)) {
                return Err(format!("P6: {key} was handed out to be joined before {open} was DONE"));
            }
            self.report.meet(Met::JoinClaimed);
        }
        if unit.record.is_some() {
            self.report.meet(Met::RecordHandedOn);
        }
        self.ledger.attempt(&key, unit.attempt, stage.attempts_max)
    }

    async fn beat(&mut self, store: &dyn Store, renewals: &[Renewal]) -> Result<(), Wrong> {
        let beat = |renewal: &Renewal| {
            let of = self.ledger.present(renewal.from)?;
            let beat = Beat {
                unit: key_of(&of),
                owner: of.owner.clone(),
                token: of.token,
                progress: renewal.progress.then(|| "7".to_owned()),
                record: renewal.record.map(|n| drawn_record(n, of.token)),
            };
            Some((of, beat))
        };
        let sent: Vec<(Presented<UnitKey>, Beat)> = renewals.iter().filter_map(beat).collect();
        if sent.is_empty() {
            return self.skip();
        }
        let beats = sent.iter().map(|(_, beat)| beat.clone()).collect();
        let answers = whole("heartbeat", store.beat_units(beats).await, sent.len())?;
        for ((of, beat), theirs) in sent.into_iter().zip(answers) {
            self.ledger.beaten(&of, theirs.ok().map(|beaten| beaten.lease_expires_at))?;
            let mut mine = beat.clone();
            self.key_to_core(&mut mine.unit);
            mine.token = self.tables.token_to_core(beat.token);
            let ours = self.core.heartbeat(&mine, self.bench.now);
            match ours {
                Err(LostReason::Cancelled) => self.report.meet(Met::CancelledTold),
                Err(_) => self.report.meet(Met::BeatRefused),
                Ok(_) => {}
            }
            self.touch(beat.unit.run);
            same("heartbeat", &theirs, &ours)?;
        }
        if renewals.len() > 1 {
            self.report.meet(Met::ManyBeats);
        }
        Ok(())
    }

    async fn finish(&mut self, store: &dyn Store, of: Presented<UnitKey>, act: Act) -> Result<(), Wrong> {
        let ending = Ending { unit: key_of(&of), owner: of.owner.clone(), token: of.token, act };
        let theirs = store.finish_unit(ending.clone()).await.map_err(unwell)?;
        let mut mine = ending.clone();
        self.key_to_core(&mut mine.unit);
        mine.token = self.tables.token_to_core(ending.token);
        let ours = self.core.finish(&mine, self.bench.now);
        self.touch(ending.unit.run);
        match theirs {
            Err(Refusal::NotSegmented | Refusal::AlreadySplit) if !self.ledger.holds(&of) => {
                return Err(format!("I3: {ending:?} was looked at without a lease"));
            }
            Err(Refusal::NotSegmented | Refusal::AlreadySplit) => {}
            theirs => {
                let ended = theirs.ok().map(|ended| (ended.status, ended.already));
                self.ledger.ended(&of, ending.act.verb(), ended)?;
            }
        }
        same(&format!("{} of {}", ending.act.verb(), ending.unit), &theirs, &ours)?;
        match theirs {
            Err(Refusal::Lost(LostReason::Expired | LostReason::Superseded)) => {
                self.report.meet(Met::StaleFinishRefused);
            }
            Err(Refusal::Lost(LostReason::Finished)) => self.report.meet(Met::OtherVerbRefused),
            Err(Refusal::Lost(LostReason::Cancelled)) => self.report.meet(Met::CancelledTold),
            Err(Refusal::Lost(LostReason::Unknown)) => {}
            Err(Refusal::NotSegmented | Refusal::AlreadySplit) => self.report.meet(Met::SplitRefused),
            Ok(ended) if ended.already => self.report.meet(Met::Already),
            Ok(ended) => {
                if ended.status == Status::Done && !self.completed.insert(ending.unit.clone()) {
                    return Err(format!("I5: {} was completed twice", ending.unit));
                }
                if let Act::Release = &ending.act {
                    self.ledger.uncount(&ending.unit);
                }
                if let Act::Split { segments } = &ending.act {
                    // The join has attempts of its own.
                    self.ledger.recount(&ending.unit);
                    let UnitKey { run, stage, .. } = &ending.unit;
                    let keys = segments.iter().map(|segment| UnitKey::segment(*run, stage, &segment.name));
                    self.splits.insert(ending.unit.clone(), keys.collect());
                    self.report.meet(Met::Split);
                }
            }
        }
        Ok(())
    }

    async fn advance(&mut self, store: &dyn Store, max: u32) -> Result<(), Wrong> {
        // How soon is a hint; that something is due at all is not.
        let hintless = |advanced: Advanced| Advanced { again_in_ms: advanced.again_in_ms.map(|_| 0), ..advanced };
        let theirs = store.advance_runs(max).await.map_err(unwell)?;
        self.touch_open();
        let before = self.settled();
        let ours = self.core.advance(max as usize, self.bench.now);
        if ours.retried > 0 {
            self.report.meet(Met::RetryReleased);
        }
        let after = self.settled();
        if after.0 > before.0 {
            self.report.meet(Met::RunDone);
        }
        if after.1 > before.1 {
            self.report.meet(Met::RunError);
        }
        same("advance", &hintless(theirs), &hintless(ours))
    }

    async fn recover(&mut self, store: &dyn Store, max: u32) -> Result<(), Wrong> {
        let theirs = store.recover_units(max).await.map_err(unwell)?;
        self.touch_open();
        let ours = self.core.recover(max as usize, self.bench.now);
        if ours.returned > 0 {
            self.report.meet(Met::RecoveredBySweep);
        }
        same("recover", &theirs, &ours)
    }

    async fn operate(&mut self, store: &dyn Store, nth: usize, doing: Doing) -> Result<(), Wrong> {
        let (theirs_id, ours_id) = nth_recent(&self.tables.ids, nth).copied().unwrap_or((NO_RUN, NO_RUN));
        let unit = |stage: usize, segment: Option<usize>| (STAGES[stage].to_owned(), segment.map(|n| format!("s{n}")));
        let (action, met) = match doing {
            Doing::Cancel => (RunAction::Cancel { reason: Some("why not".to_owned()) }, Met::Cancelled),
            Doing::Retry => (RunAction::Retry, Met::Retried),
            Doing::RetryFrom(stage) => (RunAction::RetryFrom { stage: STAGES[stage].to_owned() }, Met::RetriedFrom),
            Doing::Repair { stage, segment, also } => {
                let also = also.map(|stage| unit(stage, None));
                let units = [unit(stage, segment)].into_iter().chain(also).collect();
                (RunAction::Repair { units }, Met::Repaired)
            }
            Doing::Pause => (RunAction::Pause, Met::Paused),
            Doing::Resume => (RunAction::Resume, Met::Paused),
        };
        let theirs = store.operate_run(theirs_id, action.clone()).await.map_err(unwell)?;
        let ours = self.core.operate(ours_id, &action, &Actor::default(), self.bench.now);
        self.report.meet(if ours.is_ok() { met } else { Met::ActionRefused });
        if ours.is_ok() {
            let stages = self.core.stages(ours_id);
            let done = |key: &UnitKey| self.unit(ours_id, key).is_some_and(|unit| unit.status == Status::Done);
            let undone = self.completed.iter().filter(|key| key.run == theirs_id && !done(key));
            let undone: Vec<UnitKey> = undone.cloned().collect();
            undone.iter().for_each(|key| {
                self.completed.remove(key);
            });
            let split = |key: &UnitKey| stages.iter().any(|of| of.unit.stage == key.stage && of.unit.split);
            self.splits.retain(|key, _| key.run != theirs_id || split(key));
            match action {
                RunAction::Pause => drop(self.paused.insert(theirs_id)),
                RunAction::Resume => drop(self.paused.remove(&theirs_id)),
                _ => {}
            }
            // What was cancelled or begun anew is nobody's.
            let under = self.ledger.claimed().map(|(key, _)| key.clone());
            let lost = under.filter(|key| key.run == theirs_id && !self.leased(ours_id, key)).collect::<Vec<_>>();
            lost.iter().for_each(|key| self.ledger.free(key));
            let counted = |key: &UnitKey| self.unit(ours_id, key).is_some_and(|unit| unit.attempt > 0);
            let anew = self.ledger.attempted().filter(|key| key.run == theirs_id && !counted(key));
            let anew: Vec<UnitKey> = anew.cloned().collect();
            anew.iter().for_each(|key| self.ledger.recount(key));
        }
        self.touch(theirs_id);
        same(&format!("{action:?}"), &theirs, &ours)
    }

    /// Whether a unit is under a lease, in core.
    fn leased(&self, run: RunId, key: &UnitKey) -> bool {
        self.unit(run, key).is_some_and(|unit| unit.lease.is_some())
    }

    fn unit(&self, run: RunId, key: &UnitKey) -> Option<Unit> {
        match &key.segment {
            None => self.core.stages(run).into_iter().map(|of| of.unit).find(|unit| unit.stage == key.stage),
            Some(_) => {
                let segments = self.core.segments(run, &key.stage, None, 1_000).items;
                segments.into_iter().find(|unit| unit.segment == key.segment)
            }
        }
    }

    fn moved(&self, by: Move) -> Time {
        match by {
            Move::Micros(micros) => Time(self.bench.now.0 + micros),
            Move::Retention { short } => {
                self.bench.now.plus_ms(tenure_core::pipeline::RETENTION_MS - if short { 3_600_000 } else { 0 })
            }
            Move::ToDeadline(nth, off) => {
                let at = self.ledger.deadline(nth).unwrap_or(self.bench.now);
                Time((at.0 + off).max(self.bench.now.0))
            }
        }
    }

    fn act(&self, drawn: Drawn, token: Token) -> Act {
        match drawn {
            Drawn::Complete { output, record } => Act::Complete {
                output: (output > 20).then(|| output.to_string()),
                record: record.map(|n| drawn_record(n, token)),
            },
            Drawn::Fail(retry) => Act::Fail { error: "it broke".to_owned(), retry },
            Drawn::Release => Act::Release,
            Drawn::Split(count) => {
                let segment = |n: usize| NewSegment { name: format!("s{n}"), input: (n > 0).then(|| n.to_string()) };
                Act::Split { segments: (0..count).map(segment).collect() }
            }
        }
    }

    fn touch(&mut self, store: RunId) {
        self.touched.extend(self.tables.index(store));
    }

    /// Every run that can still move by itself.
    fn touch_open(&mut self) {
        let open = |id: RunId| self.core.run(id).is_some_and(|run| !run.status.terminal());
        let open: Vec<usize> = (0..self.tables.ids.len()).filter(|index| open(self.tables.ids[*index].1)).collect();
        self.touched.extend(open);
    }

    fn core_running(&self) -> usize {
        let stages = self.tables.ids.iter().flat_map(|(_, ours)| self.core.stages(*ours));
        stages.map(|of| usize::from(of.unit.status == Status::Running) + of.segments.running as usize).sum()
    }

    fn settled(&self) -> (usize, usize) {
        let status = |of: RunStatus| {
            self.tables.ids.iter().filter(|(_, ours)| self.core.run(*ours).is_some_and(|run| run.status == of)).count()
        };
        (status(RunStatus::Done), status(RunStatus::Error))
    }

    fn notice(&mut self, history: &History) {
        let crash = |event: &Event| event.reason == Some(Reason::CrashLimit);
        if history.events.iter().any(crash) {
            self.report.meet(Met::CrashLimit);
        }
        if history.events.iter().any(|event| event.reason == Some(Reason::SegmentFailed)) {
            self.report.meet(Met::SegmentFailed);
        }
        debug_assert!(
            history.attempts.iter().all(|attempt| attempt.outcome != Outcome::Cancelled || attempt.verb.is_none())
        );
    }

    fn key_to_core(&self, key: &mut UnitKey) {
        key.run = self.tables.to_core(key.run);
    }

    fn record_to_core(&self, record: Record) -> Record {
        Record { token: self.tables.token_to_core(record.token), ..record }
    }

    fn run_to_core(&self, run: Run) -> Run {
        Run { id: self.tables.to_core(run.id), ..run }
    }

    fn unit_to_core(&self, mut unit: Unit) -> Unit {
        unit.run = self.tables.to_core(unit.run);
        unit.token = unit.token.map(|token| self.tables.token_to_core(token));
        unit.record = unit.record.map(|record| self.record_to_core(record));
        if let Some(lease) = &mut unit.lease {
            lease.token = self.tables.token_to_core(lease.token);
        }
        unit
    }

    fn history_to_core(&self, mut history: History) -> History {
        for attempt in &mut history.attempts {
            attempt.run = self.tables.to_core(attempt.run);
            attempt.token = self.tables.token_to_core(attempt.token);
        }
        for event in &mut history.events {
            event.run = self.tables.to_core(event.run);
            event.token = event.token.map(|token| self.tables.token_to_core(token));
        }
        history
    }
}

/// The unit that a claim presents.
fn key_of(of: &Presented<UnitKey>) -> UnitKey {
    of.unit.clone().unwrap_or_else(|| UnitKey::stage(NO_RUN, "a"))
}

/// Numbers of units mean nothing beyond their order, which the lists keep.
fn bare(unit: Unit) -> Unit {
    Unit { id: 0, ..unit }
}

fn plain(stages: Vec<StageInfo>) -> Vec<StageInfo> {
    stages.into_iter().map(|of| StageInfo { unit: bare(of.unit), ..of }).collect()
}

fn drawn_record(n: u8, token: Token) -> Record {
    let artifact = |n: u8| Artifact { path: format!("1/a/v1/{n}"), size: n.into(), blake3: format!("{n:064x}") };
    let sealed = n
        .is_multiple_of(2)
        .then(|| Sealed { input: format!("{n:064x}"), output: n.is_multiple_of(4).then(|| n.to_string()) });
    Record { token, artifacts: (0..n % 3).map(artifact).collect(), sealed }
}
