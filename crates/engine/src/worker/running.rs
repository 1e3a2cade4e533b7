//! The units of a worker that can be told to stop together.

use crate::heart::{Cancelled, Hold};
use std::sync::{Arc, Mutex, Weak};

/// Every hold that may still be at work.
#[derive(Debug, Default)]
pub(super) struct RunningUnits(Mutex<Vec<Weak<Hold>>>);

impl RunningUnits {
    /// One more.
    pub(super) fn add(&self, hold: &Arc<Hold>) {
        let mut holds = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if holds.len() == holds.capacity() {
            // Before it grows, those that have ended leave.
            holds.retain(|hold| hold.strong_count() > 0);
        }
        holds.push(Arc::downgrade(hold));
    }

    /// Tells all of them to stop.
    pub(super) fn tell(&self, why: Cancelled) {
        let holds = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        holds.iter().filter_map(Weak::upgrade).for_each(|hold| hold.tell(why));
    }
}
