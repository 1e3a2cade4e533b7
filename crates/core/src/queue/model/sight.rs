//! Sightings: who looked for work, remembered for a day.

use super::super::request::Claim;
use super::super::worker::{self, KINDS_SHOWN, LATELY_MS, SIGHTING_MS, SIGHTINGS_MAX, Sight, Sighting, Watch, Worker};
use super::Queues;
use crate::page::Page;
use crate::time::Time;
use std::collections::BTreeMap;

/// Owner, queue and kinds.
type Where = (String, String, Option<Vec<String>>);

/// What is known of those who claim.
#[derive(Debug, Default)]
pub(super) struct Sightings(BTreeMap<Where, Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    first_at: Time,
    at: Time,
}

impl Sightings {
    /// Forgets at most `max` that were not seen for a day.
    pub(super) fn prune(&mut self, max: usize, now: Time) -> usize {
        let past = self.0.iter().filter(|(_, seen)| seen.at.plus_ms(SIGHTING_MS) <= now);
        let past: Vec<Where> = past.map(|(of, _)| of.clone()).take(max).collect();
        self.0.retain(|of, _| past.binary_search(of).is_err());
        past.len()
    }
}

impl Sightings {
    /// Makes room for one more of `queue`, in place of the oldest.
    fn make_room(&mut self, queue: &str) {
        let here = || self.0.iter().filter(|((_, of, _), _)| of == queue);
        if here().count() < SIGHTINGS_MAX {
            return;
        }
        let oldest = here().min_by_key(|((owner, ..), seen)| (seen.at, std::cmp::Reverse(owner)));
        if let Some(oldest) = oldest.map(|(of, _)| of.clone()) {
            self.0.remove(&oldest);
        }
    }
}

impl Queues {
    /// Every claim is a sighting in each of its queues that there is, written again when it is a minute old.
    pub(super) fn see(&mut self, claim: &Claim, now: Time) {
        let Sight { owner, queues, kinds } = Sight::of(claim);
        for queue in queues.into_iter().filter(|queue| self.queues.contains_key(queue)) {
            let of = (owner.clone(), queue, kinds.clone());
            if !self.sightings.0.contains_key(&of) {
                self.sightings.make_room(&of.1);
            }
            let seen = self.sightings.0.entry(of).or_insert(Seen { first_at: now, at: now });
            if worker::due(Some(seen.at), now) {
                seen.at = now;
            }
        }
    }

    /// Workers by name, from after `after`.
    #[must_use]
    pub fn workers(&self, after: Option<&str>, limit: usize) -> Page<Worker> {
        let mut running: BTreeMap<String, u64> = BTreeMap::new();
        for grant in self.grants.values() {
            *running.entry(grant.lease.owner.clone()).or_default() += grant.left as u64;
        }
        let later = self.sightings.0.iter().filter(|((owner, ..), _)| after.is_none_or(|after| owner.as_str() > after));
        let sightings = later.map(|((owner, queue, kinds), seen)| Sighting {
            owner: owner.clone(),
            queue: queue.clone(),
            kinds: kinds.as_ref().map(|kinds| kinds.iter().take(KINDS_SHOWN).cloned().collect()),
            kinds_capped: kinds.as_ref().is_some_and(|kinds| kinds.len() > KINDS_SHOWN),
            first_seen_at: seen.first_at,
            seen_at: seen.at,
        });
        worker::workers(sightings, &running, false, limit)
    }

    /// Who looked for work of `kind` in `queue` lately.
    pub(super) fn watch(&self, queue: &str, kind: &str, now: Time) -> Watch {
        let here = || self.sightings.0.iter().filter(|((_, of, _), _)| of == queue);
        let last = here().map(|((owner, ..), seen)| (owner, seen.at));
        let last = last.min_by_key(|(owner, at)| (std::cmp::Reverse(*at), *owner));
        let lately = here().filter(|(_, seen)| seen.at.plus_ms(LATELY_MS) > now);
        let rows = lately.map(|((owner, _, kinds), _)| {
            let takes = worker::takes(kinds.as_deref(), kind);
            (owner.clone(), takes, kinds.clone().unwrap_or_default())
        });
        Watch::of(rows, last.map(|(owner, at)| (owner.clone(), at)))
    }
}
