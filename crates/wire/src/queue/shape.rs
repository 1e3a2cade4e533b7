//! What requests about jobs, queues and limits may hold.

use crate::shape::{
    CLAIM_WORKER, Count, ERROR, Field, HELD, Holds, LEASE, OWN_BACKOFF, PAYLOAD, PRIORITY, PROGRESS, REASON, RETRY,
    RETRY_IN, SPAN, Shape, WAIT, WORKER, optional, required, setting,
};
use tenure::{LaneOnFailure, Status, Verb, bounds};

/// Jobs, heartbeats or endings of one call.
const BULK: Count = (1, bounds::BULK_MAX);
const ID: Field = required("id", Holds::Text, "The job.");
const RESULT: Field = optional("result", Holds::Json, "What the handler returned, at most 1 MiB.");
const DELAY: Field = required("delay_ms", SPAN, "How much later.");
const CHECKPOINT: Field = optional("checkpoint", Holds::Json, "Handed to the next attempt, at most 1 MiB.");

pub(crate) const KIND: &str = "What a worker must know to run it.";
const RUN_AT: Field = optional("run_at", Holds::Time, "Not claimed before; default now.");
pub(crate) const ATTEMPTS: Field =
    optional("attempts_max", Holds::Int(1, bounds::ATTEMPTS_MAX as i64), "Attempts it may have; default 5.");
pub(crate) const TIMEOUT: Field =
    optional("timeout_ms", Holds::Int(1, bounds::SPAN_MS_MAX as i64), "How long one attempt may take.");
const KEY: Field = optional(
    "key",
    Holds::Text,
    "The same key and body (kind and payload) in this queue is the same job; another body is refused.",
);
const KEY_WINDOW: Field = optional(
    "key_window_ms",
    Holds::Int(1, bounds::SPAN_MS_MAX as i64),
    "How long the key is remembered, and at least until the job has ended; default 1 day.",
);
pub(crate) const ORDERING_KEY: Field =
    optional("ordering_key", Holds::Text, "Jobs of one such key run one at a time, in the order of their ids.");
pub(crate) const LIMIT_KEY: Field = optional("limit_key", Holds::Text, "The tenant whose limit it counts against.");

/// The fields of a job, the first of which is its kind.
const fn job(kind: Field) -> [Field; 11] {
    [kind, PAYLOAD, PRIORITY, RUN_AT, KEY, KEY_WINDOW, ORDERING_KEY, LIMIT_KEY, ATTEMPTS, TIMEOUT, OWN_BACKOFF]
}

/// A job to enqueue.
pub(crate) static JOB: Shape = Shape { name: "NewJob", fields: &job(required("kind", Holds::Text, KIND)) };

/// A job in a file, where the command line may have said its kind.
pub(crate) static JOB_LINE: Shape = Shape { name: "JobLine", fields: &job(optional("kind", Holds::Text, KIND)) };

/// Jobs to enqueue, all or none.
pub(crate) static JOBS: Shape = Shape {
    name: "NewJobs",
    fields: &[required("jobs", Holds::List(BULK, &[&JOB]), "1 to 10,000 jobs, all or none.")],
};

const MAX: Field = optional("max", Holds::Int(1, bounds::CLAIM_MAX as i64), "How many jobs at most; default 1.");
const KINDS: Field = optional("kinds", Holds::Texts((1, bounds::CLAIM_KINDS_MAX)), "Only these kinds; default all.");

/// A claim from the queue in the path.
pub(crate) static CLAIM: Shape = Shape { name: "Claim", fields: &[CLAIM_WORKER, MAX, LEASE, WAIT, KINDS] };

/// A claim from several queues.
pub(crate) static CLAIM_FROM: Shape = Shape {
    name: "ClaimFrom",
    fields: &[
        required(
            "queues",
            Holds::Texts((1, bounds::CLAIM_QUEUES_MAX)),
            "1 to 100 queues; the jobs come by priority and age, whatever their queue.",
        ),
        CLAIM_WORKER,
        MAX,
        LEASE,
        WAIT,
        KINDS,
    ],
};

/// Renews a lease.
pub(crate) static HEARTBEAT: Shape = Shape { name: "Heartbeat", fields: &[WORKER, HELD, PROGRESS, CHECKPOINT] };
/// Ends a claim as done.
pub(crate) static COMPLETE: Shape = Shape { name: "Complete", fields: &[WORKER, HELD, RESULT] };
/// Ends a claim as failed.
pub(crate) static FAIL: Shape = Shape { name: "Fail", fields: &[WORKER, HELD, ERROR, RETRY, RETRY_IN] };
/// Puts a job off.
pub(crate) static SNOOZE: Shape = Shape { name: "Snooze", fields: &[WORKER, HELD, DELAY] };
/// Gives a job back.
pub(crate) static RELEASE: Shape = Shape { name: "Release", fields: &[WORKER, HELD] };

/// A heartbeat among many.
pub(crate) static EACH_HEARTBEAT: Shape =
    Shape { name: "JobHeartbeat", fields: &[ID, WORKER, HELD, PROGRESS, CHECKPOINT] };
/// Heartbeats, each answered on its own.
pub(crate) static HEARTBEATS: Shape = Shape {
    name: "Heartbeats",
    fields: &[required("heartbeats", Holds::List(BULK, &[&EACH_HEARTBEAT]), "1 to 10,000 heartbeats.")],
};

const fn verb(word: &'static [&'static str]) -> Field {
    required("verb", Holds::Word(word), "How the claim ends.")
}

/// A completion among many endings.
pub(crate) static EACH_COMPLETE: Shape =
    Shape { name: "JobComplete", fields: &[ID, verb(&["complete"]), WORKER, HELD, RESULT] };
/// A failure among many endings.
pub(crate) static EACH_FAIL: Shape =
    Shape { name: "JobFail", fields: &[ID, verb(&["fail"]), WORKER, HELD, ERROR, RETRY, RETRY_IN] };
/// A snooze among many endings.
pub(crate) static EACH_SNOOZE: Shape =
    Shape { name: "JobSnooze", fields: &[ID, verb(&["snooze"]), WORKER, HELD, DELAY] };
/// A release among many endings.
pub(crate) static EACH_RELEASE: Shape = Shape { name: "JobRelease", fields: &[ID, verb(&["release"]), WORKER, HELD] };
/// An ending whose verb is not one of ours: reads far enough to say so.
pub(crate) static EACH_ENDING: Shape = Shape {
    name: "JobEnding",
    fields: &[
        ID,
        verb(Verb::WORDS),
        WORKER,
        HELD,
        RESULT,
        optional("error", Holds::Text, ERROR.about),
        RETRY,
        RETRY_IN,
        optional("delay_ms", SPAN, DELAY.about),
    ],
};
/// Endings, each answered on its own.
pub(crate) static ENDINGS: Shape = Shape {
    name: "Endings",
    fields: &[required(
        "endings",
        Holds::List(BULK, &[&EACH_COMPLETE, &EACH_FAIL, &EACH_SNOOZE, &EACH_RELEASE]),
        "1 to 10,000 endings.",
    )],
};

const FORCE: Field = optional("force", Holds::Bool, "End running jobs now, whatever their holders do; default false.");
const FILTER_FIELD: Field = required("filter", Holds::Object(&FILTER), "Which jobs; at least one of its fields.");
const CURSOR: Field = optional("cursor", Holds::Text, "The `next_cursor` of an earlier answer to the same request.");

/// An operator ends a job.
pub(crate) static CANCEL: Shape = Shape { name: "Cancel", fields: &[REASON, FORCE] };
/// An operator puts a finished job back.
pub(crate) static RETRY_JOB: Shape = Shape { name: "RetryJob", fields: &[] };

/// Which jobs a bulk action is carried out on.
pub(crate) static FILTER: Shape = Shape {
    name: "Filter",
    fields: &[
        optional("queue", Holds::Text, "Only of this queue."),
        optional(
            "status",
            Holds::Word(Status::WORDS),
            "Only in this state; a retry takes failed jobs unless it says completed.",
        ),
        optional("kind", Holds::Text, "Only of this kind."),
    ],
};
/// An operator ends every job that matches.
pub(crate) static CANCEL_ALL: Shape = Shape { name: "CancelAll", fields: &[FILTER_FIELD, REASON, FORCE, CURSOR] };
/// An operator puts every finished job that matches back.
pub(crate) static RETRY_ALL: Shape = Shape { name: "RetryAll", fields: &[FILTER_FIELD, CURSOR] };

/// At most so many claims in each period.
pub(crate) static RATE: Shape = Shape {
    name: "Rate",
    fields: &[
        required("max", Holds::Int(1, bounds::RUNNING_MAX as i64), "Claims in one period."),
        required(
            "period_ms",
            Holds::Int(1, bounds::RATE_PERIOD_MS_MAX as i64),
            "The length of a period. Periods are aligned to the clock, so two of them may meet in one burst.",
        ),
    ],
};
/// What changes about a queue.
pub(crate) static QUEUE_CHANGE: Shape = Shape {
    name: "QueueChange",
    fields: &[
        setting("paused", Holds::Bool, "No claims while it is paused; default false."),
        setting("max_running", Holds::Running, "At most so many jobs running; null is no limit."),
        setting("max_running_per_key", Holds::Running, "At most so many running for each limit_key; null is no limit."),
        setting(
            "lane_on_failure",
            Holds::Word(LaneOnFailure::WORDS),
            "What the jobs of an ordering_key do after one of them failed for good; default continue.",
        ),
        setting("retention_ms", SPAN, "How long finished jobs are kept; 0 is not at all; default 7 days."),
        setting("rate_limit", Holds::Object(&RATE), "Claims of the queue in each period; null is no limit."),
        setting(
            "rate_limit_per_key",
            Holds::Object(&RATE),
            "Claims of each limit_key in each period; null is no limit.",
        ),
    ],
};
/// What changes about the whole engine.
pub(crate) static LIMITS_CHANGE: Shape = Shape {
    name: "LimitsChange",
    fields: &[setting("max_running", Holds::Running, "At most so many jobs running, in all queues; null is no limit.")],
};
