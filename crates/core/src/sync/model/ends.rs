//! What ends without a holder: leases that run out, syncs that are cancelled, and what is no longer kept.

use super::super::event::{SyncEvent, What};
use super::super::request::{Refused, SyncsPruned, SyncsRecovered};
use super::super::rules::{self, End, RETENTION_MS, Receipt};
use super::super::unit::{Reason, State, SyncId, Unit};
use super::{Key, Syncs};
use crate::actor::Actor;
use crate::bounds::RECEIPT_MS;
use crate::lease::live;
use crate::time::Time;

impl Syncs {
    /// Ends a sync at once (S6): whoever holds it or one of its chunks is told `cancelled`.
    pub fn cancel(&mut self, id: SyncId, why: Option<&str>, by: &Actor, now: Time) -> Result<State, Refused> {
        let sync = self.syncs.get(&id).ok_or(Refused::Absent)?;
        if !sync.standing.open() {
            return Err(Refused::Terminal);
        }
        let unit = Unit::sync(id);
        self.part(&unit, now);
        let event = SyncEvent::new(now, &unit, What::Cancelled).acted(by).error(why);
        self.write(SyncEvent { reason: Some(Reason::Cancelled), ..event });
        self.end(id, State::Failed, Some(Reason::Cancelled), Some(Reason::Cancelled.as_str()), now);
        Ok(State::Failed)
    }

    /// Writes down leases that ran out, at most `leases_max` of them, once for each token, and applies the crash
    /// limits (L7). They stay in place: what ran out is claimable without this, and is shown as `EXPIRED` until then.
    pub fn recover(&mut self, leases_max: usize, now: Time) -> SyncsRecovered {
        let mut recovered = SyncsRecovered::default();
        let untold = |id: &SyncId| {
            let lock = self.syncs[id].standing.lapsed(now).filter(|lock| !lock.told)?;
            Some((lock.until, *id))
        };
        let mut syncs: Vec<(Time, SyncId)> = self.open.values().filter_map(untold).collect();
        syncs.sort_unstable();
        for (_, id) in syncs.into_iter().take(leases_max) {
            recovered.leases += 1;
            recovered.failed += u32::from(self.tell_sync(id, now));
        }
        let left = leases_max - recovered.leases as usize;
        let chunks: Vec<_> = self.untold.iter().take_while(|(until, ..)| !live(*until, now)).take(left).collect();
        let keys: Vec<Key> = chunks
            .into_iter()
            .map(|(_, id, ord)| (self.syncs[id].matrix_id.clone(), self.order[&(*id, *ord)].clone()))
            .collect();
        for key in keys {
            recovered.leases += 1;
            recovered.failed += u32::from(self.tell_chunk(&key, now));
        }
        recovered
    }

    /// Notices that the lease of a sync ran out; whether that ended it.
    pub(super) fn tell_sync(&mut self, id: SyncId, now: Time) -> bool {
        if self.syncs[&id].standing.lapsed(now).is_none_or(|lock| lock.told) {
            return false;
        }
        let last_done_at = self.progress(id, now).last_done_at;
        let sync = self.syncs.get_mut(&id).expect("an open sync is on record");
        let Some(lock) = &mut sync.standing.lock else { return false };
        lock.told = true;
        sync.crashes = rules::sync_crashes(sync.crashes, lock.until, last_done_at);
        let unit = Unit::sync(id);
        let event = |what| SyncEvent::new(now, &unit, what).by(&lock.owner, sync.standing.token);
        let expired = SyncEvent { attempt: Some(sync.crashes), ..event(What::Expired) };
        let failed = SyncEvent { reason: Some(Reason::CrashLimit), ..event(What::Failed) };
        let crashed_out = rules::sync_crashed_out(sync.crashes, sync.crashes_max);
        self.write(expired);
        if crashed_out {
            self.remember_lapsed(unit, now);
            self.write(failed);
            self.end(id, State::Failed, Some(Reason::CrashLimit), Some(Reason::CrashLimit.as_str()), now);
        }
        crashed_out
    }

    /// Notices that the lease of a chunk ran out; whether that ended it.
    pub(super) fn tell_chunk(&mut self, key: &Key, now: Time) -> bool {
        let chunk = &self.chunks[key];
        let Some(lock) = chunk.standing.lapsed(now).filter(|lock| !lock.told) else { return false };
        let unit = Unit::chunk(chunk.sync, &key.1);
        let event = |what| SyncEvent {
            attempt: Some(chunk.attempt),
            ..SyncEvent::new(now, &unit, what).by(&lock.owner, chunk.standing.token)
        };
        let expired = event(What::Expired);
        let failed = SyncEvent { reason: Some(Reason::CrashLimit), ..event(What::Failed) };
        let crashed_out = rules::crashed_out(chunk.attempt, chunk.attempts_max);
        self.write(expired);
        self.change(key, |chunk| {
            if let Some(lock) = &mut chunk.standing.lock {
                lock.told = true;
            }
        });
        if crashed_out {
            self.remember_lapsed(unit, now);
            self.write(failed);
            let reason = Reason::CrashLimit;
            self.change(key, |chunk| {
                chunk.standing.settle(State::Failed, Some(reason), Some(reason.as_str()), now);
            });
        }
        crashed_out
    }

    /// Keeps, of a lease that ran out and now makes way, what its holder will be told.
    pub(super) fn remember_lapsed(&mut self, unit: Unit, now: Time) {
        self.remember(unit, End::Expired, now);
    }

    fn remember(&mut self, unit: Unit, end: End, now: Time) {
        let standing = match self.key(&unit) {
            Some(key) => &self.chunks[&key].standing,
            None => &self.syncs[&unit.sync].standing,
        };
        let Some((lock, token)) = standing.lock.as_ref().zip(standing.token) else { return };
        let receipt = Receipt { owner: lock.owner.clone(), end, at: now };
        self.receipts.insert((unit, token), receipt);
    }

    /// Ends the lease of a unit because its sync ends, not by its holder. One that ran out before stays lost for that
    /// reason.
    fn part(&mut self, unit: &Unit, now: Time) {
        let key = self.key(unit);
        let (standing, attempt) = match &key {
            Some(key) => (&self.chunks[key].standing, Some(self.chunks[key].attempt)),
            None => (&self.syncs[&unit.sync].standing, Some(self.syncs[&unit.sync].crashes)),
        };
        let Some(lock) = &standing.lock else { return };
        let event = |what| SyncEvent::new(now, unit, what).by(&lock.owner, standing.token);
        let (end, event) = match (live(lock.until, now), lock.told) {
            // Of the sync's own holder the sync's event tells.
            (true, _) => (End::Cancelled, key.is_some().then(|| event(What::Cancelled))),
            (false, true) => (End::Expired, None),
            (false, false) => (End::Expired, Some(SyncEvent { attempt, ..event(What::Expired) })),
        };
        self.remember(unit.clone(), end, now);
        if let Some(event) = event {
            self.write(event);
        }
        if let Some(key) = key {
            self.change(&key, |chunk| chunk.standing.lock = None);
        }
    }

    /// Ends a sync, and with it the leases of its chunks (S6).
    pub(super) fn end(&mut self, id: SyncId, state: State, reason: Option<Reason>, error: Option<&str>, now: Time) {
        let mut held: Vec<u64> = self
            .locked
            .range((id, Time(i64::MIN), 0)..=(id, Time(i64::MAX), u64::MAX))
            .map(|(_, _, ord)| *ord)
            .collect();
        held.sort_unstable();
        for ord in held {
            let unit = Unit::chunk(id, self.order[&(id, ord)].clone());
            self.part(&unit, now);
        }
        let progress = self.progress(id, now).at_the_end();
        let sync = self.syncs.get_mut(&id).expect("the sync was just found");
        sync.standing.settle(state, reason, error, now);
        sync.ended = Some(progress);
        let matrix_id = sync.matrix_id.clone();
        self.open.remove(&matrix_id);
    }

    /// Removes what is no longer kept, at most `max` of each kind: receipts past their hour; ended syncs past their
    /// retention, except the last of each matrix, with the chunks that no later pass took over.
    pub fn prune(&mut self, max: usize, now: Time) -> SyncsPruned {
        let old = |(_, receipt): &(_, &Receipt)| receipt.at.plus_ms(RECEIPT_MS) <= now;
        let receipts: Vec<_> = self.receipts.iter().filter(old).map(|(of, _)| of.clone()).take(max).collect();
        receipts.iter().for_each(|of| drop(self.receipts.remove(of)));

        let past = |id: &&SyncId| {
            let sync = &self.syncs[*id];
            let ended_at = sync.standing.completed_at.or(sync.standing.failed_at);
            let later = self.syncs.range(**id..).skip(1).any(|(_, other)| other.matrix_id == sync.matrix_id);
            later && ended_at.is_some_and(|at| at.plus_ms(RETENTION_MS) <= now)
        };
        let past: Vec<SyncId> = self.syncs.keys().filter(past).copied().take(max).collect();
        let mut pruned = SyncsPruned { receipts: receipts.len() as u32, ..SyncsPruned::default() };
        for id in past {
            let left = max - pruned.chunks as usize;
            let chunks: Vec<_> = self.order.range((id, 0)..=(id, u64::MAX)).map(|(_, hash)| hash.clone()).collect();
            let matrix_id = self.syncs[&id].matrix_id.clone();
            for hash in chunks.iter().take(left) {
                let key = (matrix_id.clone(), hash.clone());
                self.withdraw(&key);
                self.chunks.remove(&key);
                pruned.chunks += 1;
            }
            let events = self.events.entry(id).or_default();
            let told = events.len().min(max - pruned.events as usize);
            events.drain(..told);
            pruned.events += told as u32;
            if chunks.len() <= left && events.is_empty() {
                self.syncs.remove(&id);
                self.events.remove(&id);
                pruned.syncs += 1;
            }
        }
        pruned
    }
}
