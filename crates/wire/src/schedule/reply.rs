//! Schedules, their firings, and the slots to come.

use crate::reply::{Backoff, Json, paged};
use serde::Serialize;
use tenure::Time;
use utoipa::ToSchema;

/// A schedule: what it does, and how it stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// Its slots.
    pub cron: String,
    /// The zone in which they are read.
    pub zone: String,
    /// What becomes of slots that nobody looked at in time: `none`, `latest` or `all`.
    pub catch_up: &'static str,
    /// Whether it rests.
    pub paused: bool,
    /// What is enqueued for each slot.
    pub job: ScheduledJob,
    /// The next slot that nobody has dealt with; null if there is none.
    pub next_at: Option<Time>,
    /// The last firing.
    pub last: Option<Firing>,
    /// Slots fired.
    pub fired: u64,
    /// Slots that were missed, and dropped by `catch_up`.
    pub missed: u64,
    /// The last slot that was missed.
    pub missed_at: Option<Time>,
    /// When it was first put.
    pub created_at: Time,
    /// When its definition last changed.
    pub updated_at: Time,
}

/// What is enqueued for each slot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JobOfSchedule)]
pub struct ScheduledJob {
    /// The queue it is enqueued in.
    pub queue: String,
    /// What it is.
    pub kind: String,
    /// Byte for byte as it was put.
    pub payload: Json,
    /// Its priority.
    pub priority: i32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// Jobs of one such key run one at a time.
    pub ordering_key: Option<String>,
    /// The tenant whose limit it counts against.
    pub limit_key: Option<String>,
}

/// A slot that was fired.
#[derive(Debug, Serialize, ToSchema)]
pub struct Firing {
    /// The slot; also the `run_at` of its job.
    pub slot: Time,
    /// When it was fired.
    pub fired_at: Time,
    /// The job it enqueued.
    pub job: String,
}

impl From<tenure::schedule::Firing> for Firing {
    fn from(firing: tenure::schedule::Firing) -> Firing {
        Firing { slot: firing.slot, fired_at: firing.fired_at, job: firing.job.to_string() }
    }
}

impl From<tenure::schedule::Schedule> for Schedule {
    fn from(schedule: tenure::schedule::Schedule) -> Schedule {
        let tenure::schedule::Definition { cron, zone, catch_up, paused, job } = schedule.definition;
        Schedule {
            name: schedule.name,
            cron,
            zone,
            catch_up: catch_up.as_str(),
            paused,
            job: ScheduledJob {
                queue: job.queue,
                kind: job.kind,
                payload: Json::kept(job.payload),
                priority: job.priority,
                attempts_max: job.attempts_max,
                timeout_ms: job.timeout_ms,
                backoff: job.backoff.map(Backoff::from),
                ordering_key: job.ordering_key,
                limit_key: job.limit_key,
            },
            next_at: schedule.next_at,
            last: schedule.last.map(Firing::from),
            fired: schedule.fired,
            missed: schedule.missed,
            missed_at: schedule.missed_at,
            created_at: schedule.created_at,
            updated_at: schedule.updated_at,
        }
    }
}

/// A page of schedules, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Schedules {
    /// The schedules.
    pub schedules: Vec<Schedule>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<tenure::Page<tenure::schedule::Schedule>> for Schedules {
    fn from(page: tenure::Page<tenure::schedule::Schedule>) -> Schedules {
        let (schedules, next_cursor) = paged(page, |schedule| schedule.name.clone(), Schedule::from);
        Schedules { schedules, next_cursor }
    }
}

/// A page of firings, newest first. The last hundred are kept.
#[derive(Debug, Serialize, ToSchema)]
pub struct Firings {
    /// The firings.
    pub firings: Vec<Firing>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<tenure::Page<tenure::schedule::Firing>> for Firings {
    fn from(page: tenure::Page<tenure::schedule::Firing>) -> Firings {
        let (firings, next_cursor) = paged(page, |firing| firing.slot.to_string(), Firing::from);
        Firings { firings, next_cursor }
    }
}

/// Slots to come.
#[derive(Debug, Serialize, ToSchema)]
pub struct Slots {
    /// The next first.
    pub slots: Vec<Slot>,
}

/// A slot to come.
#[derive(Debug, Serialize, ToSchema)]
pub struct Slot {
    /// The slot.
    pub at: Time,
    /// What the clocks of the schedule's zone show then.
    #[schema(format = DateTime)]
    pub local: String,
}

impl From<Vec<tenure::schedule::Slot>> for Slots {
    fn from(slots: Vec<tenure::schedule::Slot>) -> Slots {
        let one = |slot: tenure::schedule::Slot| Slot { at: slot.at, local: slot.local };
        Slots { slots: slots.into_iter().map(one).collect() }
    }
}
