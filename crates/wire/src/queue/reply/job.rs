//! Jobs.

use crate::reply::{Backoff, Json, paged};
use serde::{Serialize, Serializer};
use tenure::Time;
use utoipa::ToSchema;

/// Jobs that are now in the store.
#[derive(Debug, Serialize, ToSchema)]
pub struct Enqueued {
    /// In the order they were sent.
    pub jobs: Vec<EnqueuedJob>,
}

/// A job that is now in the store.
#[derive(Debug, Serialize, ToSchema)]
pub struct EnqueuedJob {
    /// Its id; opaque.
    pub id: String,
    /// Where it stands.
    pub status: &'static str,
    /// Whether it was there before, under the same dedup key.
    pub deduplicated: bool,
}

impl From<Vec<tenure::Enqueued>> for Enqueued {
    fn from(enqueued: Vec<tenure::Enqueued>) -> Enqueued {
        let one = |job: tenure::Enqueued| EnqueuedJob {
            id: job.id.to_string(),
            status: job.status.as_str(),
            deduplicated: job.deduplicated,
        };
        Enqueued { jobs: enqueued.into_iter().map(one).collect() }
    }
}

/// The answer to a claim.
#[derive(Debug, Serialize, ToSchema)]
pub struct Claims {
    /// The jobs, by priority, then age, then id.
    pub jobs: Vec<ClaimedJob>,
    /// Why there are none: `at_capacity`, `rate_limited`, `paused` or `empty`.
    pub reason: Option<&'static str>,
}

/// A job in the hands of its claimer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedJob {
    /// Its id; opaque.
    pub id: String,
    /// The queue it came from.
    pub queue: String,
    /// What it is.
    pub kind: String,
    /// Byte for byte as it was enqueued.
    pub payload: Json,
    /// Its priority.
    pub priority: i32,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// The fencing token of this claim.
    pub token: i64,
    /// When the lease runs out, unless renewed.
    pub lease_expires_at: Time,
    /// What an earlier attempt saved.
    pub checkpoint: Option<Json>,
    /// When it was enqueued.
    pub created_at: Time,
    /// When it became due.
    pub run_at: Time,
    /// How long this attempt may take.
    pub timeout_ms: Option<u64>,
    /// Jobs of one such key run one at a time, in the order of their ids.
    pub ordering_key: Option<String>,
    /// The tenant whose limit it counts against.
    pub limit_key: Option<String>,
}

impl From<tenure::Claims> for Claims {
    fn from(claims: tenure::Claims) -> Claims {
        let one = |job: tenure::ClaimedJob| ClaimedJob {
            id: job.id.to_string(),
            queue: job.queue,
            kind: job.kind,
            payload: Json::kept(job.payload),
            priority: job.priority,
            attempt: job.attempt,
            attempts_max: job.attempts_max,
            token: job.token.0,
            lease_expires_at: job.lease_expires_at,
            checkpoint: job.checkpoint.map(Json::kept),
            created_at: job.created_at,
            run_at: job.run_at,
            timeout_ms: job.timeout_ms,
            ordering_key: job.ordering_key,
            limit_key: job.limit_key,
        };
        Claims { jobs: claims.jobs.into_iter().map(one).collect(), reason: claims.idle.map(tenure::Idle::as_str) }
    }
}

/// The answer to an accepted heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub struct Beaten {
    /// When the lease runs out now.
    pub lease_expires_at: Time,
    /// Whether an operator asked to cancel the job.
    pub cancel_requested: bool,
}

impl From<tenure::Beaten> for Beaten {
    fn from(beaten: tenure::Beaten) -> Beaten {
        Beaten { lease_expires_at: beaten.lease_expires_at, cancel_requested: !beaten.cancel_requested.is_empty() }
    }
}

/// The answer to an accepted ending.
#[derive(Debug, Serialize, ToSchema)]
pub struct Ended {
    /// Where the job stood after it.
    pub status: &'static str,
    /// Whether this very write had been accepted before.
    pub already: bool,
}

impl From<tenure::Ended> for Ended {
    fn from(ended: tenure::Ended) -> Ended {
        Ended { status: ended.status.as_str(), already: ended.already }
    }
}

/// Answers to many writes, in the order they were sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct Results<T> {
    /// One for each.
    pub results: Vec<One<T>>,
}

/// The answer to one of many writes.
#[derive(Debug, Serialize, ToSchema)]
pub struct One<T> {
    /// The job, as it was named.
    pub id: String,
    /// What was answered.
    #[serde(flatten)]
    pub answer: Answer<T>,
}

/// Accepted, or refused on its own.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Answer<T> {
    /// Accepted.
    Accepted(T),
    /// Refused; the others are not touched by it.
    Refused {
        /// `{"code", "message", "reason"}`.
        error: serde_json::Value,
    },
}

impl<T> Results<T> {
    /// The answers to the writes that named `ids`.
    pub fn new<E: Into<T>>(ids: Vec<String>, answers: Vec<tenure::Result<E>>) -> Results<T> {
        let one = |(id, answer): (String, tenure::Result<E>)| One {
            id,
            answer: match answer {
                Ok(accepted) => Answer::Accepted(accepted.into()),
                Err(refused) => Answer::Refused { error: crate::Problem::from(refused).inner() },
            },
        };
        Results { results: ids.into_iter().zip(answers).map(one).collect() }
    }
}

/// A job as its store knows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Job {
    /// Its id; opaque.
    pub id: String,
    /// The queue it waits in.
    pub queue: String,
    /// What a worker must know to run it.
    pub kind: String,
    /// `queued`, `running`, `completed` or `failed`.
    pub status: &'static str,
    /// Why it failed, once it has.
    pub reason: Option<&'static str>,
    /// Byte for byte as it was enqueued. Lists do not carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// Higher is claimed first.
    pub priority: i32,
    /// Attempts counted so far, the running one included.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// When it was enqueued.
    pub created_at: Time,
    /// It is not claimed before.
    pub run_at: Time,
    /// When its last attempt was claimed.
    pub started_at: Option<Time>,
    /// When it last changed its place.
    pub updated_at: Time,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// Jobs of one such key run one at a time, in the order of their ids.
    pub ordering_key: Option<String>,
    /// The tenant whose limit it counts against.
    pub limit_key: Option<String>,
    /// Whether an operator asked its holder to stop.
    pub cancel_requested: bool,
    /// Who holds it, while it runs.
    pub worker: Option<String>,
    /// The token of its last claim.
    pub token: Option<i64>,
    /// When its lease runs out, while it runs.
    pub lease_expires_at: Option<Time>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What its handler returned. Lists do not carry it.
    #[serde(skip_serializing_if = "Seen::hidden")]
    #[schema(value_type = Option<Json>)]
    pub result: Seen<Json>,
    /// What its holder last said about its progress.
    pub progress: Option<Json>,
    /// What its holder last saved for the next attempt. Lists do not carry it.
    #[serde(skip_serializing_if = "Seen::hidden")]
    #[schema(value_type = Option<Json>)]
    pub checkpoint: Seen<Json>,
    /// Its claims, oldest first, the last 100 of them. Lists do not carry them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Vec<Attempt>>,
}

/// A value that may be absent, or not be shown at all.
#[derive(Debug)]
pub enum Seen<T> {
    /// Left out.
    Hidden,
    /// Shown, `null` if absent.
    Shown(Option<T>),
}

impl<T> Seen<T> {
    /// The value, if it is there and shown.
    pub fn get(&self) -> Option<&T> {
        match self {
            Seen::Shown(value) => value.as_ref(),
            Seen::Hidden => None,
        }
    }

    fn hidden(&self) -> bool {
        matches!(self, Seen::Hidden)
    }
}

impl<T: Serialize> Serialize for Seen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Seen::Hidden => serializer.serialize_none(),
            Seen::Shown(value) => value.serialize(serializer),
        }
    }
}

/// One claim of a job, from grant to end.
#[derive(Debug, Serialize, ToSchema)]
pub struct Attempt {
    /// The claim's fencing token.
    pub token: i64,
    /// Who claimed it.
    pub worker: String,
    /// When.
    pub claimed_at: Time,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// How it ended.
    pub outcome: Option<&'static str>,
    /// What went wrong.
    pub error: Option<String>,
    /// Accepted heartbeats.
    pub beats: u32,
    /// The last of them.
    pub last_beat_at: Option<Time>,
    /// The longest silence before one of them.
    pub longest_gap_ms: u64,
}

impl Job {
    /// All that is known of a job.
    #[must_use]
    pub fn whole(job: tenure::JobInfo) -> Job {
        let attempts = job.all_attempts().into_iter().map(|attempt| Attempt {
            token: attempt.token.0,
            worker: attempt.owner,
            claimed_at: attempt.claimed_at,
            ended_at: attempt.ended_at,
            outcome: attempt.outcome.map(tenure::AttemptOutcome::as_str),
            error: attempt.error,
            beats: attempt.pulse.beats,
            last_beat_at: attempt.pulse.last_beat_at,
            longest_gap_ms: attempt.pulse.longest_gap_ms,
        });
        let attempts = attempts.collect();
        let mut job = job;
        let payload = Json::kept(std::mem::take(&mut job.payload));
        let result = job.result.take().map(Json::kept);
        let checkpoint = job.checkpoint.take().map(Json::kept);
        Job {
            payload: Some(payload),
            result: Seen::Shown(result),
            checkpoint: Seen::Shown(checkpoint),
            attempts: Some(attempts),
            ..Job::listed(job)
        }
    }

    /// A job as lists show it: without payload, result, checkpoint and attempts.
    #[must_use]
    pub fn listed(job: tenure::JobInfo) -> Job {
        let updated_at = job.updated_at();
        let claimed = job.lease.as_ref().map(|lease| lease.granted_at);
        let started_at = claimed.or_else(|| job.attempts.last().map(|attempt| attempt.claimed_at));
        let backoff = job.backoff.map(Backoff::from);
        let lease_expires_at = job.lease.as_ref().map(|lease| lease.expires_at);
        Job {
            id: job.id.to_string(),
            queue: job.queue,
            kind: job.kind,
            status: job.status.as_str(),
            reason: job.reason.map(tenure::Reason::as_str),
            payload: None,
            priority: job.priority,
            attempt: job.attempt,
            attempts_max: job.attempts_max,
            created_at: job.created_at,
            run_at: job.run_at,
            started_at,
            updated_at,
            finished_at: job.finished_at,
            timeout_ms: job.timeout_ms,
            backoff,
            ordering_key: job.ordering_key,
            limit_key: job.limit_key,
            cancel_requested: job.cancel_requested,
            worker: job.lease.map(|lease| lease.owner),
            token: job.token.map(|token| token.0),
            lease_expires_at,
            error: job.error,
            result: Seen::Hidden,
            progress: job.progress.map(Json::kept),
            checkpoint: Seen::Hidden,
            attempts: None,
        }
    }
}

/// A page of jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Jobs {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<tenure::Page<tenure::JobInfo>> for Jobs {
    fn from(page: tenure::Page<tenure::JobInfo>) -> Jobs {
        let (jobs, next_cursor) = paged(page, |job| job.id.to_string(), Job::listed);
        Jobs { jobs, next_cursor }
    }
}

/// What happened to a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Timeline {
    /// Oldest first.
    pub events: Vec<Event>,
}

/// One thing that happened to a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Event {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `enqueued`, `claimed`, `expired`, `refused` …
    pub what: &'static str,
    /// Under which token.
    pub token: Option<i64>,
    /// By or from whom.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// How often, where repetitions are counted into one event.
    pub count: u32,
    /// The whole of it as a sentence.
    pub message: String,
}

impl From<Vec<tenure::Event>> for Timeline {
    fn from(events: Vec<tenure::Event>) -> Timeline {
        let one = |event: tenure::Event| Event {
            at: event.at,
            first_at: event.first_at,
            count: event.count,
            what: event.what.as_str(),
            token: event.token.map(|token| token.0),
            message: event.message(),
            owner: event.owner,
            by: event.by,
        };
        Timeline { events: events.into_iter().map(one).collect() }
    }
}

/// The answer to a cancel.
#[derive(Debug, Serialize, ToSchema)]
pub struct Cancelled {
    /// Where the job stands: `failed`, or `running` until its holder stops.
    pub status: &'static str,
    /// Whether its holder will be told with the next heartbeat.
    pub cancel_requested: bool,
}

impl From<tenure::Status> for Cancelled {
    fn from(status: tenure::Status) -> Cancelled {
        // What a cancel leaves running has been asked to stop.
        Cancelled { status: status.as_str(), cancel_requested: status == tenure::Status::Running }
    }
}

/// The answer to a retry.
#[derive(Debug, Serialize, ToSchema)]
pub struct Retried {
    /// Where the job stands: `queued`.
    pub status: &'static str,
}

impl From<tenure::Status> for Retried {
    fn from(status: tenure::Status) -> Retried {
        Retried { status: status.as_str() }
    }
}

/// What a bulk action did.
#[derive(Debug, Serialize, ToSchema)]
pub struct Bulk {
    /// Jobs it was carried out on.
    pub done: u64,
    /// Jobs that matched but had moved on by the time their turn came.
    pub passed_over: u64,
    /// Where to go on, if time ran out before the end: send the same request with it as `cursor`.
    pub next_cursor: Option<String>,
}

impl Bulk {
    /// What was done, and where to go on.
    #[must_use]
    pub fn new(bulk: tenure::Bulk, next: Option<tenure::JobId>) -> Bulk {
        Bulk { done: bulk.done, passed_over: bulk.passed_over, next_cursor: next.map(|id| id.to_string()) }
    }
}
