//! What a handle remembers of the sightings it wrote, so that a claim need not read them.
//!
//! Always true: what is remembered is never newer than what is stored, so a sighting that is due is never taken for a
//! fresh one; forgetting costs a read. Bounded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenure_core::Time;
use tenure_core::queue::Sight;

/// More than this are forgotten together; each comes back with the next claim of its worker.
const REMEMBERED_MAX: usize = 10_000;

/// The sightings of one handle: when each owner was last seen in a queue, looking for some kinds.
#[derive(Debug, Default)]
pub struct Sightings {
    hashing: RandomState,
    /// By a hash, for the kinds of a claim may be long. Should two ever meet, one of them is written late.
    seen: Mutex<HashMap<u64, Time>>,
}

impl Sightings {
    /// The oldest that is known of the sightings of `sight`; `None` if one of them is not known.
    #[must_use]
    pub fn oldest(&self, sight: &Sight) -> Option<Time> {
        let seen = self.locked();
        let known: Option<Vec<Time>> =
            sight.queues.iter().map(|queue| seen.get(&self.key(sight, queue)).copied()).collect();
        known?.into_iter().min()
    }

    /// The sighting of `sight` in `queue` is stored as of `seen_at`.
    pub fn note(&self, sight: &Sight, queue: &str, seen_at: Time) {
        let mut seen = self.locked();
        if seen.len() >= REMEMBERED_MAX {
            seen.clear();
        }
        seen.insert(self.key(sight, queue), seen_at);
    }

    fn key(&self, sight: &Sight, queue: &str) -> u64 {
        self.hashing.hash_one((&sight.owner, queue, &sight.kinds))
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u64, Time>> {
        // A map of numbers is whole whatever panicked.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::queue::Claim;

    #[test]
    fn what_is_known_of_one_is_not_known_of_another() {
        let sightings = Sightings::default();
        let sight = Sight::of(&Claim::new("q", "w").also("r"));
        sightings.note(&sight, "q", Time(7));
        assert_eq!(sightings.oldest(&sight), None);
        sightings.note(&sight, "r", Time(5));
        assert_eq!(sightings.oldest(&sight), Some(Time(5)));
        for other in [Claim::new("q", "v"), Claim::new("s", "w"), Claim::new("q", "w").kinds(["k"])] {
            assert_eq!(sightings.oldest(&Sight::of(&other)), None, "{other:?}");
        }
    }

    #[test]
    fn no_more_are_remembered_than_the_bound() {
        let sightings = Sightings::default();
        for n in 0..=REMEMBERED_MAX {
            sightings.note(&Sight::of(&Claim::new("q", format!("w{n}"))), "q", Time(1));
        }
        assert!(sightings.locked().len() <= REMEMBERED_MAX);
    }
}
