//! Lists of schedules, of their firings, and of slots to come.

use crate::reply::paged;
use serde::Serialize;
use tenure::Page;
use tenure::schedule::{Firing, Schedule, Slot};
use utoipa::ToSchema;

/// A page of schedules, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Schedules {
    /// The schedules.
    pub schedules: Vec<Schedule>,
    /// Where the next page begins, if there is one; opaque.
    pub next_cursor: Option<String>,
}

impl From<Page<Schedule>> for Schedules {
    fn from(page: Page<Schedule>) -> Schedules {
        let (schedules, next_cursor) = paged(page, |schedule| schedule.name.clone(), |schedule| schedule);
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

impl From<Page<Firing>> for Firings {
    fn from(page: Page<Firing>) -> Firings {
        let (firings, next_cursor) = paged(page, |firing| firing.slot.to_string(), |firing| firing);
        Firings { firings, next_cursor }
    }
}

/// Slots to come.
#[derive(Debug, Serialize, ToSchema)]
pub struct Slots {
    /// The next first.
    pub slots: Vec<Slot>,
}
