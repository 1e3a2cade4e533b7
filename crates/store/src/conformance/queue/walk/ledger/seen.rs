//! Judges what is told of workers: who was seen where and when, and what each holds.

use super::{Ledger, Met, Wrong};
use std::collections::BTreeSet;
use tenure_core::Time;
use tenure_core::queue::{Claim, Situation, Worker};

/// How far a sighting may lag behind the worker's last claim: less than a minute.
const LAG: i64 = 60_000_000;

impl Ledger {
    /// A worker claimed, whatever it was given.
    pub(in super::super) fn sighted(&mut self, claim: &Claim, now: Time) {
        let kinds: Option<BTreeSet<String>> = claim.kinds.as_ref().map(|kinds| kinds.iter().cloned().collect());
        for queue in &claim.queues {
            let of = (claim.owner.clone(), queue.clone(), kinds.clone());
            self.sighted.entry(of).or_default().insert(now);
        }
    }

    /// Each sighting is a claim that was made, and at most a minute older than the last of its kind; each count is of
    /// jobs that the worker claimed and that nobody has ended or returned.
    pub(in super::super) fn seen(&self, workers: &[Worker]) -> Result<(), Wrong> {
        for worker in workers {
            for sighting in &worker.sightings {
                let kinds = sighting.kinds.as_ref().map(|kinds| kinds.iter().cloned().collect());
                let of = (worker.name.clone(), sighting.queue.clone(), kinds);
                let claims = self.sighted.get(&of).ok_or_else(|| format!("Y: {of:?} never claimed"))?;
                if !claims.contains(&sighting.seen_at) || !claims.contains(&sighting.first_seen_at) {
                    return Err(format!("L5: {of:?} was not seen at {sighting:?}"));
                }
                let last = claims.last().copied().unwrap_or(sighting.seen_at);
                if last.0 - sighting.seen_at.0 >= LAG {
                    return Err(format!("Y: {of:?} claimed at {last:?} and was seen at {:?}", sighting.seen_at));
                }
            }
            let held = self.held.claimed().filter(|(_, grant)| grant.owner == worker.name).count() as u64;
            if held != worker.running {
                return Err(format!("Y: {} holds {held} jobs, not {}", worker.name, worker.running));
            }
        }
        Ok(())
    }

    /// A waiting job was explained.
    pub(in super::super) fn explained(&mut self, of: &Situation) {
        if of.spent_until.is_some() || of.key_spent_until.is_some() {
            self.met(Met::RateExplained);
        }
        if !of.watch.takers.is_empty() {
            return;
        }
        self.met(if of.watch.others.is_empty() { Met::NobodyLately } else { Met::OtherKindsLately });
    }
}
