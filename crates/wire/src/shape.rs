//! What a request may hold: one table, read by the [reader](crate::Body) and by the OpenAPI document.
//!
//! Only fields that work are here; any other is refused by name.

pub mod sync;

use serde_json::Value;
use tenure::bounds;
use tenure::pipeline::{ARTIFACTS_MAX, SEGMENTS_MAX, STAGES_MAX};
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{Ref, RefOr};

/// An object that may be sent.
#[derive(Debug)]
pub struct Shape {
    /// What the OpenAPI document calls it.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// One field of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// Whether it must be sent.
    pub required: bool,
    /// Whether `null` sets it back to its default, rather than being the same as not sent.
    pub unsets: bool,
    /// What it means.
    pub about: &'static str,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// A string.
    Text,
    /// A whole number in these bounds.
    Int(i64, i64),
    /// A limit on running jobs: a whole number from 1.
    Running,
    /// Any number.
    Number,
    /// `true` or `false`.
    Bool,
    /// An RFC 3339 time with a zone.
    Time,
    /// Any JSON, kept byte for byte.
    Json,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of strings, so many of them.
    Texts(Count),
    /// An object of this shape.
    Object(&'static Shape),
    /// A list of objects, so many of them, each of one of these shapes.
    List(Count, &'static [&'static Shape]),
}

/// How few and how many items a list may have. The library says so too; here it keeps a list from being read that is a
/// thousand times too long.
pub type Count = (u64, u64);

/// Jobs, heartbeats or endings of one call.
const BULK: Count = (1, bounds::BULK_MAX);

const fn required(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, required: true, unsets: false, about }
}

const fn optional(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, required: false, unsets: false, about }
}

const fn setting(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, required: false, unsets: true, about }
}

/// Milliseconds of a span that may be nothing.
const SPAN: Holds = Holds::Int(0, bounds::SPAN_MS_MAX as i64);
/// A fencing token: below 2^53, so that it survives as a JSON number.
const TOKEN: Holds = Holds::Int(0, (1 << 53) - 1);

const WORKER: Field = required("worker", Holds::Text, "Who holds the lease, as named at claim.");
const HELD: Field = required("token", TOKEN, "The fencing token of the claim.");
const ID: Field = required("id", Holds::Text, "The job.");
const RESULT: Field = optional("result", Holds::Json, "What the handler returned, at most 1 MiB.");
const ERROR: Field = required("error", Holds::Text, "What went wrong; cut to 8 KiB.");
const RETRY: Field = optional("retry", Holds::Bool, "false: not tried again.");
const RETRY_IN: Field =
    optional("retry_in_ms", SPAN, "Tried again after exactly this long, instead of by the job's backoff; 0 is now.");
const DELAY: Field = required("delay_ms", SPAN, "How much later.");
const PROGRESS: Field = optional("progress", Holds::Json, "Shown to people, at most 1 MiB.");
const CHECKPOINT: Field = optional("checkpoint", Holds::Json, "Handed to the next attempt, at most 1 MiB.");

const KIND: &str = "What a worker must know to run it.";
const PAYLOAD: Field = optional("payload", Holds::Json, "Any JSON, kept byte for byte, at most 1 MiB; default null.");
const PRIORITY: Field =
    optional("priority", Holds::Int(i32::MIN as i64, i32::MAX as i64), "Higher is claimed first; default 0.");
const RUN_AT: Field = optional("run_at", Holds::Time, "Not claimed before; default now.");
const ATTEMPTS: Field =
    optional("attempts_max", Holds::Int(1, bounds::ATTEMPTS_MAX as i64), "Attempts it may have; default 5.");
const TIMEOUT: Field =
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
const ORDERING_KEY: Field =
    optional("ordering_key", Holds::Text, "Jobs of one such key run one at a time, in the order of their ids.");
const LIMIT_KEY: Field = optional("limit_key", Holds::Text, "The tenant whose limit it counts against.");
const OWN_BACKOFF: Field = optional("backoff", Holds::Object(&BACKOFF), "Its own backoff.");

/// A job's own backoff.
pub static BACKOFF: Shape = Shape {
    name: "Backoff",
    fields: &[
        optional("initial_ms", SPAN, "The wait after the first failed attempt; default 1 s."),
        optional("factor", Holds::Number, "How much longer each further wait is, 1 to 100; default 2."),
        optional("max_ms", SPAN, "No wait is longer, before jitter; default 1 h."),
        optional("jitter", Holds::Number, "The share of the wait that chance may add or take, 0 to 1; default 0.2."),
    ],
};

/// A job to enqueue.
pub static JOB: Shape = Shape {
    name: "NewJob",
    fields: &[
        required("kind", Holds::Text, KIND),
        PAYLOAD,
        PRIORITY,
        RUN_AT,
        KEY,
        KEY_WINDOW,
        ORDERING_KEY,
        LIMIT_KEY,
        ATTEMPTS,
        TIMEOUT,
        OWN_BACKOFF,
    ],
};

/// A job in a file, where the command line may have said its kind.
pub static JOB_LINE: Shape = Shape {
    name: "JobLine",
    fields: &[
        optional("kind", Holds::Text, KIND),
        PAYLOAD,
        PRIORITY,
        RUN_AT,
        KEY,
        KEY_WINDOW,
        ORDERING_KEY,
        LIMIT_KEY,
        ATTEMPTS,
        TIMEOUT,
        OWN_BACKOFF,
    ],
};

/// Jobs to enqueue, all or none.
pub static JOBS: Shape = Shape {
    name: "NewJobs",
    fields: &[required("jobs", Holds::List(BULK, &[&JOB]), "1 to 10,000 jobs, all or none.")],
};

const CLAIM_WORKER: Field = required("worker", Holds::Text, "Who claims; named again in every write under the lease.");
const MAX: Field = optional("max", Holds::Int(1, bounds::CLAIM_MAX as i64), "How many jobs at most; default 1.");
const LEASE: Field = optional(
    "lease_ms",
    Holds::Int(bounds::LEASE_MS.0 as i64, bounds::LEASE_MS.1 as i64),
    "How long the lease runs unless renewed; default 30 s.",
);
const WAIT: Field = optional(
    "wait_ms",
    Holds::Int(0, bounds::WAIT_MS_MAX as i64),
    "How long to wait for the first job; default 0, which answers at once.",
);
const KINDS: Field = optional("kinds", Holds::Texts((1, bounds::CLAIM_KINDS_MAX)), "Only these kinds; default all.");

/// A claim from the queue in the path.
pub static CLAIM: Shape = Shape { name: "Claim", fields: &[CLAIM_WORKER, MAX, LEASE, WAIT, KINDS] };

/// A claim from several queues.
pub static CLAIM_FROM: Shape = Shape {
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
pub static HEARTBEAT: Shape = Shape { name: "Heartbeat", fields: &[WORKER, HELD, PROGRESS, CHECKPOINT] };
/// Ends a claim as done.
pub static COMPLETE: Shape = Shape { name: "Complete", fields: &[WORKER, HELD, RESULT] };
/// Ends a claim as failed.
pub static FAIL: Shape = Shape { name: "Fail", fields: &[WORKER, HELD, ERROR, RETRY, RETRY_IN] };
/// Puts a job off.
pub static SNOOZE: Shape = Shape { name: "Snooze", fields: &[WORKER, HELD, DELAY] };
/// Gives a job back.
pub static RELEASE: Shape = Shape { name: "Release", fields: &[WORKER, HELD] };

/// A heartbeat among many.
pub static EACH_HEARTBEAT: Shape = Shape { name: "JobHeartbeat", fields: &[ID, WORKER, HELD, PROGRESS, CHECKPOINT] };
/// Heartbeats, each answered on its own.
pub static HEARTBEATS: Shape = Shape {
    name: "Heartbeats",
    fields: &[required("heartbeats", Holds::List(BULK, &[&EACH_HEARTBEAT]), "1 to 10,000 heartbeats.")],
};

/// The verbs that end a claim.
pub const VERBS: &[&str] = &["complete", "fail", "snooze", "release"];

const fn verb(word: &'static [&'static str]) -> Field {
    required("verb", Holds::Word(word), "How the claim ends.")
}

/// A completion among many endings.
pub static EACH_COMPLETE: Shape =
    Shape { name: "JobComplete", fields: &[ID, verb(&["complete"]), WORKER, HELD, RESULT] };
/// A failure among many endings.
pub static EACH_FAIL: Shape =
    Shape { name: "JobFail", fields: &[ID, verb(&["fail"]), WORKER, HELD, ERROR, RETRY, RETRY_IN] };
/// A snooze among many endings.
pub static EACH_SNOOZE: Shape = Shape { name: "JobSnooze", fields: &[ID, verb(&["snooze"]), WORKER, HELD, DELAY] };
/// A release among many endings.
pub static EACH_RELEASE: Shape = Shape { name: "JobRelease", fields: &[ID, verb(&["release"]), WORKER, HELD] };
/// An ending whose verb is not one of ours: reads far enough to say so.
pub static EACH_ENDING: Shape = Shape {
    name: "JobEnding",
    fields: &[
        ID,
        verb(VERBS),
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
pub static ENDINGS: Shape = Shape {
    name: "Endings",
    fields: &[required(
        "endings",
        Holds::List(BULK, &[&EACH_COMPLETE, &EACH_FAIL, &EACH_SNOOZE, &EACH_RELEASE]),
        "1 to 10,000 endings.",
    )],
};

const REASON: Field = optional("reason", Holds::Text, "Why; kept with the event.");
const FORCE: Field = optional("force", Holds::Bool, "End running jobs now, whatever their holders do; default false.");
const FILTER_FIELD: Field = required("filter", Holds::Object(&FILTER), "Which jobs; at least one of its fields.");
const CURSOR: Field = optional("cursor", Holds::Text, "The `next_cursor` of an earlier answer to the same request.");

/// An operator ends a job.
pub static CANCEL: Shape = Shape { name: "Cancel", fields: &[REASON, FORCE] };
/// An operator puts a finished job back.
pub static RETRY_JOB: Shape = Shape { name: "RetryJob", fields: &[] };

/// Which jobs a bulk action is carried out on.
pub static FILTER: Shape = Shape {
    name: "Filter",
    fields: &[
        optional("queue", Holds::Text, "Only of this queue."),
        optional(
            "status",
            Holds::Word(&["queued", "running", "completed", "failed"]),
            "Only in this state; a retry takes failed jobs unless it says completed.",
        ),
        optional("kind", Holds::Text, "Only of this kind."),
    ],
};
/// An operator ends every job that matches.
pub static CANCEL_ALL: Shape = Shape { name: "CancelAll", fields: &[FILTER_FIELD, REASON, FORCE, CURSOR] };
/// An operator puts every finished job that matches back.
pub static RETRY_ALL: Shape = Shape { name: "RetryAll", fields: &[FILTER_FIELD, CURSOR] };

/// At most so many claims in each period.
pub static RATE: Shape = Shape {
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
pub static QUEUE_CHANGE: Shape = Shape {
    name: "QueueChange",
    fields: &[
        setting("paused", Holds::Bool, "No claims while it is paused; default false."),
        setting("max_running", Holds::Running, "At most so many jobs running; null is no limit."),
        setting("max_running_per_key", Holds::Running, "At most so many running for each limit_key; null is no limit."),
        setting(
            "lane_on_failure",
            Holds::Word(&["continue", "block"]),
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
pub static LIMITS_CHANGE: Shape = Shape {
    name: "LimitsChange",
    fields: &[setting("max_running", Holds::Running, "At most so many jobs running, in all queues; null is no limit.")],
};

/// The job that a schedule enqueues for each slot.
pub static SCHEDULED_JOB: Shape = Shape {
    name: "ScheduledJob",
    fields: &[
        required("queue", Holds::Text, "The queue it is enqueued in."),
        required("kind", Holds::Text, KIND),
        PAYLOAD,
        PRIORITY,
        ORDERING_KEY,
        LIMIT_KEY,
        ATTEMPTS,
        TIMEOUT,
        OWN_BACKOFF,
    ],
};
/// A schedule, as it shall be.
pub static SCHEDULE: Shape = Shape {
    name: "NewSchedule",
    fields: &[
        required(
            "cron",
            Holds::Text,
            "Its slots: 5 fields, 6 with seconds in front, an alias such as @daily, or @every and a span.",
        ),
        optional("zone", Holds::Text, "The IANA zone in which they are read; default UTC."),
        optional(
            "catch_up",
            Holds::Word(&["none", "latest", "all"]),
            "What becomes of slots that nobody looked at in time; default latest.",
        ),
        optional("paused", Holds::Bool, "Whether it rests; if left out that stays as it is."),
        required("job", Holds::Object(&SCHEDULED_JOB), "What is enqueued for each slot."),
    ],
};
/// An operator lets a schedule rest, or go on.
pub static REST: Shape = Shape { name: "Rest", fields: &[] };
/// A stage of a pipeline.
pub static STAGE: Shape = Shape {
    name: "NewStage",
    fields: &[
        required("name", Holds::Text, "Its name, unlike any other of the pipeline."),
        optional("needs", Holds::Texts((0, STAGES_MAX)), "The stages that must be DONE before it."),
        LEASE,
        optional(
            "attempts_max",
            Holds::Int(1, bounds::ATTEMPTS_MAX as i64),
            "Attempts it may have; its split, its join and each segment have as many of their own; default 5.",
        ),
        OWN_BACKOFF,
        PRIORITY,
        optional("segmented", Holds::Bool, "Whether its holder may split it; default false."),
    ],
};
/// A version of a pipeline.
pub static PIPELINE: Shape = Shape {
    name: "NewPipeline",
    fields: &[
        required("name", Holds::Text, "Its name."),
        required("version", Holds::Int(1, i32::MAX as i64), "Which version; runs go on under theirs."),
        required(
            "stages",
            Holds::List((1, STAGES_MAX), &[&STAGE]),
            "1 to 1,000 stages, in the order in which they are shown.",
        ),
    ],
};
/// A run to start.
pub static RUN: Shape = Shape {
    name: "NewRun",
    fields: &[
        optional("input", Holds::Json, "What its first stages work on, at most 1 MiB; default null."),
        optional("version", Holds::Int(1, i32::MAX as i64), "Under which version; default the highest."),
        optional(
            "key",
            Holds::Text,
            "The same key and input is the same run, as long as it is kept; another input is refused.",
        ),
    ],
};
/// A claim of units of a stage.
pub static CLAIM_UNITS: Shape = Shape {
    name: "ClaimUnits",
    fields: &[
        CLAIM_WORKER,
        optional("max", Holds::Int(1, bounds::CLAIM_MAX as i64), "How many units at most; default 1."),
        optional(
            "lease_ms",
            Holds::Int(bounds::LEASE_MS.0 as i64, bounds::LEASE_MS.1 as i64),
            "How long the lease runs unless renewed; default what the stage says.",
        ),
        WAIT,
    ],
};
/// A file that a unit made.
pub static ARTIFACT: Shape = Shape {
    name: "NewArtifact",
    fields: &[
        required(
            "path",
            Holds::Text,
            "Where it is, below the root of the artifacts: RUN/STAGE/vVERSION/SEGMENT/NAME, `_` for no segment.",
        ),
        required("size", Holds::Int(0, (1 << 53) - 1), "Its bytes."),
        required("blake3", Holds::Text, "Its BLAKE3 hash, in 64 lower-case hexadecimal digits."),
    ],
};
static ARTIFACT_ONLY: [&Shape; 1] = [&ARTIFACT];
const ARTIFACTS: Field =
    optional("artifacts", Holds::List((0, ARTIFACTS_MAX), &ARTIFACT_ONLY), "What was made, at most 1,000 files.");
/// Renews the lease of a unit.
pub static UNIT_HEARTBEAT: Shape = Shape { name: "UnitHeartbeat", fields: &[WORKER, HELD, PROGRESS, ARTIFACTS] };
/// Ends a claim of a unit as done.
pub static UNIT_COMPLETE: Shape = Shape {
    name: "UnitComplete",
    fields: &[
        WORKER,
        HELD,
        optional("output", Holds::Json, "The input of the stages that need it, at most 1 MiB."),
        ARTIFACTS,
    ],
};
/// A segment to be made.
pub static SEGMENT: Shape = Shape {
    name: "NewSegment",
    fields: &[
        required("name", Holds::Text, "Its name, unlike any other of the stage."),
        optional("input", Holds::Json, "What it works on; default null."),
    ],
};
/// Cuts a stage into segments.
pub static UNIT_SPLIT: Shape = Shape {
    name: "UnitSplit",
    fields: &[
        WORKER,
        HELD,
        required("segments", Holds::List((1, SEGMENTS_MAX), &[&SEGMENT]), "1 to 100,000 segments, in this order."),
    ],
};
/// An operator ends a run. There is nothing to ask of its holders: they are told.
pub static CANCEL_RUN: Shape = Shape { name: "CancelRun", fields: &[REASON] };
/// An operator tries a run again.
pub static RETRY_RUN: Shape = Shape {
    name: "RetryRun",
    fields: &[optional(
        "stage",
        Holds::Text,
        "Begin again from this stage, and do what follows from it; default what failed for good.",
    )],
};

/// Every shape of the HTTP API, for its OpenAPI document.
pub static ALL: &[&Shape] = &[
    &BACKOFF,
    &JOB,
    &JOBS,
    &CLAIM,
    &CLAIM_FROM,
    &HEARTBEAT,
    &COMPLETE,
    &FAIL,
    &SNOOZE,
    &RELEASE,
    &EACH_HEARTBEAT,
    &HEARTBEATS,
    &EACH_COMPLETE,
    &EACH_FAIL,
    &EACH_SNOOZE,
    &EACH_RELEASE,
    &ENDINGS,
    &CANCEL,
    &RETRY_JOB,
    &FILTER,
    &CANCEL_ALL,
    &RETRY_ALL,
    &RATE,
    &QUEUE_CHANGE,
    &LIMITS_CHANGE,
    &crate::domain::ACQUIRE,
    &crate::domain::HELD,
    &crate::domain::SKIP,
    &crate::domain::CHANGE,
    &sync::CHUNK,
    &sync::PLAN,
    &sync::ADD,
    &sync::CLAIM,
    &sync::CLAIM_CHUNK,
    &sync::HOLDER,
    &sync::FAIL,
    &sync::COMPLETE_CHUNK,
    &sync::FAIL_CHUNK,
    &sync::CANCEL,
    &SCHEDULED_JOB,
    &SCHEDULE,
    &REST,
    &STAGE,
    &PIPELINE,
    &RUN,
    &CLAIM_UNITS,
    &ARTIFACT,
    &UNIT_HEARTBEAT,
    &UNIT_COMPLETE,
    &SEGMENT,
    &UNIT_SPLIT,
    &CANCEL_RUN,
    &RETRY_RUN,
];

impl Shape {
    /// The field called `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The shape as OpenAPI tells it.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let mut object = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)));
        for field in self.fields {
            object = object.property(field.name, field.schema());
            if field.required {
                object = object.required(field.name);
            }
        }
        object.build().into()
    }

    /// A reference to the shape among the document's components.
    #[must_use]
    pub fn reference(&self) -> RefOr<Schema> {
        RefOr::Ref(Ref::from_schema_name(self.name))
    }
}

impl Field {
    fn schema(&self) -> RefOr<Schema> {
        let Field { holds, about, unsets, .. } = *self;
        let plain = |of: Type| {
            let of = if unsets { SchemaType::from_iter([of, Type::Null]) } else { SchemaType::Type(of) };
            ObjectBuilder::new().schema_type(of).description(Some(about))
        };
        let list = |(min, max): Count, items: RefOr<Schema>| {
            let list = ArrayBuilder::new().items(items).description(Some(about));
            list.min_items(Some(min as usize)).max_items(Some(max as usize)).build().into()
        };
        let schema: Schema = match holds {
            Holds::Text => plain(Type::String).build().into(),
            Holds::Int(min, max) => plain(Type::Integer)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
                .minimum(Some(min))
                .maximum(Some(max))
                .build()
                .into(),
            Holds::Running => {
                plain(Type::Integer).minimum(Some(1)).maximum(Some(bounds::RUNNING_MAX as i64)).build().into()
            }
            Holds::Number => plain(Type::Number).build().into(),
            Holds::Bool => plain(Type::Boolean).build().into(),
            Holds::Time => {
                plain(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).build().into()
            }
            Holds::Json => {
                ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(about)).build().into()
            }
            Holds::Word(words) => {
                let null = unsets.then_some(Value::Null);
                let values = words.iter().map(|word| Value::from(*word)).chain(null);
                plain(Type::String).enum_values(Some(values)).build().into()
            }
            Holds::Texts(count) => {
                list(count, RefOr::T(ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).into()))
            }
            Holds::Object(shape) if unsets => {
                let null = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Null));
                let either = AnyOfBuilder::new().item(shape.reference()).item(null);
                either.description(Some(about)).build().into()
            }
            Holds::Object(shape) => return shape.reference(),
            Holds::List(count, shapes) => list(
                count,
                match shapes {
                    [one] => one.reference(),
                    many => {
                        let any = many.iter().fold(AnyOfBuilder::new(), |any, shape| any.item(shape.reference()));
                        RefOr::T(any.build().into())
                    }
                },
            ),
        };
        RefOr::T(schema)
    }
}
