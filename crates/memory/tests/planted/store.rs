//! The memory store with one mistake in front of it: what the mistakes replace.

use super::Bug;
use super::support::Wrongly;
use super::wrong::Wrong;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::changes::{Changed, Difference, Face, Subject};
use tenure_core::queue::{
    Action, Beat, Beaten, Change, Claim, Claims, Conflict, Ended, Ending, Enqueued, Event, Filter, Grants, Idle, Job,
    JobId, NewJob, Operation, Pruned, QueueInfo, Recovered, Refusal, Situation, Start, Status, What, Worker,
};
use tenure_core::{Actor, Epoch, Token};
use tenure_memory::MemoryStore;
use tenure_store::{Clock, Fenced, QueueStore, Result, Upkeep};

#[async_trait]
impl Wrongly for Wrong {
    fn planted(bug: usize, clock: Clock) -> Wrong {
        Wrong::new(Bug::ALL[bug], clock)
    }

    fn right(&self) -> &MemoryStore {
        &self.right
    }

    fn handles_apart(&self) -> bool {
        self.is(Bug::HandlesApart)
    }

    async fn enqueue(&self, mut jobs: Vec<NewJob>) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
        if self.is(Bug::BulkReversed) {
            jobs.reverse();
        }
        let mut enqueued = self.enqueue_disguised(jobs).await?;
        if let (Bug::BulkReversed, Ok(enqueued)) = (self.bug, &mut enqueued) {
            enqueued.reverse();
        }
        Ok(enqueued)
    }

    async fn claim(&self, mut claim: Claim) -> Result<Claims> {
        let owner = claim.owner.clone();
        let before = self.last_claims.lock().expect("no panic").take();
        match (self.bug, claim.grants) {
            (Bug::ClaimIgnoresKinds, _) => claim.kinds = None,
            (Bug::ClaimOneQueue, _) => claim.queues.truncate(1),
            (Bug::NeighboursCounted, Grants::Shared { .. }) => claim = claim.shared(1_000),
            (Bug::ClaimGivenTwice, _) if before.as_ref().is_some_and(|claims| claims.jobs.len() > 2) => {
                return Ok(before.expect("looked at above"));
            }
            _ => {}
        }
        let mut claims = match claim.grants {
            Grants::Each if self.is(Bug::CrashesUncounted) => self.claim_one_by_one(claim).await?,
            _ if self.is(Bug::EngineLimitByUnexpired) => self.claim_by_unexpired(claim).await?,
            _ => self.right.claim(claim).await?,
        };
        if claims.idle.is_none() {
            self.disguise.lock().expect("no panic").seen(owner, self.clock.now());
        }
        if self.is(Bug::IdleAlwaysEmpty) {
            claims.idle = claims.idle.map(|_| Idle::Empty);
        }
        if self.is(Bug::ClaimReversed) {
            claims.jobs.reverse();
        }
        for job in &mut claims.jobs {
            self.disguise.lock().expect("no panic").claimed(job);
            match (self.bug, before.as_ref().and_then(|claims| claims.jobs.first())) {
                (Bug::OneAttemptMore, _) => job.attempts_max -= 1,
                (Bug::TokenRepeats, Some(before)) => job.token = before.token,
                _ => {}
            }
        }
        *self.last_claims.lock().expect("no panic") = Some(claims.clone());
        Ok(claims)
    }

    async fn start(&self, start: Start) -> Result<Fenced<()>> {
        let start = if self.is(Bug::StartIgnored) { Start { count: 0, ..start } } else { start };
        self.right.start(start).await
    }

    async fn heartbeat(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        let mut answers = Vec::new();
        for beat in beats {
            answers.push(self.beat_one(beat).await?);
        }
        Ok(answers)
    }

    async fn finish(&self, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>> {
        let mut answers = Vec::new();
        for ending in endings {
            answers.push(self.finish_one(ending).await?);
        }
        Ok(answers)
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        Ok(self.right.job(id).await?.map(|job| self.shown(job)))
    }

    async fn events(&self, id: JobId) -> Result<Vec<Event>> {
        let mut events = self.right.events(id).await?;
        match self.bug {
            Bug::RefusalsForgotten => events.retain(|event| event.what != What::Refused),
            Bug::ActorForgotten => events.iter_mut().for_each(|event| event.by = None),
            Bug::FirstTimeForgotten => events.iter_mut().for_each(|event| event.first_at = None),
            Bug::RefusalsUncounted => events.iter_mut().for_each(|event| event.count = 1),
            Bug::RefusalsByReason => {
                let later = events.clone();
                let erased = |event: &Event| {
                    let of_another =
                        |other: &Event| (other.what, other.lost) == (What::Refused, event.lost) && other.at > event.at;
                    event.what == What::Refused && later.iter().any(of_another)
                };
                events.retain(|event| !erased(event));
            }
            _ => {}
        }
        Ok(events)
    }

    async fn jobs(&self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>> {
        let overlap = i64::from(self.is(Bug::PagesOverlap));
        let page = self.right.jobs(filter, before.map(|id| JobId(id.0 + overlap)), limit).await?;
        Ok(Page { items: page.items.into_iter().map(|job| self.shown(job)).collect(), more: page.more })
    }

    async fn queue(&self, name: &str) -> Result<Option<QueueInfo>> {
        let mut queue = self.right.queue(name).await?;
        if let Some(queue) = queue.as_mut().filter(|_| self.is(Bug::FailuresUncounted)) {
            queue.counts.failed = 0;
        }
        Ok(queue.map(|queue| self.shown_queue(queue)))
    }

    async fn queues(&self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
        let page = self.right.queues(after, limit).await?;
        Ok(Page { items: page.items.into_iter().map(|queue| self.shown_queue(queue)).collect(), more: page.more })
    }

    async fn change(&self, name: &str, change: Change) -> Result<QueueInfo> {
        let queue = self.right.change(name, self.obeyed(change)).await?;
        {
            let mut disguise = self.disguise.lock().expect("no panic");
            let settings = disguise.settings.entry(name.to_owned()).or_default();
            let before = *settings;
            *settings = before.changed(&change);
            let (differences, now) = (before.differences(settings), self.clock.now());
            disguise.changes.changed(Subject::new(Face::Queue, name), &Actor::default(), differences, now);
        }
        Ok(self.shown_queue(queue))
    }

    async fn limit(&self) -> Result<Option<u32>> {
        Ok(self.disguise.lock().expect("no panic").engine_max)
    }

    async fn set_limit(&self, max_running: Option<u32>) -> Result<()> {
        {
            let mut disguise = self.disguise.lock().expect("no panic");
            let difference = Difference::limit(disguise.engine_max, max_running).into_iter().collect();
            disguise.changes.changed(Subject::store(), &Actor::default(), difference, self.clock.now());
            disguise.engine_max = max_running;
        }
        self.right.set_limit(max_running.filter(|_| !self.is(Bug::EngineLimitIgnored))).await
    }

    async fn operate(&self, operations: Vec<Operation>) -> Result<Vec<std::result::Result<Status, Refusal>>> {
        let mut answers = Vec::new();
        for operation in operations {
            answers.push(self.operate_one(operation).await?);
        }
        Ok(answers)
    }

    async fn workers(&self, after: Option<&str>, limit: u32) -> Result<Page<Worker>> {
        let mut page = self.right.workers(after, limit).await?;
        if self.is(Bug::EmptyClaimUnseen) {
            let disguise = self.disguise.lock().expect("no panic");
            page.items.retain(|worker| disguise.lucky.contains_key(&worker.name));
            page.items.iter_mut().for_each(|worker| worker.last_seen_at = disguise.lucky[&worker.name]);
        }
        if self.is(Bug::SightingsForgottenEarly) {
            let now = self.clock.now();
            page.items.retain(|worker| worker.last_seen_at.plus_ms(3_600_000) > now);
        }
        Ok(Page { items: page.items.into_iter().map(|worker| self.shown_worker(worker)).collect(), ..page })
    }

    async fn situation(&self, id: JobId) -> Result<Option<Situation>> {
        let engine_max = self.disguise.lock().expect("no panic").engine_max;
        let situation = self.right.situation(id).await?;
        Ok(situation.map(|of| self.shown_situation(Situation { engine_max, ..of })))
    }

    async fn recover(&self, leases_max: u32) -> Result<Recovered> {
        self.right.recover(if self.is(Bug::RecoveryUnbounded) { 1_000 } else { leases_max }).await
    }

    async fn prune(&self, max: u32) -> Result<Pruned> {
        if !self.is(Bug::PruneTooEarly) {
            return self.right.prune(if self.is(Bug::PruneUnbounded) { 1_000 } else { max }).await;
        }
        let now = self.clock.now();
        self.clock.set(now.plus_ms(1_000));
        let pruned = self.right.prune(max).await;
        self.clock.set(now);
        pruned
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        if self.is(Bug::EpochKept) {
            let epoch = self.right.epoch().await?;
            return Ok(Epoch { count: epoch.count + 1, base: Token(1 << 40) });
        }
        let before = self.right.epoch().await?;
        let raised = self.right.new_epoch().await?;
        let difference = Difference::epoch(before.count, raised.count).into_iter().collect();
        let changes = &mut self.disguise.lock().expect("no panic").changes;
        changes.changed(Subject::store(), &Actor::default(), difference, self.clock.now());
        Ok(raised)
    }

    async fn changes(&self, subject: Subject) -> Result<Vec<Changed>> {
        let mut changes = self.disguise.lock().expect("no panic").changes.of(&subject);
        if self.is(Bug::ChangesUntold) {
            changes.clear();
        }
        Ok(changes)
    }
}

impl Wrong {
    async fn operate_one(&self, mut operation: Operation) -> Result<std::result::Result<Status, Refusal>> {
        let job = self.right.job(operation.job).await?;
        let running = job.as_ref().is_some_and(|job| job.status == Status::Running);
        match (self.bug, &mut operation.action) {
            (Bug::CancelIgnored, Action::Cancel { force: false, .. }) if running => return Ok(Ok(Status::Running)),
            (Bug::ForceOnlyAsks, Action::Cancel { force, .. }) => *force = false,
            _ => {}
        }
        let retry = operation.action == Action::Retry;
        let answer = self.right.operate(vec![operation]).await?.remove(0);
        if let Some(job) = job.filter(|_| self.is(Bug::RetryKeepsAttempts) && retry && answer.is_ok()) {
            *self.disguise.lock().expect("no panic").kept_attempts.entry(job.id).or_default() += job.attempt;
        }
        Ok(match answer {
            Err(Refusal::Terminal) if self.is(Bug::CancelOfEnded) => Ok(Status::Failed),
            Err(Refusal::NotTerminal) if self.is(Bug::RetryOfUnended) => Ok(Status::Queued),
            answer => answer,
        })
    }
}
