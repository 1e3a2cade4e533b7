//! The memory store with one mistake in front of it.

use super::Bug;
use super::disguise::{Disguise, MORE, key_of, key_of_claim};
use super::support::Wrongly;
use async_trait::async_trait;
use std::sync::{Mutex, MutexGuard};
use tenure_core::Page;
use tenure_core::lease::Lease;
use tenure_core::pipeline::{
    Act, Advanced, Applied, Beat, Beaten, Claim, ClaimedUnit, Claims, Definition, Ended, Ending, Event, Filter,
    History, NewRun, Outcome, PipelineInfo, Recovered, Refusal, Run, RunAction, RunId, RunRefusal, RunStatus,
    StageInfo, StartRefusal, Status, Taken, Unit, UnitKey, What,
};
use tenure_core::retry::Retry;
use tenure_core::{Epoch, LostReason, Time, Token};
use tenure_memory::MemoryStore;
use tenure_store::{Clock, Fenced, PipelineStore, Result, Upkeep};

pub(super) struct Wrong {
    right: MemoryStore,
    clock: Clock,
    bug: Bug,
    disguise: Mutex<Disguise>,
}

impl Wrong {
    fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    fn disguise(&self) -> MutexGuard<'_, Disguise> {
        self.disguise.lock().expect("no panic")
    }

    async fn version(&self, id: RunId) -> Result<u32> {
        Ok(self.right.run(id).await?.map_or(1, |(run, _)| run.version))
    }

    /// A unit as the right store knows it.
    async fn unit(&self, key: &UnitKey) -> Result<Option<Unit>> {
        Ok(match &key.segment {
            None => {
                let found = self.right.run(key.run).await?;
                found.and_then(|(_, of)| of.into_iter().map(|of| of.unit).find(|unit| unit.stage == key.stage))
            }
            Some(segment) => {
                let page = self.right.segments(key.run, &key.stage, None, 1_000).await?;
                page.items.into_iter().find(|unit| unit.segment.as_ref() == Some(segment))
            }
        })
    }

    async fn lease(&self, key: &UnitKey) -> Result<Option<Lease>> {
        Ok(self.unit(key).await?.and_then(|unit| unit.lease))
    }

    /// Sets the clock back to when an expired lease was still held, if this is its holder; answers when it is now.
    async fn back(&self, key: &UnitKey, owner: &str, token: Token) -> Result<Time> {
        let now = self.clock.now();
        let lease = self.lease(key).await?.filter(|lease| lease.owner == owner && lease.token == token);
        if let Some(lease) = lease.filter(|lease| lease.expires_at <= now) {
            self.clock.set(Time(lease.expires_at.0 - 1));
        }
        Ok(now)
    }

    /// A stage of an open run of `pipeline`, named in the claim, that this looks for.
    async fn stage_that(&self, claim: &Claim, wanted: impl Fn(&StageInfo) -> bool) -> Result<Option<(Run, Unit)>> {
        let filter = Filter { pipeline: Some(claim.pipeline.clone()), status: Some(RunStatus::Running) };
        for run in self.right.runs(filter, None, 1_000).await?.items {
            let Some((run, stages)) = self.right.run(run.id).await? else { continue };
            let mut stages = stages.into_iter().filter(|of| !run.paused && claim.stages.contains(&of.unit.stage));
            if let Some(of) = stages.find(|of| wanted(of)) {
                return Ok(Some((run, of.unit)));
            }
        }
        Ok(None)
    }

    /// A claim that nobody should have been given.
    async fn forged(&self, claim: &Claim) -> Result<Option<ClaimedUnit>> {
        let of = match self.bug {
            Bug::HandedOutEarly => self.stage_that(claim, |of| of.unit.status == Status::New && !of.unit.split).await?,
            Bug::JoinEarly => {
                let open = |of: &StageInfo| of.segments.done > 0 && of.segments.done < of.segments.all;
                self.stage_that(claim, |of| of.unit.split && of.unit.status == Status::New && open(of)).await?
            }
            Bug::JoinTwice => self.stage_that(claim, |of| of.unit.split && of.unit.status == Status::Done).await?,
            Bug::HandedOutTwice => self.stage_that(claim, |of| of.unit.status == Status::Running).await?,
            _ => None,
        };
        let Some((run, unit)) = of else { return Ok(None) };
        // Above every token so far, as a real grant would be.
        let token = self.disguise().claims.values().map(|of| of.token).max().unwrap_or(Token(0));
        Ok(Some(ClaimedUnit {
            run: run.id,
            pipeline: run.pipeline,
            version: run.version,
            stage: unit.stage,
            segment: None,
            join: unit.split,
            segmented: unit.segmented,
            input: "null".to_owned(),
            attempt: 1,
            attempts_max: unit.attempts_max,
            token: Token(token.0 + 1),
            lease_expires_at: self.clock.now().plus_ms(unit.lease_ms),
            lease_ms: unit.lease_ms,
            record: None,
        }))
    }

    /// An ending as the wrong store takes it.
    async fn taken(&self, mut ending: Ending) -> Result<Ending> {
        if let Some(lease) = self.lease(&ending.unit).await? {
            let (owner, token) = (lease.owner == ending.owner, lease.token == ending.token);
            match (self.bug, &ending.act) {
                (Bug::CompleteIgnoresToken, Act::Complete { .. })
                | (Bug::FailIgnoresToken, Act::Fail { .. })
                | (Bug::ReleaseIgnoresToken, Act::Release)
                | (Bug::SplitIgnoresToken, Act::Split { .. })
                    if owner =>
                {
                    ending.token = lease.token;
                }
                (Bug::FinishIgnoresOwner, _) if token => ending.owner = lease.owner,
                (Bug::FinishByUnit, _) => (ending.owner, ending.token) = (lease.owner, lease.token),
                _ => {}
            }
        }
        ending.act = match ending.act {
            Act::Fail { error, retry: Retry::Policy { .. } } if self.is(Bug::BackoffIgnored) => {
                Act::Fail { error, retry: Retry::In { delay_ms: 0 } }
            }
            act => act,
        };
        Ok(ending)
    }

    /// Remembers what an accepted ending should not have left behind.
    async fn left(&self, key: &UnitKey, act: &Act, before: Option<Unit>) -> Result<()> {
        let Some(before) = before else { return Ok(()) };
        match (self.bug, act) {
            (Bug::ReleaseCounts, Act::Release) => *self.disguise().extra.entry(key.clone()).or_default() += 1,
            (Bug::JoinInheritsAttempts, Act::Split { .. }) => {
                *self.disguise().extra.entry(key.clone()).or_default() += before.attempt;
            }
            (Bug::StaleRecordCounts, Act::Complete { record: None, .. }) => {
                let stale = before.record.filter(|record| Some(record.token) != before.token);
                stale.map(|record| self.disguise().records.insert(key.clone(), record));
            }
            (Bug::NeighboursRedone, Act::Fail { .. }) if key.segment.is_some() => {
                let page = self.right.segments(key.run, &key.stage, None, 1_000).await?;
                let done = page.items.iter().filter(|unit| unit.status == Status::Done).map(key_of);
                self.disguise().redone.extend(done);
            }
            _ => {}
        }
        Ok(())
    }

    async fn shown(&self, unit: Unit) -> Result<Unit> {
        let version = self.version(unit.run).await?;
        Ok(self.disguise().unit(self.bug, version, unit))
    }

    async fn done_stages(&self, id: RunId) -> Result<usize> {
        let stages = self.right.run(id).await?.map(|(_, stages)| stages).unwrap_or_default();
        Ok(stages.iter().filter(|of| of.unit.status == Status::Done).count())
    }

    /// A pause by name only: it is shown and told, and hands out units as before.
    async fn pause(&self, id: RunId, paused: bool) -> Result<std::result::Result<RunStatus, RunRefusal>> {
        let told = self.right.run_history(id, 100_000).await?.events.len();
        let mut disguise = self.disguise();
        if disguise.paused.contains(&id) != paused {
            match paused {
                true => disguise.paused.insert(id),
                false => disguise.paused.remove(&id),
            };
            let what = if paused { What::Paused } else { What::Resumed };
            let event = Event::of_run(self.clock.now(), id, what);
            disguise.told.entry(id).or_default().push((told, event));
        }
        Ok(Ok(RunStatus::Running))
    }
}

#[async_trait]
impl Wrongly for Wrong {
    fn planted(bug: usize, clock: Clock) -> Wrong {
        let right = MemoryStore::with_clock(clock.clone());
        Wrong { right, clock, bug: Bug::ALL[bug], disguise: Mutex::default() }
    }

    fn right(&self) -> &MemoryStore {
        &self.right
    }

    fn handles_apart(&self) -> bool {
        self.is(Bug::HandlesApart)
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        if self.is(Bug::EpochKept) {
            let epoch = self.right.epoch().await?;
            return Ok(Epoch { count: epoch.count + 1, base: Token(1 << 40) });
        }
        self.right.new_epoch().await
    }

    async fn apply_pipeline(&self, definition: Definition) -> Result<std::result::Result<Applied, Taken>> {
        let mut applied = definition.clone();
        for stage in &mut applied.stages {
            match self.bug {
                Bug::CrashLimitIgnored => stage.attempts_max += MORE,
                Bug::OneAttemptMore => stage.attempts_max += 1,
                Bug::PrerequisiteForgotten if stage.needs.len() > 1 => drop(stage.needs.pop()),
                _ => {}
            }
        }
        let answer = self.right.apply_pipeline(applied).await?;
        let Definition { name, version, .. } = definition.clone();
        if answer == Ok(Applied::Created) {
            let mut disguise = self.disguise();
            let highest = disguise.highest.entry(name.clone()).or_default();
            *highest = version.max(*highest);
            disguise.declared.insert((name, version), definition);
        }
        Ok(match answer {
            Err(Taken) if self.is(Bug::VersionReplaced) => Ok(Applied::Created),
            answer => answer,
        })
    }

    async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        let mut found = self.right.pipeline(name, version).await?;
        if let Some(info) = &mut found {
            let declared = self.disguise().declared.get(&(name.to_owned(), info.definition.version)).cloned();
            declared.into_iter().for_each(|declared| info.definition = declared);
        }
        Ok(found)
    }

    async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        let mut page = self.right.pipelines(after, limit).await?;
        for info in &mut page.items {
            let of = &info.definition;
            let declared = self.disguise().declared.get(&(of.name.clone(), of.version)).cloned();
            declared.into_iter().for_each(|declared| info.definition = declared);
        }
        Ok(page)
    }

    async fn start_run(&self, run: NewRun) -> Result<std::result::Result<RunId, StartRefusal>> {
        let key = run.key.clone();
        let kept = if self.is(Bug::KeyIgnored) { NewRun { key: None, ..run.clone() } } else { run.clone() };
        let started = self.right.start_run(kept).await?;
        if let (Bug::KeyIgnored, Ok(id), Some(key)) = (self.bug, started, key) {
            self.disguise().keys.insert(id, key);
        }
        if let (Bug::KeyComparesText, Ok(id)) = (self.bug, started) {
            let holder = self.right.run(id).await?.map(|(holder, _)| holder.input);
            if holder.is_some_and(|input| input != run.input) {
                return Ok(Err(StartRefusal::KeyTaken(id)));
            }
        }
        Ok(started)
    }

    async fn claim_units(&self, claim: Claim) -> Result<Option<Claims>> {
        let Some(mut claims) = self.right.claim_units(claim.clone()).await? else { return Ok(None) };
        for unit in &mut claims.units {
            let key = key_of_claim(unit);
            let mut disguise = self.disguise();
            disguise.claims.insert(key.clone(), unit.clone());
            let first = *disguise.firsts.entry(key.clone()).or_insert(unit.token);
            unit.attempt += disguise.extra.get(&key).copied().unwrap_or(0);
            let declared = disguise.declared.get(&(unit.pipeline.clone(), unit.version));
            let declared = declared.and_then(|of| of.find(&unit.stage));
            unit.attempts_max = declared.map_or(unit.attempts_max, |stage| stage.attempts_max);
            match self.bug {
                Bug::TokenReset => unit.token = first,
                Bug::CountedAtFailure => unit.attempt -= 1,
                Bug::RecordForgotten => unit.record = None,
                Bug::StaleHolderRecords => {
                    unit.record = disguise.records.get(&key).cloned().or(unit.record.take());
                }
                Bug::VersionTaken => {
                    unit.version = disguise.highest.get(&unit.pipeline).copied().unwrap_or(unit.version);
                }
                _ => {}
            }
        }
        if let Some(forged) = self.forged(&claim).await? {
            claims.units.push(forged);
        }
        Ok(Some(claims))
    }

    async fn beat_units(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        let mut answers = Vec::new();
        for mut beat in beats {
            let lease = self.lease(&beat.unit).await?.filter(|lease| lease.owner == beat.owner);
            if let (Bug::HeartbeatIgnoresToken, Some(lease)) = (self.bug, lease) {
                beat.token = lease.token;
            }
            let now = match self.bug {
                Bug::HeartbeatRevives => self.back(&beat.unit, &beat.owner, beat.token).await?,
                _ => self.clock.now(),
            };
            let answer = self.right.beat_units(vec![beat.clone()]).await?.remove(0);
            self.clock.set(now);
            if let (Bug::StaleHolderRecords, Err(LostReason::Expired), Some(record)) =
                (self.bug, &answer, beat.record.clone())
            {
                self.disguise().records.insert(beat.unit.clone(), record);
            }
            answers.push(match answer {
                Err(LostReason::Cancelled) if self.is(Bug::CancelledCalledFinished) => Err(LostReason::Finished),
                answer => answer,
            });
        }
        Ok(answers)
    }

    async fn finish_unit(&self, ending: Ending) -> Result<std::result::Result<Ended, Refusal>> {
        let ending = self.taken(ending).await?;
        let before = self.unit(&ending.unit).await?;
        assert!(before.is_some() || ending.unit.segment.is_some() || !self.is(Bug::PanicsOnUnknown), "no such unit");
        let now = match self.bug {
            Bug::FinishIgnoresExpiry => self.back(&ending.unit, &ending.owner, ending.token).await?,
            _ => self.clock.now(),
        };
        let Ending { unit: key, act, .. } = ending.clone();
        let answer = self.right.finish_unit(ending).await?;
        self.clock.set(now);
        if matches!(answer, Ok(ended) if !ended.already) {
            self.left(&key, &act, before).await?;
        }
        Ok(match answer {
            Ok(ended) if self.is(Bug::AlreadyUnmarked) => Ok(Ended { already: false, ..ended }),
            Ok(Ended { already: true, .. }) if self.is(Bug::ReplayRefused) => Err(Refusal::Lost(LostReason::Finished)),
            Err(Refusal::Lost(LostReason::Finished)) if self.is(Bug::AnyVerbReplays) => {
                Ok(Ended { status: Status::Done, already: true })
            }
            Err(Refusal::Lost(LostReason::Cancelled)) if self.is(Bug::CancelLeavesHolders) => {
                Ok(Ended { status: Status::Done, already: false })
            }
            Err(Refusal::Lost(LostReason::Cancelled)) if self.is(Bug::CancelledCalledFinished) => {
                Err(Refusal::Lost(LostReason::Finished))
            }
            answer => answer,
        })
    }

    async fn advance_runs(&self, max: u32) -> Result<Advanced> {
        self.right.advance_runs(if self.is(Bug::AdvanceUnbounded) { 1_000 } else { max }).await
    }

    async fn recover_units(&self, max: u32) -> Result<Recovered> {
        self.right.recover_units(if self.is(Bug::RecoveryUnbounded) { 1_000 } else { max }).await
    }

    async fn operate_run(&self, id: RunId, action: RunAction) -> Result<std::result::Result<RunStatus, RunRefusal>> {
        let running = self.right.run(id).await?.is_some_and(|(run, _)| run.status == RunStatus::Running);
        let attempts = self.right.run(id).await?.map(|(_, stages)| stages).unwrap_or_default();
        let action = match action {
            RunAction::Pause if self.is(Bug::PauseIgnored) && running => return self.pause(id, true).await,
            RunAction::Resume if self.is(Bug::PauseIgnored) && running => return self.pause(id, false).await,
            RunAction::Repair { units } if self.is(Bug::RepairRedoesStage) => {
                RunAction::Repair { units: units.into_iter().map(|(stage, _)| (stage, None)).collect() }
            }
            RunAction::Retry if self.is(Bug::RetryRedoesDone) && !attempts.is_empty() => {
                RunAction::RetryFrom { stage: attempts[0].unit.stage.clone() }
            }
            action => action,
        };
        let answer = self.right.operate_run(id, action.clone()).await?;
        if let (Bug::RetryKeepsAttempts, RunAction::Retry, Ok(_)) = (self.bug, action, answer) {
            let failed = attempts.into_iter().filter(|of| of.unit.failed_for_good()).map(|of| of.unit);
            for unit in failed {
                *self.disguise().extra.entry(key_of(&unit)).or_default() += unit.attempt;
            }
        }
        Ok(answer)
    }

    async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        let done = self.done_stages(id).await?;
        let Some((run, stages)) = self.right.run(id).await? else { return Ok(None) };
        let disguise = self.disguise();
        let stages = stages.into_iter().map(|of| disguise.stage(self.bug, run.version, of)).collect();
        Ok(Some((disguise.run(self.bug, run, done), stages)))
    }

    async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        let page = self.right.runs(filter, before, limit).await?;
        let mut items = Vec::new();
        for run in page.items {
            let done = self.done_stages(run.id).await?;
            items.push(self.disguise().run(self.bug, run, done));
        }
        Ok(Page { items, more: page.more })
    }

    async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        let page = self.right.segments(id, stage, after, limit).await?;
        let mut items = Vec::new();
        for unit in page.items {
            items.push(self.shown(unit).await?);
        }
        Ok(Page { items, more: page.more })
    }

    async fn run_history(&self, id: RunId, limit: u32) -> Result<History> {
        let mut history = self.right.run_history(id, limit).await?;
        for (i, (at, event)) in self.disguise().told.get(&id).into_iter().flatten().enumerate() {
            history.events.insert(at + i, event.clone());
        }
        match self.bug {
            Bug::RefusalsUncounted => history.events.iter_mut().for_each(|event| event.count = 1),
            Bug::ExpiryUntold => history.attempts.retain(|attempt| attempt.outcome != Outcome::Expired),
            _ => {}
        }
        Ok(history)
    }

    async fn prune_runs(&self, max: u32) -> Result<u32> {
        let now = self.clock.now();
        if self.is(Bug::PruneTooEarly) {
            self.clock.set(now.plus_ms(24 * 3_600_000));
        }
        let pruned = self.right.prune_runs(max).await;
        self.clock.set(now);
        pruned
    }
}
