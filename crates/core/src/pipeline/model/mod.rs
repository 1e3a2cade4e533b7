//! All pipelines as one value: the reference that every backend is compared with.
//!
//! Always true: each method is one atomic step at the instant it is given; what it refuses, it leaves untouched. Every
//! change of a unit goes through [`Pipelines::save`], which insists on P2.

mod look;
mod operate;

use super::event::{Event, What};
use super::graph::Definition;
use super::request::*;
use super::rules::{self, Settled};
use super::unit::*;
use super::{RECOVERED_PER_CLAIM, RETENTION_MS};
use crate::bounds::CLAIM_BYTES_MAX;
use crate::lease::{self, Judgement, LostReason, Presented, Token, Tokens, live};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Every pipeline, run, unit, lease and event of one engine.
#[derive(Debug, Default)]
pub struct Pipelines {
    last_run: i64,
    last_unit: i64,
    definitions: BTreeMap<(String, u32), (Definition, Time)>,
    runs: BTreeMap<RunId, RunRow>,
    /// Which run of a pipeline holds a key.
    keys: BTreeMap<(String, String), RunId>,
    units: HashMap<i64, Unit>,
    by_key: HashMap<UnitKey, i64>,
    segments: HashMap<i64, Segments>,
    attempts: HashMap<RunId, BTreeMap<Token, Attempt>>,
    events: HashMap<RunId, Vec<Event>>,
    /// By pipeline and stage, in the order of claims.
    ready: BTreeMap<(String, String), BTreeSet<Rank>>,
    deadlines: BTreeSet<(Time, Token, i64)>,
    retries: BTreeSet<(Time, i64)>,
    /// Runs in which something happened that the orchestrator has not looked at yet, by when it first did, and where each
    /// of them is in that order.
    touched: BTreeMap<u64, RunId>,
    touched_at: HashMap<RunId, u64>,
    touches: u64,
}

/// Where a unit stands among those that may be claimed: by priority, then by age.
type Rank = (Reverse<i32>, i64);

#[derive(Debug)]
struct RunRow {
    run: Run,
    /// In the order of the definition.
    stages: Vec<i64>,
}

#[derive(Debug, Default)]
struct Segments {
    ids: Vec<i64>,
    done: usize,
}

impl Pipelines {
    /// No pipelines yet.
    #[must_use]
    pub fn new() -> Pipelines {
        Pipelines::default()
    }

    /// Puts a version of a pipeline on record. It was [checked](Definition::check) before.
    pub fn apply(&mut self, definition: Definition, now: Time) -> Result<Applied, Taken> {
        let key = (definition.name.clone(), definition.version);
        match self.definitions.get(&key) {
            Some((known, _)) if known.same_graph(&definition) => Ok(Applied::Same),
            Some(_) => Err(Taken),
            None => {
                self.definitions.insert(key, (definition, now));
                Ok(Applied::Created)
            }
        }
    }

    /// Starts a run, or answers the one that was started under the same key.
    pub fn start(&mut self, new: &NewRun, now: Time) -> Result<RunId, StartRefusal> {
        let definition = self.pipeline(&new.pipeline, new.version).ok_or(StartRefusal::Absent)?.definition;
        let key = new.key.clone().map(|key| (new.pipeline.clone(), key));
        if let Some(holder) = key.as_ref().and_then(|key| self.keys.get(key)) {
            return if new.is(&self.runs[holder].run) { Ok(*holder) } else { Err(StartRefusal::KeyTaken(*holder)) };
        }
        self.last_run += 1;
        let id = RunId(self.last_run);
        let stages = definition.stages.iter().map(|stage| {
            self.last_unit += 1;
            let unit = first_unit(self.last_unit, id, &definition, stage, now);
            self.by_key.insert(UnitKey::stage(id, &unit.stage), unit.id);
            self.units.insert(unit.id, unit);
            self.last_unit
        });
        let stages: Vec<i64> = stages.collect();
        let run = Run {
            id,
            pipeline: definition.name,
            version: definition.version,
            input: new.input.clone(),
            status: RunStatus::Running,
            paused: false,
            created_at: now,
            finished_at: None,
            key: new.key.clone(),
        };
        key.map(|key| self.keys.insert(key, id));
        self.runs.insert(id, RunRow { run, stages });
        self.touch(id);
        Ok(id)
    }

    /// Takes units that are `READY`, after returning those whose lease ran out. `None`: no version of that pipeline has
    /// such a stage.
    pub fn claim(&mut self, claim: &Claim, tokens: &mut Tokens, now: Time) -> Option<Claims> {
        let known = |stage: &String| {
            let of_pipeline = self.definitions.iter().filter(|((name, _), _)| *name == claim.pipeline);
            of_pipeline.into_iter().any(|(_, (definition, _))| definition.find(stage).is_some())
        };
        if !claim.stages.iter().all(known) {
            return None;
        }
        let mine = |unit: &Unit| unit.pipeline == claim.pipeline && claim.stages.contains(&unit.stage);
        let expired: Vec<i64> =
            self.expired(now).filter(|id| mine(&self.units[id])).take(RECOVERED_PER_CLAIM as usize).collect();
        for id in expired {
            self.expire(id, now);
        }
        let stages: BTreeSet<&String> = claim.stages.iter().collect();
        let mut found: Vec<Rank> = Vec::new();
        for stage in stages {
            let ready = self.ready.get(&(claim.pipeline.clone(), stage.clone()));
            found.extend(ready.into_iter().flatten().take(claim.max as usize));
        }
        found.sort();
        let mut units = Vec::new();
        let mut bytes = 0;
        for (_, id) in found.into_iter().take(claim.max as usize) {
            let input = self.input(&self.units[&id]);
            bytes += input.len();
            if bytes > CLAIM_BYTES_MAX && !units.is_empty() {
                break;
            }
            units.push(self.grant(id, input, claim, tokens.draw(), now));
        }
        Some(Claims { units })
    }

    /// What a unit works on.
    fn input(&self, unit: &Unit) -> String {
        match &unit.segment {
            Some(_) => unit.input.clone().unwrap_or_else(|| "null".to_owned()),
            None => {
                let output = |need: &String| self.stage(unit.run, need).and_then(|need| need.output.clone());
                let needs: Vec<_> = unit.needs.iter().map(|need| (need.clone(), output(need))).collect();
                compose_input(&self.runs[&unit.run].run.input, &needs)
            }
        }
    }

    fn grant(&mut self, id: i64, input: String, claim: &Claim, token: Token, now: Time) -> ClaimedUnit {
        let mut unit = self.units[&id].clone();
        let claimed = unit.take(claim, &self.runs[&unit.run].run, input, token, now);
        self.save(unit);
        claimed
    }

    /// Renews a lease.
    pub fn heartbeat(&mut self, beat: &Beat, now: Time) -> Result<Beaten, LostReason> {
        let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
        self.judge(&beat.unit, presented, now).or_lost()?;
        let mut unit = self.units[&self.by_key[&beat.unit]].clone();
        let lease_expires_at = unit.renew(beat, now).expect("a held unit has a lease");
        self.save(unit);
        Ok(Beaten { lease_expires_at })
    }

    /// Ends a claim (P3).
    pub fn finish(&mut self, ending: &Ending, now: Time) -> Result<Ended, Refusal> {
        let Ending { unit: key, owner, token, act } = ending;
        let presented = Presented { owner, token: *token, verb: Some(act.verb()) };
        if let Some(status) = self.judge(key, presented, now).or_lost().map_err(Refusal::Lost)? {
            return Ok(Ended { status, already: true });
        }
        let id = self.by_key[key];
        act.may_end(&self.units[&id])?;
        let settled = rules::settle(act, &self.units[&id], now);
        let status = settled.status;
        self.end(id, settled, Some(act.verb()), act.error(), now);
        let mut unit = self.units[&id].clone();
        if unit.complete(act, *token) {
            self.save(unit.clone());
        }
        if let Act::Split { segments } = act {
            self.split(&unit, segments, now);
        }
        Ok(Ended { status, already: false })
    }

    fn split(&mut self, stage: &Unit, segments: &[NewSegment], now: Time) {
        for segment in segments {
            self.last_unit += 1;
            let unit = segment_unit(self.last_unit, stage, segment, now);
            self.by_key.insert(UnitKey::segment(unit.run, &unit.stage, &segment.name), unit.id);
            self.segments.entry(stage.id).or_default().ids.push(unit.id);
            self.units.insert(unit.id, unit.clone());
            self.index(&unit);
        }
    }

    /// Returns units whose lease ran out, at most `max` (L7).
    pub fn recover(&mut self, max: usize, now: Time) -> Recovered {
        let expired: Vec<i64> = self.expired(now).take(max).collect();
        let mut recovered = Recovered::default();
        for id in expired {
            match self.expire(id, now) {
                Status::Error => recovered.failed += 1,
                _ => recovered.returned += 1,
            }
        }
        recovered
    }

    fn expired(&self, now: Time) -> impl Iterator<Item = i64> {
        self.deadlines.iter().take_while(move |(at, _, _)| !live(*at, now)).map(|(_, _, id)| *id)
    }

    fn expire(&mut self, id: i64, now: Time) -> Status {
        let settled = rules::expire(&self.units[&id]);
        let status = settled.status;
        self.end(id, settled, None, None, now);
        status
    }

    /// One step of the orchestrator: releases units that are due to be tried again, and looks at runs in which something
    /// happened, at most `max` of each (P5).
    pub fn advance(&mut self, max: usize, now: Time) -> Advanced {
        let mut advanced = Advanced::default();
        let due: Vec<i64> = self.retries.iter().take_while(|(at, _)| *at <= now).take(max).map(|(_, id)| *id).collect();
        for id in due {
            let mut unit = self.units[&id].clone();
            unit.status = Status::Ready;
            unit.retry_at = None;
            unit.changed_at = now;
            self.save(unit);
            advanced.retried += 1;
        }
        let touched: Vec<RunId> = self.touched.values().copied().take(max).collect();
        for id in touched {
            self.untouch(id);
            advanced.runs += 1;
            advanced.readied += self.advance_run(id, now);
            advanced.settled += u32::from(self.settle_run(id, now));
        }
        advanced.again_in_ms = self.retries.first().map(|(at, _)| Time(at.0 + 999).ms_since(now));
        advanced
    }

    fn advance_run(&mut self, id: RunId, now: Time) -> u32 {
        let Some(row) = self.runs.get(&id).filter(|row| row.run.status == RunStatus::Running) else { return 0 };
        let done = |need: &String| self.stage(id, need).is_some_and(|need| need.status == Status::Done);
        let joins =
            |unit: &Unit| self.segments.get(&unit.id).is_none_or(|segments| segments.done == segments.ids.len());
        let can_start = |unit: &Unit| unit.needs.iter().all(done) && (!unit.split || joins(unit));
        let free: Vec<i64> = row
            .stages
            .iter()
            .copied()
            .filter(|id| self.units[id].status == Status::New && can_start(&self.units[id]))
            .collect();
        for id in &free {
            let mut unit = self.units[id].clone();
            unit.status = Status::Ready;
            unit.changed_at = now;
            self.save(unit);
        }
        free.len() as u32
    }

    /// Ends a run that is all `DONE`, or in which nothing can move any more (P1).
    fn settle_run(&mut self, id: RunId, now: Time) -> bool {
        let Some(row) = self.runs.get(&id).filter(|row| row.run.status == RunStatus::Running) else { return false };
        let stages = row.stages.iter().map(|id| &self.units[id]);
        let status = if stages.clone().all(|stage| stage.status == Status::Done) {
            RunStatus::Done
        } else if stages.into_iter().any(|stage| self.movable(stage)) {
            return false;
        } else {
            RunStatus::Error
        };
        let run = &mut self.runs.get_mut(&id).expect("looked at above").run;
        run.status = status;
        run.finished_at = Some(now);
        true
    }

    /// Whether a stage, or one of its segments, can still move by itself.
    fn movable(&self, stage: &Unit) -> bool {
        let may = |unit: &Unit| match unit.status {
            Status::Ready | Status::Running => true,
            Status::Error => unit.reason.is_none(),
            Status::New | Status::Done => false,
        };
        let segments = self.segments.get(&stage.id).into_iter().flat_map(|segments| &segments.ids);
        let mut segments = segments.map(|id| &self.units[id]);
        may(stage)
            || match stage.failed_for_good() {
                // Those that run may still finish; the others are not handed out.
                true => segments.any(|segment| segment.status == Status::Running),
                false => segments.any(may),
            }
    }

    /// Takes a running unit out of its lease, and writes down how its attempt ended.
    fn end(&mut self, id: i64, settled: Settled, verb: Option<Verb>, error: Option<String>, now: Time) {
        let mut unit = self.units[&id].clone();
        let fails_stage = settled.fails_stage();
        let (events, ended) = unit.end(settled, verb, error, now).expect("a running unit has a lease");
        self.events.entry(unit.run).or_default().extend(events);
        self.attempts.entry(unit.run).or_default().insert(ended.token, ended);
        self.save(unit.clone());
        if fails_stage && unit.segment.is_some() {
            self.fail_stage(&unit, now);
        }
        self.touch(unit.run);
    }

    /// The orchestrator should look at this run; one that waits to be looked at keeps its place.
    fn touch(&mut self, run: RunId) {
        if !self.touched_at.contains_key(&run) {
            self.touches += 1;
            self.touched.insert(self.touches, run);
            self.touched_at.insert(run, self.touches);
        }
    }

    fn untouch(&mut self, run: RunId) {
        if let Some(at) = self.touched_at.remove(&run) {
            self.touched.remove(&at);
        }
    }

    /// A segment failed for good, and its stage with it (P6).
    fn fail_stage(&mut self, segment: &Unit, now: Time) {
        let Some(mut stage) = self.stage(segment.run, &segment.stage).cloned() else { return };
        if let Some(told) = stage.fail_with(segment, now) {
            self.events.entry(segment.run).or_default().push(told);
            self.save(stage);
        }
    }

    /// Judges a write, and counts a refusal into the one event of that claim and reason (L8). A segment that a retry
    /// dropped is told of as long as its stage is on record.
    fn judge(&mut self, key: &UnitKey, presented: Presented<'_, Verb>, now: Time) -> Judgement<Status> {
        let Presented { owner, token, verb } = presented;
        let unit = self.by_key.get(key).map(|id| &self.units[id]);
        let of_unit = |attempt: &&Attempt| attempt.stage == key.stage && attempt.segment == key.segment;
        let ended = self.attempts.get(&key.run);
        let receipt = ended.and_then(|ended| ended.get(&token)).filter(of_unit);
        // A segment made anew under an old name begins without a token: what was claimed before is in the past only.
        let remembered = || ended.and_then(|ended| ended.values().rev().find(of_unit)).map(|attempt| attempt.token);
        let last = unit.and_then(|unit| unit.token).or_else(|| receipt.and_then(|_| remembered()));
        let receipt = receipt.map(Attempt::receipt);
        let lease = unit.and_then(|unit| unit.lease.as_ref());
        let judgement = lease::judge(presented, receipt.as_ref(), last, lease, now);
        if let Judgement::Lost(reason) = judgement
            && self.stage(key.run, &key.stage).is_some()
        {
            let refused = Event::of_unit(now, key.run, &key.stage, key.segment.as_deref(), What::Refused);
            let refused = Event { verb, lost: Some(reason), ..refused.by(owner, token) };
            let events = self.events.entry(key.run).or_default();
            let same = |event: &&mut Event| {
                event.what == What::Refused
                    && event.lost == Some(reason)
                    && event.token == Some(token)
                    && event.stage.as_deref() == Some(&key.stage)
                    && event.segment == key.segment
            };
            match events.iter_mut().find(same) {
                Some(event) => {
                    let first_at = event.first_at.or(Some(event.at));
                    *event = Event { count: event.count + 1, first_at, ..refused };
                }
                None => events.push(refused),
            }
        }
        judgement
    }

    /// Removes settled runs that are no longer kept, at most `max`.
    pub fn prune(&mut self, max: usize, now: Time) -> u32 {
        let past = |row: &&RunRow| row.run.finished_at.is_some_and(|at| at.plus_ms(RETENTION_MS) <= now);
        let mut past: Vec<(Option<Time>, RunId)> =
            self.runs.values().filter(past).map(|row| (row.run.finished_at, row.run.id)).collect();
        past.sort();
        let past: Vec<RunId> = past.into_iter().map(|(_, id)| id).take(max).collect();
        for id in &past {
            let row = self.runs.remove(id).expect("found above");
            self.untouch(*id);
            row.run.key.map(|key| self.keys.remove(&(row.run.pipeline, key)));
            for stage in row.stages {
                self.forget_segments(stage);
                self.forget_unit(stage);
            }
            self.events.remove(id);
            self.attempts.remove(id);
        }
        past.len() as u32
    }

    fn forget_segments(&mut self, stage: i64) {
        let segments = self.segments.remove(&stage).unwrap_or_default();
        segments.ids.into_iter().for_each(|id| self.forget_unit(id));
    }

    fn forget_unit(&mut self, id: i64) {
        let Some(unit) = self.units.get(&id).cloned() else { return };
        self.unindex(&unit);
        self.by_key.remove(&UnitKey { run: unit.run, stage: unit.stage, segment: unit.segment });
        self.units.remove(&id);
    }

    fn stage(&self, run: RunId, stage: &str) -> Option<&Unit> {
        self.by_key.get(&UnitKey::stage(run, stage)).map(|id| &self.units[id])
    }

    /// Puts a changed unit in the place of the old one.
    fn save(&mut self, unit: Unit) {
        let before = self.units.get(&unit.id).expect("only units on record are changed").clone();
        let (from, to) = (before.status, unit.status);
        assert!(from == to || from.may_become(to), "P2: {} must not go from {from} to {to}", unit.stage);
        self.unindex(&before);
        self.units.insert(unit.id, unit.clone());
        self.index(&unit);
        // Whether segments are handed out hangs on their stage.
        if unit.segment.is_none() && before.failed_for_good() != unit.failed_for_good() {
            self.reindex_segments(unit.id);
        }
    }

    fn reindex_segments(&mut self, stage: i64) {
        let ids = self.segments.get(&stage).map(|segments| segments.ids.clone()).unwrap_or_default();
        for id in ids {
            let unit = self.units[&id].clone();
            self.unindex(&unit);
            self.index(&unit);
        }
    }

    fn unindex(&mut self, unit: &Unit) {
        if let Some(ready) = self.ready.get_mut(&(unit.pipeline.clone(), unit.stage.clone())) {
            ready.remove(&(Reverse(unit.priority), unit.id));
        }
        if let Some(lease) = &unit.lease {
            self.deadlines.remove(&(lease.expires_at, lease.token, unit.id));
        }
        if let Some(at) = unit.retry_at {
            self.retries.remove(&(at, unit.id));
        }
        self.count_done(unit, false);
    }

    fn index(&mut self, unit: &Unit) {
        if unit.status == Status::Ready && self.handed_out(unit) {
            let of_stage = self.ready.entry((unit.pipeline.clone(), unit.stage.clone())).or_default();
            of_stage.insert((Reverse(unit.priority), unit.id));
        }
        if let Some(lease) = &unit.lease {
            self.deadlines.insert((lease.expires_at, lease.token, unit.id));
        }
        if let Some(at) = unit.retry_at {
            self.retries.insert((at, unit.id));
        }
        self.count_done(unit, true);
    }

    fn count_done(&mut self, unit: &Unit, add: bool) {
        if unit.segment.is_none() || unit.status != Status::Done {
            return;
        }
        let stage = self.by_key.get(&UnitKey::stage(unit.run, &unit.stage));
        if let Some(segments) = stage.and_then(|stage| self.segments.get_mut(stage)) {
            segments.done = if add { segments.done + 1 } else { segments.done - 1 };
        }
    }

    /// Whether a `READY` unit may be claimed: its run is not paused, and its stage has not failed for good.
    fn handed_out(&self, unit: &Unit) -> bool {
        let paused = self.runs.get(&unit.run).is_some_and(|row| row.run.paused);
        let dead = unit.segment.is_some() && self.stage(unit.run, &unit.stage).is_some_and(Unit::failed_for_good);
        !paused && !dead
    }
}

/// A stage of a run that has just been started.
fn first_unit(id: i64, run: RunId, definition: &Definition, stage: &super::graph::Stage, now: Time) -> Unit {
    Unit {
        id,
        run,
        pipeline: definition.name.clone(),
        stage: stage.name.clone(),
        segment: None,
        needs: stage.needs.clone(),
        priority: stage.priority,
        lease_ms: stage.lease_ms,
        attempts_max: stage.attempts_max,
        backoff: stage.backoff,
        segmented: stage.segmented,
        split: false,
        status: Status::New,
        reason: None,
        retry_at: None,
        attempt: 0,
        input: None,
        output: None,
        error: None,
        progress: None,
        record: None,
        token: None,
        lease: None,
        changed_at: now,
    }
}

/// A segment that has just been made.
fn segment_unit(id: i64, stage: &Unit, segment: &NewSegment, now: Time) -> Unit {
    Unit {
        id,
        segment: Some(segment.name.clone()),
        needs: Vec::new(),
        segmented: false,
        split: false,
        status: Status::Ready,
        reason: None,
        retry_at: None,
        attempt: 0,
        input: segment.input.clone(),
        output: None,
        error: None,
        progress: None,
        record: None,
        token: None,
        lease: None,
        changed_at: now,
        ..stage.clone()
    }
}
