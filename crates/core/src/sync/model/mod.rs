//! All syncs as one value: the reference that every backend is compared with.
//!
//! Always true: each method is one atomic step at the instant it is given; what it refuses, it leaves untouched.
//! The in-memory backend is this value behind a lock.

mod ends;
mod look;

use super::event::{SyncEvent, What};
use super::request::*;
use super::rules::{self, End, Notes, Receipt};
use super::unit::{Chunk, Standing, State, Sync, SyncId, Unit};
use crate::lease::{self, Judgement, LostReason, Presented, Token, Tokens};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Matrix and hash: what a chunk is named by (S3).
type Key = (String, String);

/// Every sync, chunk, receipt and event of one engine.
#[derive(Debug, Default)]
pub struct Syncs {
    last_id: i64,
    syncs: BTreeMap<SyncId, Sync>,
    /// The unfinished sync of each matrix (S6).
    open: BTreeMap<String, SyncId>,
    chunks: BTreeMap<Key, Chunk>,
    /// Hashes by their place in the plan.
    order: BTreeMap<(SyncId, u64), String>,
    /// Chunks that wait, by sync and place.
    waiting: BTreeSet<(SyncId, u64)>,
    /// Chunks under a lease, by sync, deadline and place.
    locked: BTreeSet<(SyncId, Time, u64)>,
    /// Chunks whose lease was not yet seen to run out, by deadline.
    untold: BTreeSet<(Time, SyncId, u64)>,
    receipts: BTreeMap<(Unit, Token), Receipt>,
    events: BTreeMap<SyncId, Vec<SyncEvent>>,
}

impl Syncs {
    /// No syncs yet.
    #[must_use]
    pub fn new() -> Syncs {
        Syncs::default()
    }

    /// Plans a pass over a matrix, with its chunks, unless an earlier one has not ended (S6). It was
    /// [checked](Plan::check) before.
    pub fn plan(&mut self, plan: Plan, now: Time) -> Result<Planned, Refused> {
        if let Some(id) = self.open.get(&plan.matrix_id) {
            return Err(Refused::Unfinished { id: *id });
        }
        self.last_id += 1;
        let id = SyncId(self.last_id);
        self.open.insert(plan.matrix_id.clone(), id);
        let sync = Sync {
            id,
            matrix_id: plan.matrix_id,
            priority: plan.priority,
            created_at: now,
            skip_if_synced_within_ms: plan.skip_if_synced_within_ms,
            attempts_max: plan.attempts_max,
            crashes: 0,
            crashes_max: plan.crashes_max,
            planned: 0,
            standing: Standing::default(),
            state: State::Available,
            ended: None,
        };
        self.syncs.insert(id, sync);
        Ok(self.lay(id, plan.chunks, now))
    }

    /// Adds chunks to a sync that has not ended. What is planned already stays as it is.
    pub fn add(&mut self, id: SyncId, chunks: Vec<NewChunk>, now: Time) -> Result<Planned, Refused> {
        let sync = self.syncs.get(&id).ok_or(Refused::Absent)?;
        if !sync.standing.open() {
            return Err(Refused::Terminal);
        }
        Ok(self.lay(id, chunks, now))
    }

    /// Puts chunks at the end of a plan. One of an earlier pass keeps its token and what its last sync left (S4).
    fn lay(&mut self, id: SyncId, chunks: Vec<NewChunk>, now: Time) -> Planned {
        let sync = &self.syncs[&id];
        let (matrix_id, within, attempts_max) =
            (sync.matrix_id.clone(), sync.skip_if_synced_within_ms, sync.attempts_max);
        let mut planned = Planned { id, planned: sync.planned, added: 0, skipped: 0 };
        for NewChunk { chunk_hash, payload } in chunks {
            let key = (matrix_id.clone(), chunk_hash.clone());
            let known = self.chunks.get(&key);
            if known.is_some_and(|chunk| chunk.sync == id) {
                continue;
            }
            planned.planned += 1;
            planned.added += 1;
            let mut chunk = Chunk {
                sync: id,
                matrix_id: matrix_id.clone(),
                chunk_hash,
                ord: planned.planned,
                payload,
                attempt: 0,
                attempts_max,
                last_synced_at: known.and_then(|chunk| chunk.last_synced_at),
                row_count: known.and_then(|chunk| chunk.row_count),
                cursor: known.and_then(|chunk| chunk.cursor.clone()),
                standing: Standing { token: known.and_then(|chunk| chunk.standing.token), ..Standing::default() },
                state: State::Available,
            };
            if rules::fresh_enough(chunk.last_synced_at, within, now) {
                chunk.standing.completed_at = Some(now);
                planned.skipped += 1;
            }
            self.withdraw(&key);
            self.order.insert((id, chunk.ord), chunk.chunk_hash.clone());
            self.chunks.insert(key.clone(), chunk);
            self.place(&key);
        }
        if let Some(sync) = self.syncs.get_mut(&id) {
            sync.planned = planned.planned;
        }
        planned
    }

    /// Takes the first sync that waits or whose lease ran out, by priority, age and id (S2).
    pub fn claim_sync(&mut self, claim: &SyncClaim, tokens: &mut Tokens, now: Time) -> Option<ClaimedSync> {
        loop {
            let of = claim.matrix_id.as_ref();
            let waiting = self.open.iter().filter(|(matrix, _)| of.is_none_or(|of| of == *matrix));
            let first = waiting
                .map(|(_, id)| &self.syncs[id])
                .filter(|sync| sync.standing.claimable(now))
                .min_by_key(|sync| (Reverse(sync.priority), sync.created_at, sync.id))?;
            let id = first.id;
            if first.standing.lease.is_some() {
                if self.tell_sync(id, now) {
                    continue;
                }
                self.remember_lapsed(Unit::sync(id), now);
            }
            let token = tokens.draw();
            let sync = self.syncs.get_mut(&id).expect("an open sync is on record");
            return Some(sync.take(claim, token, now));
        }
    }

    /// Takes the next chunk of a sync in the order of the plan, or the one that is named (S3).
    pub fn claim_chunk(&mut self, claim: &ChunkClaim, tokens: &mut Tokens, now: Time) -> Result<ClaimedChunk, Idle> {
        let idle = |reason| Idle { reason, again_in_ms: None };
        let sync = self.syncs.get(&claim.sync).ok_or(idle(IdleReason::Unknown))?;
        if !sync.standing.open() {
            return Err(idle(IdleReason::Ended));
        }
        let matrix_id = sync.matrix_id.clone();
        loop {
            let ord = match &claim.chunk_hash {
                Some(hash) => self.named(claim.sync, &matrix_id, hash, now)?,
                None => self.next(claim.sync, now)?,
            };
            let key = (matrix_id.clone(), self.order[&(claim.sync, ord)].clone());
            if self.chunks[&key].standing.lease.is_some() {
                if self.tell_chunk(&key, now) {
                    continue;
                }
                self.remember_lapsed(Unit::chunk(claim.sync, &key.1), now);
            }
            let token = tokens.draw();
            return Ok(self.change(&key, |chunk| chunk.take(claim, token, now)));
        }
    }

    /// The place of a named chunk, if a claim may take it.
    fn named(&self, id: SyncId, matrix_id: &str, hash: &str, now: Time) -> Result<u64, Idle> {
        let idle = |reason| Idle { reason, again_in_ms: None };
        let chunk = self.chunks.get(&(matrix_id.to_owned(), hash.to_owned())).filter(|chunk| chunk.sync == id);
        let chunk = chunk.ok_or(idle(IdleReason::Unknown))?;
        match (chunk.standing.state(now), &chunk.standing.lease) {
            (State::Available | State::Expired, _) => Ok(chunk.ord),
            (State::Running, Some(lease)) => {
                Err(Idle { reason: IdleReason::Held, again_in_ms: Some(ms_until(lease.expires_at, now)) })
            }
            _ => Err(idle(IdleReason::Done)),
        }
    }

    /// The place of the next chunk that waits or whose lease ran out.
    fn next(&self, id: SyncId, now: Time) -> Result<u64, Idle> {
        let waiting = self.waiting.range((id, 0)..=(id, u64::MAX)).next().map(|(_, ord)| *ord);
        let of_sync = |until| (id, Time(i64::MIN), 0)..=(id, until, u64::MAX);
        let lapsed = self.locked.range(of_sync(now)).map(|(_, _, ord)| *ord).min();
        if let Some(ord) = waiting.into_iter().chain(lapsed).min() {
            return Ok(ord);
        }
        let held = self.locked.range(of_sync(Time(i64::MAX))).next();
        Err(match held {
            Some((_, until, _)) => Idle { reason: IdleReason::Held, again_in_ms: Some(ms_until(*until, now)) },
            None => Idle { reason: IdleReason::Done, again_in_ms: None },
        })
    }

    /// Renews a lease to `now` plus the time granted at its claim; the new deadline.
    pub fn heartbeat(&mut self, beat: &Beat, now: Time) -> Result<Time, LostReason> {
        self.judge(&beat.unit, Presented { owner: &beat.owner, token: beat.token, verb: None }, now).or_lost()?;
        let renewed = match self.key(&beat.unit) {
            Some(key) => self.change(&key, |chunk| chunk.standing.renew(now)),
            None => self.syncs.get_mut(&beat.unit.sync).and_then(|sync| sync.standing.renew(now)),
        };
        Ok(renewed.expect("what is held has a lease"))
    }

    /// Ends a claim, if it is held (L3); answers again what was accepted before (L12).
    pub fn finish(&mut self, ending: &Ending, now: Time) -> Result<Ended, Denied> {
        let verb = ending.act.verb();
        let presented = Presented { owner: &ending.owner, token: ending.token, verb: Some(verb) };
        if let Some(state) = self.judge(&ending.unit, presented, now).or_lost().map_err(Denied::Lost)? {
            return Ok(Ended { state, already: true });
        }
        let state = match self.key(&ending.unit) {
            Some(key) => self.finish_chunk(&key, ending, now),
            None => self.finish_sync(ending, now)?,
        };
        let receipt = Receipt { owner: ending.owner.clone(), end: End::By(verb, state), at: now };
        self.receipts.insert((ending.unit.clone(), ending.token), receipt);
        Ok(Ended { state, already: false })
    }

    fn finish_chunk(&mut self, key: &Key, ending: &Ending, now: Time) -> State {
        let (state, told) = self.change(key, |chunk| chunk.finish(ending, now));
        told.into_iter().for_each(|event| self.write(event));
        // Progress: the sync is not what kills its workers (L6).
        if state == State::Completed
            && let Some(sync) = self.syncs.get_mut(&ending.unit.sync)
        {
            sync.crashes = 0;
        }
        state
    }

    fn finish_sync(&mut self, ending: &Ending, now: Time) -> Result<State, Denied> {
        let id = ending.unit.sync;
        match &ending.act {
            Act::Complete { .. } => {
                let progress = self.progress(id, now);
                if progress.left() + progress.failed > 0 {
                    let (left, failed) = (progress.left(), progress.failed);
                    return Err(Denied::Refused(Refused::Incomplete { left, failed }));
                }
                self.end(id, State::Completed, None, None, now);
                Ok(State::Completed)
            }
            Act::Fail { error, .. } => {
                let reason = Some(super::Reason::Failed);
                self.write(SyncEvent { reason, ..ending.event(What::Failed, now) });
                self.end(id, State::Failed, reason, Some(error), now);
                Ok(State::Failed)
            }
            Act::Release => {
                if let Some(sync) = self.syncs.get_mut(&id) {
                    sync.standing.free();
                }
                Ok(State::Available)
            }
        }
    }

    /// Judges a write, and counts a refusal of what was once planned or claimed in this pass into the one event of its
    /// token and reason (L8).
    fn judge(&mut self, unit: &Unit, presented: Presented<'_, Verb>, now: Time) -> Judgement<State> {
        let Some(sync) = self.syncs.get(&unit.sync) else { return Judgement::Lost(LostReason::Unknown) };
        let receipt = self.receipts.get(&(unit.clone(), presented.token));
        let (last_token, standing) = match &unit.chunk_hash {
            None => (sync.standing.token, Some(&sync.standing)),
            Some(hash) => {
                let chunk = self.chunks.get(&(sync.matrix_id.clone(), hash.clone()));
                let of_this_pass = chunk.filter(|chunk| chunk.sync == unit.sync);
                (chunk.and_then(|chunk| chunk.standing.token), of_this_pass.map(|chunk| &chunk.standing))
            }
        };
        let lease = standing.and_then(|standing| standing.lease.as_ref());
        let judgement = lease::judge(presented, receipt, last_token, lease, now);
        let known = standing.is_some() || receipt.is_some_and(|receipt| receipt.owner == presented.owner);
        if let (Judgement::Lost(reason), true) = (judgement, known) {
            let Presented { owner, token, verb } = presented;
            let event = SyncEvent::new(now, unit, What::Refused).by(owner, Some(token));
            self.count(SyncEvent { verb, lost: Some(reason), ..event });
        }
        judgement
    }

    fn note(&mut self, unit: Unit, notes: Notes) {
        notes.events.into_iter().for_each(|event| self.write(event));
        if let Some((token, receipt)) = notes.receipt {
            self.receipts.insert((unit, token), receipt);
        }
    }

    fn write(&mut self, event: SyncEvent) {
        self.events.entry(event.sync).or_default().push(event);
    }

    fn count(&mut self, refused: SyncEvent) {
        let events = self.events.entry(refused.sync).or_default();
        let same = |event: &&mut SyncEvent| {
            (event.what, event.lost, event.token) == (refused.what, refused.lost, refused.token)
                && event.chunk_hash == refused.chunk_hash
        };
        match events.iter_mut().find(same) {
            Some(event) => {
                let first_at = event.first_at.or(Some(event.at));
                *event = SyncEvent { count: event.count + 1, first_at, ..refused };
            }
            None => events.push(refused),
        }
    }

    /// The key of a unit that is a chunk of a sync on record.
    fn key(&self, unit: &Unit) -> Option<Key> {
        let hash = unit.chunk_hash.clone()?;
        Some((self.syncs.get(&unit.sync)?.matrix_id.clone(), hash))
    }

    /// Changes a chunk and the indexes it stands in.
    fn change<T>(&mut self, key: &Key, change: impl FnOnce(&mut Chunk) -> T) -> T {
        self.unplace(key);
        let changed = change(self.chunks.get_mut(key).expect("a changed chunk is on record"));
        self.place(key);
        changed
    }

    fn place(&mut self, key: &Key) {
        let Some(chunk) = self.chunks.get(key).filter(|chunk| chunk.standing.open()) else { return };
        match &chunk.standing.lease {
            None => {
                self.waiting.insert((chunk.sync, chunk.ord));
            }
            Some(lease) => {
                self.locked.insert((chunk.sync, lease.expires_at, chunk.ord));
                if !chunk.standing.told {
                    self.untold.insert((lease.expires_at, chunk.sync, chunk.ord));
                }
            }
        }
    }

    fn unplace(&mut self, key: &Key) {
        let Some(chunk) = self.chunks.get(key) else { return };
        self.waiting.remove(&(chunk.sync, chunk.ord));
        if let Some(lease) = &chunk.standing.lease {
            self.locked.remove(&(chunk.sync, lease.expires_at, chunk.ord));
            self.untold.remove(&(lease.expires_at, chunk.sync, chunk.ord));
        }
    }

    /// Takes a chunk out of the plan it is in.
    fn withdraw(&mut self, key: &Key) {
        self.unplace(key);
        if let Some(chunk) = self.chunks.get(key) {
            self.order.remove(&(chunk.sync, chunk.ord));
        }
    }
}

/// Milliseconds until `at`, rounded up: asking a moment too early would find nothing.
fn ms_until(at: Time, now: Time) -> u64 {
    Time(at.0.saturating_add(999)).ms_since(now)
}
