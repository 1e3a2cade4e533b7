//! Where this process last stopped among the fresh jobs of a queue: a hint that spares each claim the walk over what
//! was claimed before, also while an old snapshot keeps those rows from being cleaned away.
//!
//! Always true: a hint never makes a claim answer "empty" (Q2), and every queue gets a full look again and again, so
//! that a job committed late, behind the hint, waits a bounded time.

use crate::value::At;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::Time;
use tenure_core::queue::JobId;

/// A full look is due this long after the last one …
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// … or this many times as long as the last one took, so that looks never take more than a twentieth of the time.
const LOOK_SHARE: u32 = 20;
/// More hints than this are forgotten together; they come back with the next full look.
const HINTS_MAX: usize = 10_000;

/// A place in the order of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) priority: i32,
    pub(crate) created_at: Time,
    pub(crate) id: JobId,
}

#[derive(Debug)]
struct Hint {
    place: Place,
    look_due: Instant,
}

/// A queue, and the kinds asked for.
type Asked = (String, Option<Vec<String>>);

/// The hints of one process.
#[derive(Debug, Default)]
pub(crate) struct Cursors(Mutex<HashMap<Asked, Hint>>);

impl Cursors {
    /// Where to begin in `queue`; `None` is a full look.
    pub(crate) fn begin(&self, queue: &str, kinds: &Option<Vec<String>>) -> Option<Place> {
        let hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hint = hints.get(&(queue.to_owned(), kinds.clone()))?;
        (Instant::now() < hint.look_due).then_some(hint.place)
    }

    /// A full look that took `cost` ended at `last`.
    pub(crate) fn looked(&self, queue: &str, kinds: &Option<Vec<String>>, last: Place, cost: Duration) {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hints.len() >= HINTS_MAX {
            hints.clear();
        }
        let look_due = Instant::now() + LOOK_EVERY.max(cost * LOOK_SHARE);
        hints.insert((queue.to_owned(), kinds.clone()), Hint { place: last, look_due });
    }

    /// A claim that began at a hint ended at `last`. One that only found more urgent jobs says nothing about the class
    /// the hint stands in.
    pub(crate) fn advanced(&self, queue: &str, kinds: &Option<Vec<String>>, last: Place) {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hint) = hints.get_mut(&(queue.to_owned(), kinds.clone())) {
            let place = hint.place;
            let further = last.priority < place.priority
                || (last.priority == place.priority && (last.created_at, last.id) > (place.created_at, place.id));
            if further {
                hint.place = last;
            }
        }
    }
}

/// The hints of several queues as the three arrays that `tenure.claim` takes.
pub(crate) struct Columns {
    pub(crate) priorities: Vec<Option<i32>>,
    pub(crate) created_ats: Vec<Option<At>>,
    pub(crate) ids: Vec<Option<i64>>,
}

impl Columns {
    pub(crate) fn of(places: &[Option<Place>]) -> Columns {
        Columns {
            priorities: places.iter().map(|place| place.map(|place| place.priority)).collect(),
            created_ats: places.iter().map(|place| place.map(|place| At(place.created_at))).collect(),
            ids: places.iter().map(|place| place.map(|place| place.id.0)).collect(),
        }
    }
}
