//! All queues as one value: the reference that every backend is compared with.
//!
//! Always true: each method is one atomic step at the instant it is given; what it refuses, it leaves untouched.
//! The in-memory backend is this value behind a lock.

mod look;
mod operator;
mod shelf;
mod sight;

use super::event::{self, Event, What};
use super::job::{Attempt, Job, JobId, Reason, Status};
use super::request::*;
use super::rules::{self, Receipt, Running, Settled, capped};
use crate::bounds::{ATTEMPTS_KEPT, CLAIM_BYTES_MAX, RECEIPT_MS};
use crate::lease::{self, Epoch, Judgement, Lease, LostReason, Presented, Token, Tokens, live};
use crate::time::Time;
use shelf::{Jobs, Rank, Shelf};
use sight::Sightings;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Every queue, job, lease and event of one engine.
#[derive(Debug, Default)]
pub struct Queues {
    last_id: i64,
    tokens: Tokens,
    max_running: Option<u32>,
    running: u64,
    jobs: Jobs,
    queues: BTreeMap<String, Shelf>,
    grants: BTreeMap<Token, Grant>,
    deadlines: BTreeSet<(Time, Token)>,
    events: HashMap<JobId, Vec<Event>>,
    keys: BTreeMap<(String, String), Remembered>,
    /// Endings that are no longer on their job, for the hour that L12 promises.
    receipts: BTreeMap<(JobId, Token), Receipt>,
    /// Who claimed lately, and where.
    sightings: Sightings,
}

/// One lease, over one job or, for a worker that prefetches, several of one queue.
#[derive(Debug)]
struct Grant {
    lease: Lease,
    queue: String,
    units: Vec<JobId>,
    started: usize,
    left: usize,
    /// No heartbeat moves the expiry beyond: the job's own `timeout_ms`.
    ends_at: Option<Time>,
}

/// The job that a dedup key stands for (Q7).
#[derive(Debug)]
struct Remembered {
    job: JobId,
    body: String,
    until: Time,
    /// How the job ended, once it is no longer on record.
    ended: Option<Status>,
}

impl Queues {
    /// No queues yet.
    #[must_use]
    pub fn new() -> Queues {
        Queues::default()
    }

    /// The epoch of the tokens drawn from now on.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.tokens.epoch
    }

    /// Raises the epoch, so that every later token outranks every earlier one (L2). `None` if none would be left.
    pub fn new_epoch(&mut self, now: Time) -> Option<Epoch> {
        self.tokens.raise(now)
    }

    /// The counter of tokens, for the other faces of the same store (L2: one for all).
    pub fn tokens(&mut self) -> &mut Tokens {
        &mut self.tokens
    }

    /// Adds jobs, all in one step and in this order, or none of them. They were [checked](NewJob::check) before.
    pub fn enqueue(&mut self, jobs: Vec<NewJob>, now: Time) -> Result<Vec<Enqueued>, Conflict> {
        let mut sent: BTreeMap<(&str, &str), String> = BTreeMap::new();
        for (index, job) in jobs.iter().enumerate() {
            let Some(key) = job.key.as_deref() else { continue };
            let body = job.body();
            if let Some(known) = self.remembered(&job.queue, key, now).filter(|known| known.body != body) {
                return Err(Conflict { index, id: Some(known.job) });
            }
            match sent.get(&(job.queue.as_str(), key)) {
                Some(first) if *first != body => return Err(Conflict { index, id: None }),
                Some(_) => {}
                None => {
                    sent.insert((&job.queue, key), body);
                }
            }
        }
        Ok(jobs.into_iter().map(|job| self.enqueue_one(job, now)).collect())
    }

    fn enqueue_one(&mut self, new: NewJob, now: Time) -> Enqueued {
        if let Some(known) = new.key.as_deref().and_then(|key| self.remembered(&new.queue, key, now)) {
            let status = known.ended.unwrap_or_else(|| self.jobs[&known.job].status);
            return Enqueued { id: known.job, status, deduplicated: true };
        }
        self.last_id += 1;
        let id = JobId(self.last_id);
        if let Some(key) = &new.key {
            let known = Remembered { job: id, body: new.body(), until: new.key_until(now), ended: None };
            self.keys.insert((new.queue.clone(), key.clone()), known);
        }
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
            ordering_key: new.ordering_key,
            limit_key: new.limit_key,
            cancel_requested: false,
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
        let queue = job.queue.clone();
        self.jobs.insert(id, job);
        self.queues.entry(queue).or_insert_with(|| Shelf::new(now)).admit(&self.jobs, id, now);
        Enqueued { id, status: Status::Queued, deduplicated: false }
    }

    /// What a dedup key stands for: within its window, and at least until the job has ended.
    fn remembered(&self, queue: &str, key: &str, now: Time) -> Option<&Remembered> {
        let known = self.keys.get(&(queue.to_owned(), key.to_owned()))?;
        let open = self.jobs.get(&known.job).is_some_and(|job| !job.status.terminal());
        (known.until > now || open).then_some(known)
    }

    /// Takes jobs that are due, by priority, age and id (Q2), as far as limits, rates and lanes allow (Q8, Q9). Leases
    /// that ran out come back first, so that no sweeper is needed (L7) and their slots are free (Q8). The claim ends before
    /// the first that would not fit into [`CLAIM_BYTES_MAX`].
    pub fn claim(&mut self, claim: &Claim, now: Time) -> Claims {
        self.see(claim, now);
        let queues: BTreeSet<&str> = claim.queues.iter().map(String::as_str).collect();
        let limited = self.max_running.is_some();
        let needed = |grant: &Grant| limited || queues.contains(grant.queue.as_str());
        let expired: Vec<Token> =
            self.expired(now).filter(|token| self.grants.get(token).is_some_and(needed)).collect();
        for token in expired {
            self.recover_grant(token, now);
        }
        for queue in &queues {
            if let Some(shelf) = self.queues.get_mut(*queue) {
                shelf.promote(&self.jobs, now);
            }
        }
        let mut met = BTreeSet::new();
        let mut opens_at = None;
        let mut jobs = Vec::new();
        let mut bytes = 0;
        let mut shared: BTreeMap<String, Token> = BTreeMap::new();
        let started = match claim.grants {
            Grants::Each => claim.max as usize,
            Grants::Shared { started } => started as usize,
        };
        while jobs.len() < claim.max as usize {
            let Some((id, queue)) = self.first_due(&queues, claim, now, &mut met, &mut opens_at) else { break };
            bytes += self.jobs[&id].claim_bytes();
            if bytes > CLAIM_BYTES_MAX && !jobs.is_empty() {
                break;
            }
            let token = match (claim.grants, shared.get(&queue)) {
                (Grants::Shared { .. }, Some(token)) => *token,
                (grants, _) => {
                    let token = self.grant(claim, &queue, self.jobs[&id].timeout_ms, now);
                    if grants != Grants::Each {
                        shared.insert(queue, token);
                    }
                    token
                }
            };
            jobs.push(self.take(id, token, jobs.len() < started, now));
        }
        if !jobs.is_empty() {
            return Claims { jobs, idle: None, again_in_ms: None };
        }
        let idle = met.into_iter().next().unwrap_or(Idle::Empty);
        Claims { jobs, idle: Some(idle), again_in_ms: self.again_in_ms(&queues, opens_at, now) }
    }

    /// The job to claim next; `met` gathers what stood in the way, `opens_at` when the first spent rate is whole again.
    fn first_due(
        &self,
        queues: &BTreeSet<&str>,
        claim: &Claim,
        now: Time,
        met: &mut BTreeSet<Idle>,
        opens_at: &mut Option<Time>,
    ) -> Option<(JobId, String)> {
        if self.full() {
            met.insert(Idle::AtCapacity);
            return None;
        }
        let mut best: Option<(Rank, &str)> = None;
        for queue in queues {
            let Some(shelf) = self.queues.get(*queue) else { continue };
            let closed = [
                (shelf.full(), Idle::AtCapacity),
                (shelf.spent_until(now).is_some(), Idle::RateLimited),
                (shelf.settings.paused, Idle::Paused),
            ];
            met.extend(closed.into_iter().filter(|(closed, _)| *closed).map(|(_, idle)| idle));
            sooner(opens_at, shelf.spent_until(now).filter(|_| !shelf.settings.paused));
            if closed.iter().any(|(closed, _)| *closed) {
                continue;
            }
            if shelf.held_back(&self.jobs, claim.kinds.as_ref()) {
                met.insert(Idle::AtCapacity);
            }
            for rank in &shelf.ready {
                let job = &self.jobs[&rank.2];
                if claim.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&job.kind)) {
                    continue;
                }
                if let Some(until) = job.limit_key.as_deref().and_then(|key| shelf.key_spent_until(key, now)) {
                    met.insert(Idle::RateLimited);
                    sooner(opens_at, Some(until));
                    continue;
                }
                if best.is_none_or(|(first, _)| *rank < first) {
                    best = Some((*rank, queue));
                }
                break;
            }
        }
        best.map(|(rank, queue)| (rank.2, queue.to_owned()))
    }

    /// Whether the engine as a whole has no slot free.
    fn full(&self) -> bool {
        self.max_running.is_some_and(|max| self.running >= u64::from(max))
    }

    /// A new lease over nothing yet.
    fn grant(&mut self, claim: &Claim, queue: &str, timeout_ms: Option<u64>, now: Time) -> Token {
        let token = self.tokens.draw();
        // A lease over several jobs outlives the timeout of each: there the worker itself must watch it.
        let ends_at = timeout_ms.filter(|_| claim.grants == Grants::Each).map(|ms| now.plus_ms(ms));
        let lease = capped(Lease::grant(&claim.owner, token, claim.lease_ms, now), ends_at);
        self.deadlines.insert((lease.expires_at, token));
        let grant = Grant { lease, queue: queue.to_owned(), units: Vec::new(), started: 0, left: 0, ends_at };
        self.grants.insert(token, grant);
        token
    }

    /// Puts a waiting job under a lease.
    fn take(&mut self, id: JobId, token: Token, started: bool, now: Time) -> ClaimedJob {
        let job = self.jobs.get_mut(&id).expect("a ready job is on record");
        let grant = self.grants.get_mut(&token).expect("the lease was just granted");
        let shelf = self.queues.get_mut(&job.queue).expect("a job's queue is on record");
        grant.units.push(id);
        grant.left += 1;
        grant.started += usize::from(started);
        shelf.withdraw(job);
        job.status = Status::Running;
        job.attempt += 1;
        job.token = Some(token);
        shelf.run(job, now);
        self.running += 1;
        ClaimedJob {
            id,
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            payload: job.payload.clone(),
            priority: job.priority,
            attempt: job.attempt,
            attempts_max: job.attempts_max,
            token,
            lease_expires_at: grant.lease.expires_at,
            created_at: job.created_at,
            run_at: job.run_at,
            timeout_ms: job.timeout_ms,
            checkpoint: job.checkpoint.clone(),
            ordering_key: job.ordering_key.clone(),
            limit_key: job.limit_key.clone(),
        }
    }

    /// Marks the first jobs of a shared lease as started, before their handlers run (L6).
    pub fn start(&mut self, start: &Start, now: Time) -> Result<(), LostReason> {
        self.shared(&start.owner, start.token, now)?;
        let grant = self.grants.get_mut(&start.token).expect("a held lease is on record");
        grant.started = grant.started.max((start.count as usize).min(grant.units.len()));
        Ok(())
    }

    /// Renews a lease to `now` plus the time granted at its claim (Q3), never beyond the job's own timeout.
    pub fn heartbeat(&mut self, beat: &Beat, now: Time) -> Result<Beaten, LostReason> {
        let presented = Presented { owner: &beat.owner, token: beat.token, verb: None };
        match beat.job {
            Some(id) => self.judge(id, presented, now).or_lost().map(drop)?,
            None => self.shared(&beat.owner, beat.token, now)?,
        }
        let grant = self.grants.get_mut(&beat.token).expect("a held lease is on record");
        self.deadlines.remove(&(grant.lease.expires_at, beat.token));
        grant.lease.renew(now);
        grant.lease = capped(grant.lease.clone(), grant.ends_at);
        let lease_expires_at = grant.lease.expires_at;
        self.deadlines.insert((lease_expires_at, beat.token));
        let asked = |id: &&JobId| {
            // A job of a shared lease may have ended and been forgotten.
            let asked =
                |job: &Job| job.cancel_requested && job.status == Status::Running && job.token == Some(beat.token);
            self.jobs.get(id).is_some_and(asked)
        };
        let mut cancel_requested: Vec<JobId> = match beat.job {
            Some(id) => [id].iter().filter(asked).copied().collect(),
            None => grant.units.iter().filter(asked).copied().collect(),
        };
        cancel_requested.sort_unstable();
        if let Some(job) = beat.job.and_then(|id| self.jobs.get_mut(&id)) {
            if beat.progress.is_some() {
                job.progress.clone_from(&beat.progress);
            }
            if beat.checkpoint.is_some() {
                job.checkpoint.clone_from(&beat.checkpoint);
            }
        }
        Ok(Beaten { lease_expires_at, cancel_requested })
    }

    /// Ends a claim, if it is held (L3); answers again what was accepted before (L12).
    pub fn finish(&mut self, ending: &Ending, now: Time) -> Result<Ended, LostReason> {
        let verb = ending.act.verb();
        let presented = Presented { owner: &ending.owner, token: ending.token, verb: Some(verb) };
        if let Some(status) = self.judge(ending.job, presented, now).or_lost()? {
            return Ok(Ended { status, already: true });
        }
        let job = self.jobs.get_mut(&ending.job).expect("a held job is on record");
        let settled = rules::settle(&ending.act, running(job), now);
        let error = match &ending.act {
            Act::Complete { result } => {
                job.result.clone_from(result);
                None
            }
            Act::Fail { error, .. } => Some(error.clone()),
            Act::Snooze { .. } | Act::Release => None,
        };
        self.end(ending.job, settled, Some(verb), error, now);
        Ok(Ended { status: settled.status, already: false })
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
        // The timeout, and not the worker's silence, ended it only if the lease had been kept up to there.
        let timed_out = grant.ends_at == Some(grant.lease.expires_at);
        let held: Vec<(JobId, bool)> = grant
            .units
            .iter()
            .enumerate()
            .filter(|(_, id)| {
                self.jobs.get(id).is_some_and(|job| job.status == Status::Running && job.token == Some(token))
            })
            .map(|(i, id)| (*id, i < grant.started))
            .collect();
        for (id, started) in held {
            let job = &self.jobs[&id];
            let settled = rules::expire(started, timed_out, running(job));
            let error = timed_out.then(|| format!("took longer than {} ms", job.timeout_ms.unwrap_or(0)));
            self.end(id, settled, None, error, now);
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
        let told = settled.events(id, &grant.lease, job.attempt, error.as_deref(), now);
        self.events.entry(id).or_default().extend(told);

        job.attempts.push(Attempt {
            token,
            owner: grant.lease.owner.clone(),
            claimed_at: grant.lease.granted_at,
            ended_at: Some(now),
            outcome: Some(settled.outcome),
            verb,
            error: error.clone(),
            pulse: grant.lease.pulse,
        });
        if job.attempts.len() > ATTEMPTS_KEPT {
            let evicted = job.attempts.remove(0);
            self.receipts.extend(receipt(id, &evicted, now));
        }
        job.status = settled.status;
        job.reason = settled.reason;
        job.attempt = settled.attempt;
        job.run_at = settled.run_at;
        job.error = error.or(job.error.take());
        grant.left -= 1;
        if grant.left == 0 {
            self.deadlines.remove(&(grant.lease.expires_at, token));
            self.grants.remove(&token);
        }
        self.running -= 1;
        self.place(id, now);
    }

    /// Puts a job that was running, or that an operator moved, where its new status belongs.
    fn place(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get_mut(&id).expect("a placed job is on record");
        let shelf = self.queues.get_mut(&job.queue).expect("a job's queue is on record");
        let terminal = job.status.terminal();
        if terminal {
            job.finished_at = Some(now);
            job.cancel_requested = false;
        }
        let job = &self.jobs[&id];
        shelf.halt(job);
        if terminal {
            let blocks = job.status == Status::Failed && job.reason != Some(Reason::Cancelled);
            shelf.retire(&self.jobs, job, job.status, blocks, now);
            if shelf.settings.retention_ms == 0 && !shelf.blocks(job) {
                self.forget(id, now);
            }
        } else {
            shelf.admit(&self.jobs, id, now);
        }
    }

    /// Whether a lease is held, whatever is left under it.
    fn shared(&self, owner: &str, token: Token, now: Time) -> Result<(), LostReason> {
        let lease = self.grants.get(&token).map(|grant| &grant.lease);
        let presented = Presented::<Verb> { owner, token, verb: None };
        lease::judge::<Verb, Status>(presented, None, Some(token), lease, now).or_lost().map(drop)
    }

    /// Judges a write, and counts a refusal into the event of that token and reason (L8).
    fn judge(&mut self, id: JobId, presented: Presented<'_, Verb>, now: Time) -> Judgement<Status> {
        let Presented { owner, token, verb } = presented;
        let job = self.jobs.get(&id);
        let kept = || self.receipts.get(&(id, token)).cloned();
        let receipt = job.and_then(|job| job.receipt(presented)).or_else(kept);
        // Of a job that is gone, the receipt of its last claim stays longest.
        let of_job = (id, Token(i64::MIN))..=(id, Token(i64::MAX));
        let gone = || self.receipts.range(of_job).next_back().map(|((_, token), _)| *token);
        let last = job.map_or_else(gone, |job| job.token);
        let running = job.filter(|job| job.status == Status::Running);
        let grant = running.and_then(|job| self.grants.get(&job.token?));
        let judgement = lease::judge(presented, receipt.as_ref(), last, grant.map(|grant| &grant.lease), now);
        if let (Judgement::Lost(reason), true) = (judgement, job.is_some()) {
            let refused = Event { verb, lost: Some(reason), ..Event::new(now, id, What::Refused).by(owner, token) };
            event::count_refusal(self.events.entry(id).or_default(), refused);
        }
        judgement
    }

    /// Removes a finished job, keeping what L12 and Q7 still promise about it.
    fn forget(&mut self, id: JobId, now: Time) {
        let Some(job) = self.jobs.remove(&id) else { return };
        if let Some(shelf) = self.queues.get_mut(&job.queue) {
            *shelf.count(job.status) -= 1;
        }
        self.receipts.extend(job.attempts.iter().filter_map(|attempt| receipt(id, attempt, now)));
        for known in self.keys.values_mut().filter(|known| known.job == id) {
            known.ended = Some(job.status);
        }
        self.events.remove(&id);
    }

    fn expired(&self, now: Time) -> impl Iterator<Item = Token> {
        self.deadlines.iter().take_while(move |(at, _)| !live(*at, now)).map(|(_, token)| *token)
    }
}

/// What is remembered of an attempt that leaves its job within the hour.
fn receipt(id: JobId, attempt: &Attempt, now: Time) -> Option<((JobId, Token), Receipt)> {
    let receipt = attempt.receipt();
    (receipt.at.plus_ms(RECEIPT_MS) > now).then_some(((id, attempt.token), receipt))
}

/// The earlier of two instants that may be missing.
fn sooner(at: &mut Option<Time>, other: Option<Time>) {
    *at = (*at).into_iter().chain(other).min();
}

fn running(job: &Job) -> Running {
    Running {
        attempt: job.attempt,
        attempts_max: job.attempts_max,
        backoff: job.backoff,
        run_at: job.run_at,
        cancel_requested: job.cancel_requested,
    }
}
