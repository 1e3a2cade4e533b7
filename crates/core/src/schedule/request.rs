//! What can be asked of schedules, and what is answered.

use crate::bounds::{self, Code, Invalid};
use crate::changes::Difference;
use crate::queue::{JobId, NewJob};
use crate::retry::Backoff;
use crate::time::Time;
use crate::words::words;

/// Bytes of a cron expression.
const CRON_BYTES_MAX: usize = 256;
/// Bytes of a zone's name; the longest of today's has 32.
const ZONE_BYTES_MAX: usize = 64;

words! {
    /// What becomes of slots that nobody looked at in time (T3).
    CatchUp {
        /// Nothing: a slot is fired within a minute or not at all.
        None = "none",
        /// The latest of them is fired, once, however late.
        Latest = "latest",
        /// Each is fired, oldest first; of very many, the last thousand.
        All = "all",
    }
}

/// A schedule as its user writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSchedule {
    /// Its name.
    pub name: String,
    /// Its slots: a cron expression, an alias such as `@daily`, or `@every` and a span.
    pub cron: String,
    /// The zone in which a cron expression is read.
    pub zone: String,
    /// What becomes of slots that nobody looked at in time.
    pub catch_up: CatchUp,
    /// Whether it rests; `None` leaves that as it is.
    pub paused: Option<bool>,
    /// The job to enqueue for each slot.
    pub job: NewJob,
}

impl NewSchedule {
    /// A schedule in UTC that catches up with the latest missed slot.
    pub fn new(name: impl Into<String>, cron: impl Into<String>, job: NewJob) -> NewSchedule {
        NewSchedule {
            name: name.into(),
            cron: cron.into(),
            zone: "UTC".to_owned(),
            catch_up: CatchUp::Latest,
            paused: None,
            job,
        }
    }

    /// The zone in which the expression is read, by its IANA name.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> NewSchedule {
        self.zone = zone.into();
        self
    }

    /// What becomes of slots that nobody looked at in time.
    #[must_use]
    pub fn catch_up(mut self, catch_up: CatchUp) -> NewSchedule {
        self.catch_up = catch_up;
        self
    }

    /// Whether it rests.
    #[must_use]
    pub fn paused(mut self, paused: bool) -> NewSchedule {
        self.paused = Some(paused);
        self
    }

    /// Refuses what is out of bounds. Whether the expression and the zone make sense is for whoever knows calendars.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::name("name", &self.name)?;
        short("cron", &self.cron, CRON_BYTES_MAX)?;
        short("zone", &self.zone, ZONE_BYTES_MAX)?;
        self.job.check().map_err(|refused| refused.within("job"))?;
        let own = [
            ("job.run_at", self.job.run_at.is_some(), "left out: it is the slot"),
            ("job.key", self.job.key.is_some(), "left out: each slot is a job of its own; see `ordering_key`"),
        ];
        match own.iter().find(|(_, sent, _)| *sent) {
            Some((field, _, limit)) => Err(Invalid::new(Code::OutOfBounds, *field, *limit, "a value")),
            None => Ok(()),
        }
    }
}

/// A text of 1 to `max` bytes, all of them printable ASCII.
fn short(field: &str, got: &str, max: usize) -> Result<(), Invalid> {
    if (1..=max).contains(&got.len()) && got.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(());
    }
    Err(Invalid::new(Code::OutOfBounds, field, format!("1 to {max} printable ASCII characters"), got))
}

/// What a schedule does, as it is kept.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Definition {
    /// Its slots.
    pub cron: String,
    /// The zone in which they are read.
    pub zone: String,
    /// What becomes of slots that nobody looked at in time: `none`, `latest` or `all`.
    pub catch_up: CatchUp,
    /// Whether it rests.
    pub paused: bool,
    /// The job to enqueue for each slot.
    pub job: NewJob,
}

impl Definition {
    /// What `to` has otherwise, under the names of the wire. Payloads are not repeated: they may hold what should not
    /// outlive them.
    #[must_use]
    pub fn differences(&self, to: &Definition) -> Vec<Difference> {
        let text = |text: &String| Some(text.clone());
        let key = |key: &Option<String>| key.clone();
        let backoff = |backoff: &Option<Backoff>| {
            let one = |of: &Backoff| {
                let Backoff { initial_ms, factor, max_ms, jitter } = of;
                format!("{initial_ms} ms times {factor} up to {max_ms} ms, jitter {jitter}")
            };
            backoff.as_ref().map(one)
        };
        let (a, b) = (&self.job, &to.job);
        [
            Difference::between("cron", &self.cron, &to.cron, text),
            Difference::between("zone", &self.zone, &to.zone, text),
            Difference::between("catch_up", &self.catch_up, &to.catch_up, |catch_up| Some(catch_up.to_string())),
            Difference::between("paused", &self.paused, &to.paused, |paused| Some(paused.to_string())),
            Difference::between("job.queue", &a.queue, &b.queue, text),
            Difference::between("job.kind", &a.kind, &b.kind, text),
            Difference::between("job.payload", &a.payload, &b.payload, |of| Some(format!("{} bytes", of.len()))),
            Difference::between("job.priority", &a.priority, &b.priority, |of| Some(of.to_string())),
            Difference::between("job.attempts_max", &a.attempts_max, &b.attempts_max, |of| Some(of.to_string())),
            Difference::between("job.timeout_ms", &a.timeout_ms, &b.timeout_ms, |ms| ms.map(|ms| ms.to_string())),
            Difference::between("job.backoff", &a.backoff, &b.backoff, backoff),
            Difference::between("job.ordering_key", &a.ordering_key, &b.ordering_key, key),
            Difference::between("job.limit_key", &a.limit_key, &b.limit_key, key),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A schedule: what it does, and how it stands.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// What it does.
    #[cfg_attr(feature = "serde", serde(flatten))]
    #[cfg_attr(feature = "schema", schema(inline))]
    pub definition: Definition,
    /// The next slot that nobody has dealt with, if there is one.
    pub next_at: Option<Time>,
    /// The last firing.
    pub last: Option<Firing>,
    /// Slots fired.
    pub fired: u64,
    /// Slots that were missed, and dropped by `catch_up`; of one stretch, exact up to 10,000.
    pub missed: u64,
    /// The last slot that was missed.
    pub missed_at: Option<Time>,
    /// When it was first put.
    pub created_at: Time,
    /// When its definition last changed.
    pub updated_at: Time,
    /// Grows with every write to it, and never repeats: a change and a firing each name the one they saw.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub revision: i64,
}

/// A slot that was fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Firing {
    /// The slot; also the `run_at` of its job.
    pub slot: Time,
    /// When it was fired, by the store's clock.
    pub fired_at: Time,
    /// The job it enqueued.
    pub job: JobId,
}

/// Puts a definition in place (T4).
#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    /// Which schedule.
    pub name: String,
    /// What it shall do.
    pub definition: Definition,
    /// The revision it was made from; `None` if there was no such schedule.
    pub revision: Option<i64>,
    /// The first slot to come, where the cursor must [move](super::rules::keeps_cursor).
    pub next_at: Option<Time>,
}

/// Deals with slots that are due (T1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fire {
    /// Which schedule.
    pub name: String,
    /// The revision that was looked at.
    pub revision: i64,
    /// The slots to fire, oldest first; none if its policy drops what is due.
    pub slots: Vec<Time>,
    /// Slots that are dropped.
    pub missed: u32,
    /// The last of these.
    pub missed_at: Option<Time>,
    /// Where the cursor moves to.
    pub next_at: Option<Time>,
}

/// The answer to an accepted [`Fire`]: one firing for each slot, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// When, by the store's clock.
    pub at: Time,
    /// The jobs, in the order of the slots.
    pub jobs: Vec<JobId>,
}

words! {
    /// Why a change or a firing was not accepted. Nothing was changed.
    Refused {
        /// There is no such schedule.
        Absent = "absent",
        /// Another has written to it since it was looked at.
        Changed = "changed",
        /// It rests.
        Paused = "paused",
        /// By the store's clock it is not time yet.
        NotDue = "not_due",
        /// It would go back before the cursor, over slots that were dealt with.
        Behind = "behind",
    }
}

/// A schedule that is due, as far as a scheduler needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSchedule {
    /// Its name.
    pub name: String,
    /// What it looks like now.
    pub revision: i64,
    /// Its slots.
    pub cron: String,
    /// The zone in which they are read.
    pub zone: String,
    /// What becomes of slots that nobody looked at in time.
    pub catch_up: CatchUp,
    /// The first slot that nobody has dealt with.
    pub next_at: Time,
    /// Bytes of the payload that each slot's job would have.
    pub payload_bytes: u64,
}

/// What is due, and when to look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The store's clock.
    pub now: Time,
    /// Schedules that are due, the longest first.
    pub schedules: Vec<DueSchedule>,
    /// The first slot to come of those that are not.
    pub next_at: Option<Time>,
}

/// The slots of a schedule around now: from its cursor up to now, and the first after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Oldest first; of more than [`SLOTS_SEEN_MAX`](super::rules::SLOTS_SEEN_MAX), the last.
    pub due: Vec<Time>,
    /// The first slot after now.
    pub next: Option<Time>,
}
