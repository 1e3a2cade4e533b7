//! What ends without a holder: leases that run out, syncs that are cancelled, and what is no longer kept.

use super::super::request::{Refused, SyncsPruned, SyncsRecovered};
use super::super::rules::{End, Notes, RETENTION_MS, Receipt};
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
        let notes = sync.cancelled(why, by, now);
        self.note(Unit::sync(id), notes);
        self.end(id, State::Failed, Some(Reason::Cancelled), Some(Reason::Cancelled.as_str()), now);
        Ok(State::Failed)
    }

    /// Writes down leases that ran out, at most `leases_max` of them, once for each token, and applies the crash
    /// limits (L7). They stay in place: what ran out is claimable without this, and is shown as `EXPIRED` until then.
    pub fn recover(&mut self, leases_max: usize, now: Time) -> SyncsRecovered {
        let mut recovered = SyncsRecovered::default();
        let untold = |id: &SyncId| {
            let standing = &self.syncs[id].standing;
            let lease = standing.lapsed(now).filter(|_| !standing.told)?;
            Some((lease.expires_at, *id))
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
        let last_done_at = self.progress(id, now).last_done_at;
        let sync = self.syncs.get_mut(&id).expect("an open sync is on record");
        let Some((notes, crashed_out)) = sync.expire(last_done_at, now) else { return false };
        self.note(Unit::sync(id), notes);
        if crashed_out {
            self.end(id, State::Failed, Some(Reason::CrashLimit), Some(Reason::CrashLimit.as_str()), now);
        }
        crashed_out
    }

    /// Notices that the lease of a chunk ran out; whether that ended it.
    pub(super) fn tell_chunk(&mut self, key: &Key, now: Time) -> bool {
        let unit = Unit::chunk(self.chunks[key].sync, &key.1);
        let Some((notes, crashed_out)) = self.change(key, |chunk| chunk.expire(now)) else { return false };
        self.note(unit, notes);
        crashed_out
    }

    /// Keeps, of a lease that ran out and now makes way, what its holder will be told.
    pub(super) fn remember_lapsed(&mut self, unit: Unit, now: Time) {
        let standing = match self.key(&unit) {
            Some(key) => &self.chunks[&key].standing,
            None => &self.syncs[&unit.sync].standing,
        };
        let receipt = standing.receipt(End::Expired, now);
        self.note(unit, Notes { receipt, ..Notes::default() });
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
            let key = self.key(&unit).expect("a held chunk is on record");
            let notes = self.change(&key, |chunk| chunk.part(now));
            self.note(unit, notes);
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
