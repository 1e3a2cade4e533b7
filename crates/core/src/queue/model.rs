//! All queues as one value: the reference that every backend is compared with.
//!
//! Always true: each method is one atomic step at the instant it is given; what it refuses, it leaves untouched.
//! The in-memory backend is this value behind a lock.

use super::event::{Event, What};
use super::job::{Attempt, Job, JobId, Lease, Status};
use super::request::*;
use super::rules::{self, Current, Judgement, Presented, Running, Settled};
use crate::bounds::ATTEMPTS_KEPT;
use crate::lease::{EPOCH_MAX, LostReason, Pulse, Token, live, renewed};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The order of claims (Q2).
type Rank = (Reverse<i32>, Time, JobId);

/// Every queue, job, lease and event of one engine.
#[derive(Debug, Default)]
pub struct Queues {
    last_id: i64,
    epoch: u16,
    grants_drawn: u64,
    jobs: BTreeMap<JobId, Job>,
    queues: BTreeMap<String, Shelf>,
    grants: BTreeMap<Token, Grant>,
    deadlines: BTreeSet<(Time, Token)>,
    events: HashMap<JobId, Vec<Event>>,
}

/// What waits in one queue, and how much of everything it holds.
#[derive(Debug)]
struct Shelf {
    created_at: Time,
    ready: BTreeSet<Rank>,
    scheduled: BTreeSet<(Time, JobId)>,
    waiting: BTreeSet<JobId>,
    counts: Counts,
}

/// One lease, over one job or, for a worker that prefetches, several of one queue.
#[derive(Debug)]
struct Grant {
    owner: String,
    queue: String,
    units: Vec<JobId>,
    started: usize,
    left: usize,
    lease_ms: u64,
    granted_at: Time,
    expires_at: Time,
    pulse: Pulse,
}

impl Queues {
    /// No queues yet.
    #[must_use]
    pub fn new() -> Queues {
        Queues::default()
    }

    /// The epoch of the tokens drawn from now on.
    #[must_use]
    pub fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Raises the epoch, so that every later token outranks every earlier one (L2). `None` if it was the last.
    pub fn new_epoch(&mut self) -> Option<u16> {
        if self.epoch == EPOCH_MAX {
            return None;
        }
        self.epoch += 1;
        Some(self.epoch)
    }

    /// Adds jobs, all in one step and in this order. They were [checked](NewJob::check) before.
    pub fn enqueue(&mut self, jobs: Vec<NewJob>, now: Time) -> Vec<Enqueued> {
        jobs.into_iter().map(|job| self.enqueue_one(job, now)).collect()
    }

    fn enqueue_one(&mut self, new: NewJob, now: Time) -> Enqueued {
        self.last_id += 1;
        let id = JobId(self.last_id);
        let job = Job {
            id,
            queue: new.queue,
            kind: new.kind,
            payload: new.payload,
            priority: new.priority,
            created_at: now,
            run_at: new.run_at.unwrap_or(now),
            attempt: 0,
            attempts_max: new.attempts_max,
            backoff: new.backoff,
            timeout_ms: new.timeout_ms,
            status: Status::Queued,
            reason: None,
            result: None,
            error: None,
            progress: None,
            checkpoint: None,
            token: None,
            lease: None,
            attempts: Vec::new(),
            finished_at: None,
        };
        self.queues.entry(job.queue.clone()).or_insert_with(|| Shelf::new(now)).add(&job, now);
        self.jobs.insert(id, job);
        Enqueued { id, status: Status::Queued, deduplicated: false }
    }

    /// Takes jobs that are due, by priority, age and id (Q2). Leases that ran out in these queues come back first, so
    /// that no sweeper is needed (L7).
    pub fn claim(&mut self, claim: &Claim, now: Time) -> Claims {
        let queues: BTreeSet<&str> = claim.queues.iter().map(String::as_str).collect();
        let expired: Vec<Token> = self
            .expired(now)
            .filter(|token| self.grants.get(token).is_some_and(|grant| queues.contains(grant.queue.as_str())))
            .collect();
        for token in expired {
            self.recover_grant(token, now);
        }
        let mut due: Vec<(Rank, String)> = Vec::new();
        for queue in &queues {
            let Some(shelf) = self.queues.get_mut(*queue) else { continue };
            shelf.promote(&self.jobs, now);
            let known =
                |rank: &&Rank| claim.kinds.as_ref().is_none_or(|kinds| kinds.contains(&self.jobs[&rank.2].kind));
            let first = shelf.ready.iter().filter(known).take(claim.max as usize);
            due.extend(first.map(|rank| (*rank, (*queue).to_owned())));
        }
        due.sort();
        due.truncate(claim.max as usize);
        if due.is_empty() {
            return Claims { jobs: Vec::new(), idle: Some(Idle::Empty), again_in_ms: self.again_in_ms(&queues, now) };
        }
        let started = match claim.grants {
            Grants::Each => due.len(),
            Grants::Shared { started } => started as usize,
        };
        let mut shared: BTreeMap<String, Token> = BTreeMap::new();
        let mut jobs = Vec::with_capacity(due.len());
        for (i, ((_, _, id), queue)) in due.into_iter().enumerate() {
            let token = match claim.grants {
                Grants::Each => self.grant(claim, &queue, now),
                Grants::Shared { .. } => match shared.get(&queue) {
                    Some(token) => *token,
                    None => {
                        let token = self.grant(claim, &queue, now);
                        shared.insert(queue.clone(), token);
                        token
                    }
                },
            };
            jobs.push(self.take(id, token, i < started));
        }
        Claims { jobs, idle: None, again_in_ms: None }
    }

    /// A new lease over nothing yet.
    fn grant(&mut self, claim: &Claim, queue: &str, now: Time) -> Token {
        self.grants_drawn += 1;
        let token = Token::new(self.epoch, self.grants_drawn);
        let expires_at = renewed(None, now, claim.lease_ms);
        self.deadlines.insert((expires_at, token));
        self.grants.insert(
            token,
            Grant {
                owner: claim.owner.clone(),
                queue: queue.to_owned(),
                units: Vec::new(),
                started: 0,
                left: 0,
                lease_ms: claim.lease_ms,
                granted_at: now,
                expires_at,
                pulse: Pulse::default(),
            },
        );
        token
    }

    /// Puts a waiting job under a lease.
    fn take(&mut self, id: JobId, token: Token, started: bool) -> ClaimedJob {
        let job = self.jobs.get_mut(&id).expect("a ready job is on record");
        let grant = self.grants.get_mut(&token).expect("the lease was just granted");
        let shelf = self.queues.get_mut(&job.queue).expect("a job's queue is on record");
        grant.units.push(id);
        grant.left += 1;
        grant.started += usize::from(started);
        shelf.remove(job);
        job.status = Status::Running;
        job.attempt += 1;
        job.token = Some(token);
        *shelf.count(Status::Running) += 1;
        ClaimedJob {
            id,
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            payload: job.payload.clone(),
            priority: job.priority,
            attempt: job.attempt,
            attempts_max: job.attempts_max,
            token,
            lease_expires_at: grant.expires_at,
            created_at: job.created_at,
            run_at: job.run_at,
            timeout_ms: job.timeout_ms,
            checkpoint: job.checkpoint.clone(),
        }
    }

    /// Marks the first jobs of a shared lease as started, before their handlers run (L6).
    pub fn start(&mut self, start: &Start, now: Time) -> Result<(), LostReason> {
        let grant = self.grants.get_mut(&start.token).filter(|grant| grant.owner == start.owner);
        let grant = grant.ok_or(LostReason::Unknown)?;
        if !live(grant.expires_at, now) {
            return Err(LostReason::Expired);
        }
        grant.started = grant.started.max((start.count as usize).min(grant.units.len()));
        Ok(())
    }

    /// Renews a lease to `now` plus the time granted at its claim (Q3).
    pub fn heartbeat(&mut self, beat: &Beat, now: Time) -> Result<Beaten, LostReason> {
        match beat.job {
            Some(id) => match self.judge(id, &beat.owner, beat.token, None, now) {
                Judgement::Held => {}
                Judgement::Already(_) => return Err(LostReason::Finished),
                Judgement::Lost(reason) => return Err(reason),
            },
            None => {
                let grant = self.grants.get(&beat.token).filter(|grant| grant.owner == beat.owner);
                let grant = grant.ok_or(LostReason::Unknown)?;
                if !live(grant.expires_at, now) {
                    return Err(LostReason::Expired);
                }
            }
        }
        let grant = self.grants.get_mut(&beat.token).expect("a held lease is on record");
        self.deadlines.remove(&(grant.expires_at, beat.token));
        grant.expires_at = renewed(Some(grant.expires_at), now, grant.lease_ms);
        grant.pulse.beat(grant.granted_at, now);
        let lease_expires_at = grant.expires_at;
        self.deadlines.insert((lease_expires_at, beat.token));
        if let Some(job) = beat.job.and_then(|id| self.jobs.get_mut(&id)) {
            if beat.progress.is_some() {
                job.progress.clone_from(&beat.progress);
            }
            if beat.checkpoint.is_some() {
                job.checkpoint.clone_from(&beat.checkpoint);
            }
        }
        Ok(Beaten { lease_expires_at, cancel_requested: Vec::new() })
    }

    /// Ends a claim, if it is held (L3); answers again what was accepted before (L12).
    pub fn finish(&mut self, ending: &Ending, now: Time) -> Result<Ended, LostReason> {
        let verb = ending.act.verb();
        match self.judge(ending.job, &ending.owner, ending.token, Some(verb), now) {
            Judgement::Held => {}
            Judgement::Already(ended) => return Ok(ended),
            Judgement::Lost(reason) => return Err(reason),
        }
        let job = &self.jobs[&ending.job];
        let settled = rules::settle(&ending.act, running(job), now);
        let (error, result) = match &ending.act {
            Act::Complete { result } => (None, result.clone()),
            Act::Fail { error, .. } => (Some(error.clone()), None),
            Act::Snooze { .. } | Act::Release => (None, None),
        };
        self.end(ending.job, settled, Some(verb), error, now);
        let job = self.jobs.get_mut(&ending.job).expect("the job was just ended");
        job.result = result.or(job.result.take());
        Ok(Ended::by(settled.outcome))
    }

    /// Returns the work of leases that ran out, at most `leases_max` of them, oldest deadline first (L7).
    pub fn recover(&mut self, leases_max: usize, now: Time) -> Recovered {
        let expired: Vec<Token> = self.expired(now).take(leases_max).collect();
        let mut total = Recovered::default();
        for token in expired {
            let one = self.recover_grant(token, now);
            total.leases += one.leases;
            total.requeued += one.requeued;
            total.failed += one.failed;
        }
        total
    }

    fn recover_grant(&mut self, token: Token, now: Time) -> Recovered {
        let mut recovered = Recovered { leases: 1, ..Recovered::default() };
        let grant = &self.grants[&token];
        let held: Vec<(JobId, bool)> = grant
            .units
            .iter()
            .enumerate()
            .filter(|(_, id)| self.jobs[id].status == Status::Running && self.jobs[id].token == Some(token))
            .map(|(i, id)| (*id, i < grant.started))
            .collect();
        for (id, started) in held {
            let settled = rules::expire(started, running(&self.jobs[&id]));
            self.end(id, settled, None, None, now);
            match settled.status {
                Status::Failed => recovered.failed += 1,
                _ => recovered.requeued += 1,
            }
        }
        recovered
    }

    /// Moves a running job out of its lease and writes down how its attempt ended.
    fn end(&mut self, id: JobId, settled: Settled, verb: Option<Verb>, error: Option<String>, now: Time) {
        let job = self.jobs.get_mut(&id).expect("a running job is on record");
        let token = job.token.expect("a running job has a token");
        let grant = self.grants.get_mut(&token).expect("a running job has a lease");
        let shelf = self.queues.get_mut(&job.queue).expect("a job's queue is on record");

        let owner = grant.owner.clone();
        let counted = job.attempt == settled.attempt;
        let event = |what| {
            let event = Event::new(now, id, what).by(&owner, token).error(error.as_deref());
            Event { attempt: counted.then_some(settled.attempt), reason: settled.reason, ..event }
        };
        let mut events = Vec::new();
        use super::job::Outcome;
        match settled.outcome {
            Outcome::Expired => {
                events.push(Event { reason: None, ..event(What::Expired) });
                if settled.status == Status::Failed {
                    events.push(event(What::Failed));
                }
            }
            Outcome::Retried => events.push(Event { until: Some(settled.run_at), ..event(What::Retried) }),
            Outcome::Failed | Outcome::Cancelled => events.push(event(What::Failed)),
            Outcome::Completed | Outcome::Snoozed | Outcome::Released => {}
        }
        self.events.entry(id).or_default().extend(events);

        job.attempts.push(Attempt {
            token,
            owner,
            claimed_at: grant.granted_at,
            ended_at: Some(now),
            outcome: Some(settled.outcome),
            verb,
            error: error.clone(),
            pulse: grant.pulse,
        });
        if job.attempts.len() > ATTEMPTS_KEPT {
            job.attempts.remove(0);
        }
        *shelf.count(Status::Running) -= 1;
        job.status = settled.status;
        job.reason = settled.reason;
        job.attempt = settled.attempt;
        job.run_at = settled.run_at;
        job.error = error.or(job.error.take());
        if settled.status.terminal() {
            job.finished_at = Some(now);
            *shelf.count(settled.status) += 1;
        } else {
            shelf.add(job, now);
        }
        grant.left -= 1;
        if grant.left == 0 {
            self.deadlines.remove(&(grant.expires_at, token));
            self.grants.remove(&token);
        }
    }

    /// Judges a write, and counts a refusal into the job's one event for that reason (L8).
    fn judge(&mut self, id: JobId, owner: &str, token: Token, verb: Option<Verb>, now: Time) -> Judgement {
        let Some(job) = self.jobs.get(&id) else {
            return Judgement::Lost(LostReason::Unknown);
        };
        let running = job.status == Status::Running;
        let grant = job.token.filter(|_| running).and_then(|token| self.grants.get(&token).map(|grant| (token, grant)));
        let current = grant.map(|(token, grant)| Current { owner: &grant.owner, token, expires_at: grant.expires_at });
        let judgement = rules::judge(Presented { owner, token, verb }, &job.attempts, job.token, current, now);
        if let Judgement::Lost(reason) = judgement {
            let events = self.events.entry(id).or_default();
            let refused = Event { verb, lost: Some(reason), ..Event::new(now, id, What::Refused).by(owner, token) };
            match events.iter_mut().find(|event| event.what == What::Refused && event.lost == Some(reason)) {
                Some(event) => *event = Event { count: event.count + 1, ..refused },
                None => events.push(refused),
            }
        }
        judgement
    }

    /// One job, with its lease if it runs.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<Job> {
        self.jobs.get(&id).map(|job| self.shown(job))
    }

    /// The events stored for a job, oldest first.
    #[must_use]
    pub fn events(&self, id: JobId) -> Vec<Event> {
        self.events.get(&id).cloned().unwrap_or_default()
    }

    /// Jobs that match, newest first, from below `before`.
    #[must_use]
    pub fn jobs(&self, filter: &Filter, before: Option<JobId>, limit: usize) -> Page<Job> {
        let matches = |job: &&Job| {
            filter.queue.as_ref().is_none_or(|queue| job.queue == *queue)
                && filter.status.is_none_or(|status| job.status == status)
                && filter.kind.as_ref().is_none_or(|kind| job.kind == *kind)
        };
        let mut found = self.jobs.range(..before.unwrap_or(JobId(i64::MAX))).rev().map(|(_, job)| job).filter(matches);
        let items: Vec<Job> = found.by_ref().take(limit).map(|job| self.shown(job)).collect();
        Page { items, more: found.next().is_some() }
    }

    /// One queue and its counts.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<QueueInfo> {
        self.queues.get(name).map(|shelf| QueueInfo {
            name: name.to_owned(),
            created_at: shelf.created_at,
            counts: shelf.counts,
            oldest_queued_at: shelf.waiting.first().map(|id| self.jobs[id].created_at),
        })
    }

    /// Queues by name, from after `after`.
    #[must_use]
    pub fn queues(&self, after: Option<&str>, limit: usize) -> Page<QueueInfo> {
        let mut names = self.queues.keys().filter(|name| after.is_none_or(|after| name.as_str() > after));
        let items = names.by_ref().take(limit).filter_map(|name| self.queue(name)).collect();
        Page { items, more: names.next().is_some() }
    }

    fn shown(&self, job: &Job) -> Job {
        let grant = job.token.filter(|_| job.status == Status::Running).and_then(|token| self.grants.get(&token));
        let lease = grant.zip(job.token).map(|(grant, token)| Lease {
            owner: grant.owner.clone(),
            token,
            granted_at: grant.granted_at,
            expires_at: grant.expires_at,
            pulse: grant.pulse,
        });
        Job { lease, ..job.clone() }
    }

    fn expired(&self, now: Time) -> impl Iterator<Item = Token> {
        self.deadlines.iter().take_while(move |(at, _)| !live(*at, now)).map(|(_, token)| *token)
    }

    fn again_in_ms(&self, queues: &BTreeSet<&str>, now: Time) -> Option<u64> {
        let due = queues.iter().filter_map(|queue| self.queues.get(*queue)?.scheduled.first()).map(|(at, _)| *at);
        let grants = self.grants.values().filter(|grant| queues.contains(grant.queue.as_str()));
        let ends = grants.map(|grant| grant.expires_at);
        // Rounded up: asking a moment too early would find nothing.
        due.chain(ends).min().map(|at| Time(at.0 + 999).ms_since(now))
    }
}

impl Shelf {
    fn new(created_at: Time) -> Shelf {
        Shelf {
            created_at,
            ready: BTreeSet::new(),
            scheduled: BTreeSet::new(),
            waiting: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    /// A job that now waits.
    fn add(&mut self, job: &Job, now: Time) {
        if job.run_at <= now {
            self.ready.insert(rank(job));
        } else {
            self.scheduled.insert((job.run_at, job.id));
        }
        self.waiting.insert(job.id);
        self.counts.queued += 1;
    }

    /// A job that no longer waits.
    fn remove(&mut self, job: &Job) {
        self.ready.remove(&rank(job));
        self.scheduled.remove(&(job.run_at, job.id));
        self.waiting.remove(&job.id);
        self.counts.queued -= 1;
    }

    /// Scheduled jobs that are due take their place among the ready ones.
    fn promote(&mut self, jobs: &BTreeMap<JobId, Job>, now: Time) {
        while let Some((_, id)) = self.scheduled.first().copied().filter(|(run_at, _)| *run_at <= now) {
            self.scheduled.pop_first();
            self.ready.insert(rank(&jobs[&id]));
        }
    }

    fn count(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Queued => &mut self.counts.queued,
            Status::Running => &mut self.counts.running,
            Status::Completed => &mut self.counts.completed,
            Status::Failed => &mut self.counts.failed,
        }
    }
}

fn rank(job: &Job) -> Rank {
    (Reverse(job.priority), job.created_at, job.id)
}

fn running(job: &Job) -> Running {
    Running { attempt: job.attempt, attempts_max: job.attempts_max, backoff: job.backoff, run_at: job.run_at }
}
