//! One job, and what is remembered of each time it was claimed.

use crate::id::id;
use crate::lease::{Lease, Pulse, Token};
use crate::retry::Backoff;
use crate::time::Time;
use crate::words::words;

id! {
    /// A job's number, drawn by the store from one growing counter. Callers see it as an opaque string.
    JobId
}

words! {
    /// Where a job stands (Q1). Scheduled or backing-off work is `Queued` with a future `run_at`.
    Status {
        /// Waiting to be claimed.
        Queued = "queued",
        /// Claimed; held under a lease until it expires.
        Running = "running",
        /// Finished well.
        Completed = "completed",
        /// Finished badly, for a [`Reason`].
        Failed = "failed",
    }
}

impl Status {
    /// Whether nothing but an operator moves the job again (L9).
    #[must_use]
    pub fn terminal(self) -> bool {
        matches!(self, Status::Completed | Status::Failed)
    }
}

words! {
    /// Why a job failed for good.
    Reason {
        /// Its handler said that retrying is useless.
        Failed = "failed",
        /// Its last attempt failed.
        AttemptsSpent = "attempts_spent",
        /// Its last attempt took its worker down, or outlived its lease.
        CrashLimit = "crash_limit",
        /// An operator ended it.
        Cancelled = "cancelled",
        /// Its handler outlived `timeout_ms` on its last attempt.
        Timeout = "timeout",
    }
}

words! {
    /// How an attempt ended.
    Outcome {
        /// The holder completed it.
        Completed = "completed",
        /// The holder failed it, for good.
        Failed = "failed",
        /// The holder failed it; it was put back to be tried again.
        Retried = "retried",
        /// The holder put it back for later, without counting the attempt.
        Snoozed = "snoozed",
        /// The holder gave it back, without counting the attempt.
        Released = "released",
        /// Its lease ran out.
        Expired = "expired",
        /// It ended because an operator had asked for it.
        Cancelled = "cancelled",
    }
}

/// One claim of a job, from grant to end.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// The claim's fencing token.
    pub token: Token,
    /// Who claimed it.
    #[cfg_attr(feature = "serde", serde(rename = "worker"))]
    pub owner: String,
    /// When it was claimed.
    pub claimed_at: Time,
    /// When it ended; none while it runs.
    pub ended_at: Option<Time>,
    /// How it ended; none while it runs.
    pub outcome: Option<Outcome>,
    /// What went wrong.
    pub error: Option<String>,
    /// How its lease was kept.
    #[cfg_attr(feature = "serde", serde(flatten))]
    #[cfg_attr(feature = "schema", schema(inline))]
    pub pulse: Pulse,
    /// The holder's own verb, if the holder ended it: the receipt that L12 answers from.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub verb: Option<super::Verb>,
}

/// A job as its store knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// The queue it waits in.
    pub queue: String,
    /// What a worker must know to run it.
    pub kind: String,
    /// JSON, byte for byte as it was sent.
    pub payload: String,
    /// Higher is claimed first.
    pub priority: i32,
    /// When it was enqueued.
    pub created_at: Time,
    /// It is not claimed before.
    pub run_at: Time,
    /// Attempts counted so far, the running one included (L6).
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// Its own backoff, if it has one.
    pub backoff: Option<Backoff>,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// Jobs of one such key run one at a time, in id order (Q9).
    pub ordering_key: Option<String>,
    /// The tenant whose limit it counts against (Q8).
    pub limit_key: Option<String>,
    /// An operator asked to cancel it while it ran (L11).
    pub cancel_requested: bool,
    /// Where it stands.
    pub status: Status,
    /// Why it failed, once it has.
    pub reason: Option<Reason>,
    /// What its handler returned, as JSON.
    pub result: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What its holder last said about its progress, as JSON.
    pub progress: Option<String>,
    /// What its holder last saved for the next attempt, as JSON.
    pub checkpoint: Option<String>,
    /// The token of its last claim; never taken back (L2).
    pub token: Option<Token>,
    /// The lease it runs under, while it runs.
    pub lease: Option<Lease>,
    /// Ended claims, oldest first, the last [`ATTEMPTS_KEPT`](crate::bounds::ATTEMPTS_KEPT) of them.
    pub attempts: Vec<Attempt>,
    /// When it ended.
    pub finished_at: Option<Time>,
}

impl Job {
    /// The bytes that a claim hands out with it.
    #[must_use]
    pub fn claim_bytes(&self) -> usize {
        self.payload.len() + self.checkpoint.as_ref().map_or(0, String::len)
    }

    /// The bytes that it weighs in a page of jobs.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.claim_bytes() + of(&self.result) + of(&self.progress)
    }

    /// When it last changed its place: enqueued, claimed, put back or finished. Heartbeats do not count.
    #[must_use]
    pub fn updated_at(&self) -> Time {
        let claimed_at = self.lease.as_ref().map(|lease| lease.granted_at);
        let put_back_at = self.attempts.last().and_then(|attempt| attempt.ended_at);
        self.finished_at.or(claimed_at).or(put_back_at).unwrap_or(self.created_at)
    }

    /// Every remembered claim, the running one last.
    #[must_use]
    pub fn all_attempts(&self) -> Vec<Attempt> {
        let running = self.lease.iter().map(|lease| Attempt {
            token: lease.token,
            owner: lease.owner.clone(),
            claimed_at: lease.granted_at,
            ended_at: None,
            outcome: None,
            verb: None,
            error: None,
            pulse: lease.pulse,
        });
        self.attempts.iter().cloned().chain(running).collect()
    }
}
