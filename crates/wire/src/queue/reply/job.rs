//! Jobs.

use crate::reply::paged;
use serde::{Serialize, Serializer};
use tenure::serial::{Json, raw_or_null};
use tenure::{Attempt, Backoff, JobId, JobInfo, Page, Reason, Status, Time, Token};
use utoipa::ToSchema;

/// Jobs that are now in the store.
#[derive(Debug, Serialize, ToSchema)]
pub struct Enqueued {
    /// In the order they were sent.
    pub jobs: Vec<tenure::Enqueued>,
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
    pub id: JobId,
    /// The queue it waits in.
    pub queue: String,
    /// What a worker must know to run it.
    pub kind: String,
    /// `queued`, `running`, `completed` or `failed`.
    pub status: Status,
    /// Why it failed, once it has.
    pub reason: Option<Reason>,
    /// Byte for byte as it was enqueued. Lists do not carry it.
    #[serde(skip_serializing_if = "Option::is_none", with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub payload: Option<String>,
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
    pub token: Option<Token>,
    /// When its lease runs out, while it runs.
    pub lease_expires_at: Option<Time>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What its handler returned. Lists do not carry it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shown")]
    #[schema(value_type = Option<Json>)]
    pub result: Option<Option<String>>,
    /// What its holder last said about its progress.
    #[serde(with = "raw_or_null")]
    #[schema(value_type = Option<Json>)]
    pub progress: Option<String>,
    /// What its holder last saved for the next attempt. Lists do not carry it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shown")]
    #[schema(value_type = Option<Json>)]
    pub checkpoint: Option<Option<String>>,
    /// Its claims, oldest first, the last 100 of them. Lists do not carry them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Vec<Attempt>>,
}

fn shown<S: Serializer>(json: &Option<Option<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    raw_or_null::serialize(json.as_ref().unwrap_or(&None), serializer)
}

impl Job {
    /// All that is known of a job.
    #[must_use]
    pub fn whole(mut job: JobInfo) -> Job {
        let attempts = Some(job.all_attempts());
        let payload = Some(std::mem::take(&mut job.payload));
        let (result, checkpoint) = (Some(job.result.take()), Some(job.checkpoint.take()));
        Job { payload, result, checkpoint, attempts, ..Job::listed(job) }
    }

    /// A job as lists show it: without payload, result, checkpoint and attempts.
    #[must_use]
    pub fn listed(job: JobInfo) -> Job {
        let updated_at = job.updated_at();
        let claimed = job.lease.as_ref().map(|lease| lease.granted_at);
        let started_at = claimed.or_else(|| job.attempts.last().map(|attempt| attempt.claimed_at));
        let lease_expires_at = job.lease.as_ref().map(|lease| lease.expires_at);
        Job {
            id: job.id,
            queue: job.queue,
            kind: job.kind,
            status: job.status,
            reason: job.reason,
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
            backoff: job.backoff,
            ordering_key: job.ordering_key,
            limit_key: job.limit_key,
            cancel_requested: job.cancel_requested,
            worker: job.lease.map(|lease| lease.owner),
            token: job.token,
            lease_expires_at,
            error: job.error,
            result: None,
            progress: job.progress,
            checkpoint: None,
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

impl From<Page<JobInfo>> for Jobs {
    fn from(page: Page<JobInfo>) -> Jobs {
        let (jobs, next_cursor) = paged(page, |job| job.id.to_string(), Job::listed);
        Jobs { jobs, next_cursor }
    }
}

/// The answer to a cancel.
#[derive(Debug, Serialize, ToSchema)]
pub struct Cancelled {
    /// Where the job stands: `failed`, or `running` until its holder stops.
    pub status: Status,
    /// Whether its holder will be told with the next heartbeat.
    pub cancel_requested: bool,
}

impl From<Status> for Cancelled {
    fn from(status: Status) -> Cancelled {
        // What a cancel leaves running has been asked to stop.
        Cancelled { status, cancel_requested: status == Status::Running }
    }
}

/// The answer to a retry.
#[derive(Debug, Serialize, ToSchema)]
pub struct Retried {
    /// Where the job stands: `queued`.
    pub status: Status,
}

/// What a bulk action did.
#[derive(Debug, Serialize, ToSchema)]
pub struct Bulk {
    /// To how many jobs.
    #[serde(flatten)]
    #[schema(inline)]
    pub bulk: tenure::Bulk,
    /// Where to go on, if time ran out before the end: send the same request with it as `cursor`.
    pub next_cursor: Option<JobId>,
}
