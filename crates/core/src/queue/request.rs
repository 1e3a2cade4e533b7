//! What can be asked of a queue, and what is answered.
//!
//! Requests are plain data. `check` refuses what is out of bounds, in the words of [`bounds`]; the library calls it
//! before a backend sees the request, so every surface and backend refuses alike.

use super::job::{JobId, Status};
use super::settings::Settings;
use crate::bounds::{self, Code, Invalid};
use crate::json;
use crate::lease::Token;
use crate::retry::{Backoff, Retry};
use crate::time::Time;
use crate::words::words;

/// A job to enqueue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = JobOfSchedule))]
pub struct NewJob {
    /// The queue it will wait in; created if it is new.
    pub queue: String,
    /// What a worker must know to run it.
    pub kind: String,
    /// JSON, kept byte for byte.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::raw"))]
    #[cfg_attr(feature = "schema", schema(value_type = crate::serial::Json))]
    pub payload: String,
    /// Higher is claimed first.
    pub priority: i32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// Jobs of one such key run one at a time, in id order (Q9).
    pub ordering_key: Option<String>,
    /// The tenant whose limit it counts against (Q8).
    pub limit_key: Option<String>,
    /// Not to be claimed before; `None` is at once.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub run_at: Option<Time>,
    /// The same key and body within the window is the same job (Q7).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub key: Option<String>,
    /// How long the key is remembered, from enqueuing and at least until the job has ended; `None` is a day.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub key_window_ms: Option<u64>,
}

impl NewJob {
    /// A job of `kind` for `queue`, with the defaults.
    pub fn new(queue: impl Into<String>, kind: impl Into<String>, payload: impl Into<String>) -> NewJob {
        NewJob {
            queue: queue.into(),
            kind: kind.into(),
            payload: payload.into(),
            priority: 0,
            run_at: None,
            attempts_max: bounds::ATTEMPTS_DEFAULT,
            backoff: None,
            timeout_ms: None,
            key: None,
            key_window_ms: None,
            ordering_key: None,
            limit_key: None,
        }
    }

    /// The same key and body within the window is the same job (Q7).
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> NewJob {
        self.key = Some(key.into());
        self
    }

    /// How long the key is remembered.
    #[must_use]
    pub fn key_window_ms(mut self, window_ms: u64) -> NewJob {
        self.key_window_ms = Some(window_ms);
        self
    }

    /// One at a time with the others of this key, in id order (Q9).
    #[must_use]
    pub fn ordering_key(mut self, key: impl Into<String>) -> NewJob {
        self.ordering_key = Some(key.into());
        self
    }

    /// Counted against this tenant's limit (Q8).
    #[must_use]
    pub fn limit_key(mut self, key: impl Into<String>) -> NewJob {
        self.limit_key = Some(key.into());
        self
    }

    /// Higher is claimed first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> NewJob {
        self.priority = priority;
        self
    }

    /// Not to be claimed before `run_at`.
    #[must_use]
    pub fn run_at(mut self, run_at: Time) -> NewJob {
        self.run_at = Some(run_at);
        self
    }

    /// Attempts it may have.
    #[must_use]
    pub fn attempts_max(mut self, attempts_max: u32) -> NewJob {
        self.attempts_max = attempts_max;
        self
    }

    /// Its own backoff.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> NewJob {
        self.backoff = Some(backoff);
        self
    }

    /// How long one attempt may take.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> NewJob {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("queue", &self.queue)?;
        bounds::name("kind", &self.kind)?;
        json::check("payload", &self.payload)?;
        bounds::within("attempts_max", self.attempts_max.into(), 1, bounds::ATTEMPTS_MAX)?;
        if let Some(run_at) = self.run_at {
            check_time("run_at", run_at)?;
        }
        if let Some(timeout_ms) = self.timeout_ms {
            bounds::within("timeout_ms", timeout_ms, 1, bounds::SPAN_MS_MAX)?;
        }
        for (field, key) in [("key", &self.key), ("ordering_key", &self.ordering_key), ("limit_key", &self.limit_key)] {
            key.as_deref().map_or(Ok(()), |key| bounds::key(field, key))?;
        }
        if let Some(window_ms) = self.key_window_ms {
            bounds::within("key_window_ms", window_ms, 1, bounds::SPAN_MS_MAX)?;
            if self.key.is_none() {
                return Err(Invalid::new(Code::OutOfBounds, "key_window_ms", "sent together with `key`", window_ms));
            }
        }
        self.backoff.map_or(Ok(()), |backoff| backoff.check())
    }

    /// When its key is forgotten, for a job enqueued at `now` that has ended by then.
    #[must_use]
    pub fn key_until(&self, now: Time) -> Time {
        now.plus_ms(self.key_window_ms.unwrap_or(bounds::KEY_WINDOW_MS_DEFAULT))
    }

    /// What a dedup key knows a job by: its kind and its payload as a JSON value (Q7). They were checked before.
    #[must_use]
    pub fn body(&self) -> String {
        let payload = json::canonical("payload", &self.payload).unwrap_or_else(|_| self.payload.clone());
        format!("{}\n{payload}", self.kind)
    }

    /// Refuses a bulk call with too many jobs or bytes, or with one job out of bounds, and names that job.
    pub fn check_all(jobs: &[NewJob]) -> Result<(), Invalid> {
        bounds::within("jobs", jobs.len() as u64, 1, bounds::BULK_MAX)?;
        let bytes: usize = jobs.iter().map(|job| job.payload.len()).sum();
        if bytes > bounds::BULK_BYTES_MAX {
            let limit = format!("at most {} bytes in one call", bounds::BULK_BYTES_MAX);
            return Err(Invalid::new(Code::TooLarge, "jobs", limit, format!("{bytes} bytes")));
        }
        for (i, job) in jobs.iter().enumerate() {
            job.check()
                .map_err(|refusal| if jobs.len() == 1 { refusal } else { refusal.within(&format!("jobs[{i}]")) })?;
        }
        Ok(())
    }
}

/// A job that is now in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = EnqueuedJob))]
pub struct Enqueued {
    /// Its id; opaque.
    pub id: JobId,
    /// Where it stands.
    pub status: Status,
    /// Whether it was there before, under the same dedup key.
    pub deduplicated: bool,
}

/// Another body was sent under a key that is remembered (Q7). Nothing of the call was enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Which job of the call.
    pub index: usize,
    /// The job that holds the key; `None` if it is another of the same call.
    pub id: Option<JobId>,
}

/// How a claim's jobs are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// A lease for each job. The claim is the start (L6).
    Each,
    /// One lease for all jobs of a queue, renewed by one heartbeat; for a worker that prefetches. Only the first
    /// `started` jobs count as started; the rest need [`Start`] first.
    Shared {
        /// How many of the claimed jobs, in order, begin at once.
        started: u32,
    },
}

/// Take jobs that are due (Q2).
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Where to look.
    pub queues: Vec<String>,
    /// Which kinds the worker knows; `None` is all.
    pub kinds: Option<Vec<String>>,
    /// Who claims.
    pub owner: String,
    /// How many at most.
    pub max: u32,
    /// For how long.
    pub lease_ms: u64,
    /// Under how many leases.
    pub grants: Grants,
}

impl Claim {
    /// One job of `queue` for `owner`, with the default lease.
    pub fn new(queue: impl Into<String>, owner: impl Into<String>) -> Claim {
        Claim {
            queues: vec![queue.into()],
            kinds: None,
            owner: owner.into(),
            max: 1,
            lease_ms: bounds::LEASE_MS_DEFAULT,
            grants: Grants::Each,
        }
    }

    /// How many jobs at most.
    #[must_use]
    pub fn max(mut self, max: u32) -> Claim {
        self.max = max;
        self
    }

    /// For how long.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Claim {
        self.lease_ms = lease_ms;
        self
    }

    /// Only these kinds.
    #[must_use]
    pub fn kinds<S: Into<String>>(mut self, kinds: impl IntoIterator<Item = S>) -> Claim {
        self.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    /// From this queue too.
    #[must_use]
    pub fn also(mut self, queue: impl Into<String>) -> Claim {
        self.queues.push(queue.into());
        self
    }

    /// Under one lease for each queue, with the first `started` jobs begun at once.
    #[must_use]
    pub fn shared(mut self, started: u32) -> Claim {
        self.grants = Grants::Shared { started };
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::within("queues", self.queues.len() as u64, 1, bounds::CLAIM_QUEUES_MAX)?;
        for (i, queue) in self.queues.iter().enumerate() {
            bounds::name("queues", queue).map_err(|refusal| at(refusal, i))?;
        }
        if let Some(kinds) = &self.kinds {
            bounds::within("kinds", kinds.len() as u64, 1, bounds::CLAIM_KINDS_MAX)?;
            for (i, kind) in kinds.iter().enumerate() {
                bounds::name("kinds", kind).map_err(|refusal| at(refusal, i))?;
            }
        }
        bounds::name("worker", &self.owner)?;
        bounds::within("max", self.max.into(), 1, bounds::CLAIM_MAX)?;
        bounds::within("lease_ms", self.lease_ms, bounds::LEASE_MS.0, bounds::LEASE_MS.1)
    }
}

/// A job in the hands of its claimer.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClaimedJob {
    /// Its id; opaque.
    pub id: JobId,
    /// The queue it came from.
    pub queue: String,
    /// What it is.
    pub kind: String,
    /// JSON, byte for byte as it was enqueued.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::raw"))]
    #[cfg_attr(feature = "schema", schema(value_type = crate::serial::Json))]
    pub payload: String,
    /// Its priority.
    pub priority: i32,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// The fencing token of this claim.
    pub token: Token,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
    /// What an earlier attempt saved, as JSON.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::raw_or_null"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::serial::Json>))]
    pub checkpoint: Option<String>,
    /// When it was enqueued.
    pub created_at: Time,
    /// When it became due.
    pub run_at: Time,
    /// How long this attempt may take.
    pub timeout_ms: Option<u64>,
    /// Jobs of one such key run one at a time, in id order (Q9).
    pub ordering_key: Option<String>,
    /// The tenant whose limit it counts against (Q8).
    pub limit_key: Option<String>,
}

words! {
    /// Why a claim returned nothing; the first that applies.
    Idle {
        /// The limit W is reached.
        AtCapacity = "at_capacity",
        /// The queue's rate is used up for now.
        RateLimited = "rate_limited",
        /// The queue is paused.
        Paused = "paused",
        /// Nothing is due.
        Empty = "empty",
    }
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Claims {
    /// The jobs, by priority, then age, then id (Q2).
    pub jobs: Vec<ClaimedJob>,
    /// Why there are none: `at_capacity`, `rate_limited`, `paused` or `empty`.
    #[cfg_attr(feature = "serde", serde(rename = "reason"))]
    pub idle: Option<Idle>,
    /// How long until time alone may change the answer: the next job is due, the next lease runs out,
    /// or a rate that was spent is whole again. A hint.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub again_in_ms: Option<u64>,
}

/// Marks the first `count` jobs of a shared lease as started, before their handlers run (L6).
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Who holds the lease.
    pub owner: String,
    /// Its token.
    pub token: Token,
    /// How many jobs of the grant, in order, have been started.
    pub count: u32,
}

/// Renews a lease (Q3).
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    /// Who holds it.
    pub owner: String,
    /// Its token.
    pub token: Token,
    /// The job whose lease it is; `None` renews a shared lease whatever is left under it.
    pub job: Option<JobId>,
    /// Progress to show to people, as JSON; needs `job`.
    pub progress: Option<String>,
    /// State for the next attempt, as JSON; needs `job`.
    pub checkpoint: Option<String>,
}

impl Beat {
    /// A heartbeat for one job.
    pub fn new(job: JobId, owner: impl Into<String>, token: Token) -> Beat {
        Beat { owner: owner.into(), token, job: Some(job), progress: None, checkpoint: None }
    }

    /// A heartbeat for a whole shared lease.
    pub fn shared(owner: impl Into<String>, token: Token) -> Beat {
        Beat { owner: owner.into(), token, job: None, progress: None, checkpoint: None }
    }

    /// With progress to show, as JSON.
    #[must_use]
    pub fn progress(mut self, progress: impl Into<String>) -> Beat {
        self.progress = Some(progress.into());
        self
    }

    /// With state for the next attempt, as JSON.
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: impl Into<String>) -> Beat {
        self.checkpoint = Some(checkpoint.into());
        self
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("worker", &self.owner)?;
        if self.job.is_none() && (self.progress.is_some() || self.checkpoint.is_some()) {
            let limit = "named with progress or a checkpoint: a shared lease has many jobs";
            return Err(Invalid::new(Code::OutOfBounds, "job", limit, "none"));
        }
        check_json("progress", self.progress.as_deref())?;
        check_json("checkpoint", self.checkpoint.as_deref())
    }
}

/// The answer to an accepted heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// When the lease runs out now.
    pub lease_expires_at: Time,
    /// Jobs under this lease that an operator asked to cancel (L11); with a job named, only that one.
    pub cancel_requested: Vec<JobId>,
}

words! {
    /// The verbs that end a claim.
    Verb {
        /// Done.
        Complete = "complete",
        /// Went wrong.
        Fail = "fail",
        /// Later, without counting the attempt.
        Snooze = "snooze",
        /// Back to the queue, without counting the attempt.
        Release = "release",
    }
}

/// How the holder ends a claim (Q4).
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Done, with an optional result as JSON.
    Complete {
        /// What the handler returned.
        result: Option<String>,
    },
    /// Went wrong.
    Fail {
        /// What went wrong.
        error: String,
        /// Whether and when to try again.
        retry: Retry,
    },
    /// Not now.
    Snooze {
        /// How much later.
        delay_ms: u64,
    },
    /// Not by this worker.
    Release,
}

impl Act {
    /// The verb of this act, which a receipt remembers (L12).
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Act::Complete { .. } => Verb::Complete,
            Act::Fail { .. } => Verb::Fail,
            Act::Snooze { .. } => Verb::Snooze,
            Act::Release => Verb::Release,
        }
    }
}

/// An ending write: accepted only from the holder of the current lease (L3).
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Which job.
    pub job: JobId,
    /// Who holds it.
    pub owner: String,
    /// Under which token.
    pub token: Token,
    /// How it ends.
    pub act: Act,
}

impl Ending {
    /// Refuses what is out of bounds, and cuts an error text to what is kept of it.
    pub fn check(&mut self) -> Result<(), Invalid> {
        bounds::name("worker", &self.owner)?;
        match &mut self.act {
            Act::Complete { result } => check_json("result", result.as_deref()),
            Act::Fail { error, retry } => {
                *error = bounds::clipped(error);
                retry.check()
            }
            Act::Snooze { delay_ms } => bounds::within("delay_ms", *delay_ms, 0, bounds::SPAN_MS_MAX),
            Act::Release => Ok(()),
        }
    }
}

/// The answer to an accepted ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ended {
    /// Where the job stood after it.
    pub status: Status,
    /// Whether this very write had been accepted before (L12).
    pub already: bool,
}

/// What one bounded step of recovery did (L7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Leases that had run out.
    pub leases: u32,
    /// Jobs put back to be claimed again.
    pub requeued: u32,
    /// Jobs failed for good.
    pub failed: u32,
}

/// What one bounded step of pruning removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Finished jobs past their queue's retention.
    pub jobs: u32,
    /// Receipts past their hour.
    pub receipts: u32,
    /// Dedup keys past their window.
    pub keys: u32,
    /// Workers not seen for a day, counted by queue and kinds.
    pub sightings: u32,
}

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only of this queue.
    pub queue: Option<String>,
    /// Only in this state.
    pub status: Option<Status>,
    /// Only of this kind.
    pub kind: Option<String>,
}

/// How many jobs of a queue stand where, each exact up to 10,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Waiting, due or not.
    pub queued: u64,
    /// Claimed.
    pub running: u64,
    /// Finished well.
    pub completed: u64,
    /// Finished badly.
    pub failed: u64,
}

impl Counts {
    /// Each state with its count.
    #[must_use]
    pub fn each(&self) -> [(Status, u64); 4] {
        [
            (Status::Queued, self.queued),
            (Status::Running, self.running),
            (Status::Completed, self.completed),
            (Status::Failed, self.failed),
        ]
    }

    /// The states whose count was cut at [`COUNT_MAX`](bounds::COUNT_MAX).
    #[must_use]
    pub fn capped(&self) -> Vec<Status> {
        self.each().into_iter().filter(|(_, count)| *count > bounds::COUNT_MAX).map(|(status, _)| status).collect()
    }

    /// The counts as they are shown, none above [`COUNT_MAX`](bounds::COUNT_MAX).
    #[must_use]
    pub fn shown(&self) -> Counts {
        Counts {
            queued: self.queued.min(bounds::COUNT_MAX),
            running: self.running.min(bounds::COUNT_MAX),
            completed: self.completed.min(bounds::COUNT_MAX),
            failed: self.failed.min(bounds::COUNT_MAX),
        }
    }
}

/// A queue and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueInfo {
    /// Its name.
    pub name: String,
    /// When it was first used.
    pub created_at: Time,
    /// How it behaves.
    pub settings: Settings,
    /// What it holds. A count above [`COUNT_MAX`](bounds::COUNT_MAX) only says "more".
    pub counts: Counts,
    /// When the waiting job with the smallest id was enqueued.
    pub oldest_queued_at: Option<Time>,
}

/// The same refusal, of one item of a list.
fn at(mut refusal: Invalid, index: usize) -> Invalid {
    refusal.field = format!("{}[{index}]", refusal.field);
    refusal
}

fn check_json(field: &str, text: Option<&str>) -> Result<(), Invalid> {
    text.map_or(Ok(()), |text| json::check(field, text))
}

fn check_time(field: &str, time: Time) -> Result<(), Invalid> {
    if (Time::MIN..=Time::MAX).contains(&time) {
        return Ok(());
    }
    Err(Invalid::new(Code::OutOfBounds, field, "between the years 1 and 9999", time.0))
}
