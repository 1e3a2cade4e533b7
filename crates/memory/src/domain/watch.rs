//! Which leases may have run out, so that recovery need not look at every domain.
//!
//! Always true: a domain is here at most once, under an instant no later than its lease runs out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tenure_core::Time;

/// Domains by the instant at which they are worth a look.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<BTreeSet<(Time, Arc<str>)>>);

impl Watch {
    /// Moves `name` from one instant to another.
    pub(super) fn replace(&self, from: Option<Time>, to: Time, name: &Arc<str>) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(from) = from {
            watched.remove(&(from, name.clone()));
        }
        watched.insert((to, name.clone()));
    }

    /// Takes the first that is due.
    pub(super) fn take_before(&self, now: Time) -> Option<(Time, Arc<str>)> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.first()?.0 > now {
            return None;
        }
        watched.pop_first()
    }
}
