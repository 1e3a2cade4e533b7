//! What requests about schedules may hold.

use crate::queue::shape::{ATTEMPTS, KIND, LIMIT_KEY, ORDERING_KEY, TIMEOUT};
use crate::shape::{Holds, OWN_BACKOFF, PAYLOAD, PRIORITY, Shape, optional, required};
use tenure::schedule::CatchUp;

/// The job that a schedule enqueues for each slot.
pub(crate) static SCHEDULED_JOB: Shape = Shape {
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
pub(crate) static SCHEDULE: Shape = Shape {
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
            Holds::Word(CatchUp::WORDS),
            "What becomes of slots that nobody looked at in time; default latest.",
        ),
        optional("paused", Holds::Bool, "Whether it rests; if left out that stays as it is."),
        required("job", Holds::Object(&SCHEDULED_JOB), "What is enqueued for each slot."),
    ],
};
