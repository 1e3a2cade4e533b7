//! A second opinion: what the answers alone allow to be said of syncs, by rules written apart from core.
//!
//! The ledger reads requests and answers, never the store's state. An answer that breaks an invariant (I1 exclusion,
//! I2 tokens, I3 and I4 fencing, I11 attempts, I14 chunks apart, S2 order, S5 completeness, S6 overlap, L12 replay) is an
//! error here even where core gives the same answer.

use super::Met;
use crate::conformance::walk::{Report, Wrong};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::sync::{
    Act, ClaimedChunk, ClaimedSync, Denied, Ended, Ending, Plan, Planned, Refused, State, Unit, Verb,
};
use tenure_core::{LostReason, Time, Token};

/// One claim: the sync, the chunk if it is one, the token.
type Claim = (usize, Option<String>, Token);

#[derive(Debug, Default)]
pub(super) struct Ledger {
    syncs: BTreeMap<usize, Known>,
    /// The last claim of each unit: of a sync by its index, of a chunk by its matrix and hash.
    holders: BTreeMap<Name, Holder>,
    /// The largest token each unit was granted.
    tokens: BTreeMap<Name, Token>,
    /// Endings that were accepted.
    accepted: BTreeMap<Claim, (String, Verb, State)>,
    pub(super) report: Report<Met>,
}

/// What names a unit over all passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Sync(usize),
    Chunk(String, String),
}

#[derive(Debug)]
struct Known {
    matrix: String,
    priority: i32,
    created_at: Time,
    ended: bool,
    attempts_max: u32,
    /// Each planned chunk: its attempts, and whether it is done in this pass.
    chunks: BTreeMap<String, (u32, bool)>,
}

#[derive(Clone, Debug)]
struct Holder {
    owner: String,
    token: Token,
    until: Time,
    sync: usize,
}

fn wrong<T>(what: String) -> Result<T, Wrong> {
    Err(what)
}

impl Ledger {
    pub(super) fn met(&mut self, met: Met) {
        self.report.meet(met);
    }

    pub(super) fn name(&self, sync: usize, chunk_hash: Option<&str>) -> Option<Name> {
        let known = self.syncs.get(&sync)?;
        Some(match chunk_hash {
            None => Name::Sync(sync),
            Some(hash) => Name::Chunk(known.matrix.clone(), hash.to_owned()),
        })
    }

    /// The unfinished sync of a matrix.
    fn unfinished(&self, matrix: &str) -> Option<usize> {
        self.syncs.iter().find(|(_, sync)| sync.matrix == matrix && !sync.ended).map(|(index, _)| *index)
    }

    /// `index` is the new sync's, or that of the one that was named.
    pub(super) fn planned(
        &mut self,
        plan: &Plan,
        answer: &Result<Planned, Refused>,
        index: usize,
        now: Time,
    ) -> Result<(), Wrong> {
        let unfinished = self.unfinished(&plan.matrix_id);
        match (answer, unfinished) {
            (Ok(_), Some(other)) => return wrong(format!("S6: {} was planned beside sync #{other}", plan.matrix_id)),
            (Err(Refused::Unfinished { .. }), None) => {
                return wrong(format!("S6: {} has no unfinished sync", plan.matrix_id));
            }
            (Err(Refused::Unfinished { .. }), Some(other)) if other != index => {
                return wrong(format!("S6: sync #{index} was named, and #{other} is unfinished"));
            }
            (Err(_), _) => {
                self.met(Met::Unfinished);
                return Ok(());
            }
            (Ok(_), None) => {}
        }
        let known = Known {
            matrix: plan.matrix_id.clone(),
            priority: plan.priority,
            created_at: now,
            ended: false,
            attempts_max: plan.attempts_max,
            chunks: BTreeMap::new(),
        };
        self.syncs.insert(index, known);
        Ok(())
    }

    /// Which chunks a plan or an addition brought in, and which of them count as done.
    pub(super) fn laid<'a>(&mut self, index: usize, chunks: impl Iterator<Item = (&'a str, bool)>) {
        let mut met = Vec::new();
        let Some(sync) = self.syncs.get_mut(&index) else { return };
        for (hash, done) in chunks {
            let name = Name::Chunk(sync.matrix.clone(), hash.to_owned());
            if !sync.chunks.contains_key(hash) {
                sync.chunks.insert(hash.to_owned(), (0, done));
                if self.tokens.contains_key(&name) {
                    met.push(Met::PlannedAgain);
                }
                if done {
                    met.push(Met::Skipped);
                }
            }
        }
        met.into_iter().for_each(|met| self.met(met));
    }

    pub(super) fn claimed_sync(
        &mut self,
        index: usize,
        claimed: &ClaimedSync,
        owner: &str,
        of: Option<&str>,
        now: Time,
    ) -> Result<(), Wrong> {
        let sync = &self.syncs[&index];
        if sync.ended {
            return wrong(format!("I5: sync #{index} was claimed after it had ended"));
        }
        let rank = |index: usize, sync: &Known| (-i64::from(sync.priority), sync.created_at, index);
        let first = self
            .syncs
            .iter()
            .filter(|(_, sync)| !sync.ended && of.is_none_or(|of| of == sync.matrix))
            .filter(|(other, _)| self.holders.get(&Name::Sync(**other)).is_none_or(|holder| holder.until <= now))
            .min_by_key(|(other, sync)| rank(**other, sync))
            .map(|(other, _)| *other);
        // What crashed out on the way has gone before: core tells.
        if first.is_some_and(|first| rank(first, &self.syncs[&first]) > rank(index, sync)) {
            return wrong(format!("S2: sync #{index} was claimed and is held"));
        }
        let unit = Name::Sync(index);
        self.granted(unit, index, owner, claimed.token, claimed.lease_expires_at, now)
    }

    pub(super) fn claimed_chunk(
        &mut self,
        index: usize,
        claimed: &ClaimedChunk,
        owner: &str,
        now: Time,
    ) -> Result<(), Wrong> {
        let sync = self.syncs.get_mut(&index).ok_or("a chunk of no sync")?;
        if sync.ended {
            return wrong(format!("I5: a chunk of sync #{index} was claimed after it had ended"));
        }
        let hash = &claimed.chunk_hash;
        if claimed.matrix_id != sync.matrix {
            return wrong(format!("I14: a chunk of {} for sync #{index} of {}", claimed.matrix_id, sync.matrix));
        }
        let (attempt, done) =
            sync.chunks.get_mut(hash).ok_or_else(|| format!("chunk {hash} was never planned in sync #{index}"))?;
        if *done {
            return wrong(format!("S4: chunk {hash} of sync #{index} is done in this pass"));
        }
        *attempt += 1;
        if claimed.attempt != *attempt || claimed.attempt > sync.attempts_max {
            return wrong(format!("I11: attempt {} of chunk {hash}, and {attempt} were counted", claimed.attempt));
        }
        let name = Name::Chunk(sync.matrix.clone(), hash.clone());
        if self.holders.get(&name).is_some_and(|holder| holder.until <= now) {
            self.met(Met::ExpiredClaimed);
        }
        let elsewhere = |(other, holder): (&Name, &Holder)| {
            matches!(other, Name::Chunk(_, same) if same == hash) && *other != name && holder.until > now
        };
        if self.holders.iter().any(elsewhere) {
            self.met(Met::SameHashHeldTwice);
        }
        self.granted(name, index, owner, claimed.token, claimed.lease_expires_at, now)
    }

    fn granted(
        &mut self,
        unit: Name,
        sync: usize,
        owner: &str,
        token: Token,
        until: Time,
        now: Time,
    ) -> Result<(), Wrong> {
        if let Some(holder) = self.holders.get(&unit).filter(|holder| holder.until > now) {
            return wrong(format!("I1: {unit:?} was granted while {} holds it", holder.owner));
        }
        if self.tokens.get(&unit).is_some_and(|last| *last >= token) {
            return wrong(format!("I2: {unit:?} was granted {token}, not above {:?}", self.tokens.get(&unit)));
        }
        self.tokens.insert(unit.clone(), token);
        self.holders.insert(unit, Holder { owner: owner.to_owned(), token, until, sync });
        Ok(())
    }

    /// Whether the ledger knows this claim as held.
    fn held(&self, unit: &Name, sync: usize, owner: &str, token: Token, now: Time) -> bool {
        self.holders.get(unit).is_some_and(|holder| {
            holder.owner == owner && holder.token == token && holder.until > now && holder.sync == sync
        })
    }

    pub(super) fn beaten(
        &mut self,
        sync: Option<usize>,
        beat: &tenure_core::sync::Beat,
        answer: Result<Time, LostReason>,
        now: Time,
    ) -> Result<(), Wrong> {
        let name = sync.and_then(|sync| self.name(sync, beat.unit.chunk_hash.as_deref()));
        let held =
            name.as_ref().zip(sync).is_some_and(|(name, sync)| self.held(name, sync, &beat.owner, beat.token, now));
        match (answer, held) {
            (Ok(_), false) => wrong(format!("I4: a heartbeat of {} was accepted without a lease", beat.owner)),
            (Err(reason), true) => wrong(format!("L1: a held lease was refused a heartbeat: {reason}")),
            (Ok(until), true) => {
                if let Some(holder) = name.and_then(|name| self.holders.get_mut(&name)) {
                    holder.until = until;
                }
                Ok(())
            }
            (Err(reason), false) => {
                self.refused(reason);
                Ok(())
            }
        }
    }

    pub(super) fn finished(
        &mut self,
        sync: Option<usize>,
        ending: &Ending,
        answer: Result<Ended, Denied>,
        now: Time,
    ) -> Result<(), Wrong> {
        let (hash, verb) = (ending.unit.chunk_hash.clone(), ending.act.verb());
        let name = sync.and_then(|sync| self.name(sync, hash.as_deref()));
        let Some((sync, name)) = sync.zip(name) else {
            return match answer {
                Err(Denied::Lost(LostReason::Unknown)) => Ok(()),
                other => wrong(format!("L3: an ending of nothing on record was answered {other:?}")),
            };
        };
        let receipt = (sync, hash.clone(), ending.token);
        let before = self.accepted.get(&receipt).filter(|(owner, ..)| *owner == ending.owner).cloned();
        let held = self.held(&name, sync, &ending.owner, ending.token, now);
        match (answer, before) {
            (Ok(Ended { already: true, state }), Some((_, was, then))) if was == verb && then == state => {
                self.met(Met::Already);
                if self.syncs[&sync].ended {
                    self.met(Met::AlreadyInLaterPass);
                }
                Ok(())
            }
            (Ok(Ended { already: true, .. }), before) => {
                wrong(format!("L12: answered as before, and before there was {before:?}"))
            }
            (Err(Denied::Lost(LostReason::Finished)), Some((_, was, _))) if was == verb => {
                wrong("L12: an ending sent again was refused".to_owned())
            }
            (Ok(_), _) if !held => wrong(format!("I3: an ending of {} was accepted without a lease", ending.owner)),
            (Ok(ended), _) => self.accept(sync, &name, ending, ended.state, receipt),
            (Err(Denied::Refused(_)), _) if held => {
                self.met(Met::Incomplete);
                Ok(())
            }
            (Err(denied), _) if held => wrong(format!("L1: a held lease was refused an ending: {denied:?}")),
            (Err(Denied::Lost(reason)), _) => {
                self.refused(reason);
                Ok(())
            }
            (Err(denied), _) => wrong(format!("L3: without a lease an ending was answered {denied:?}")),
        }
    }

    fn accept(
        &mut self,
        index: usize,
        name: &Name,
        ending: &Ending,
        state: State,
        receipt: Claim,
    ) -> Result<(), Wrong> {
        let verb = ending.act.verb();
        self.holders.remove(name);
        let Some(sync) = self.syncs.get_mut(&index) else { return Ok(()) };
        match (&ending.unit.chunk_hash, &ending.act) {
            (Some(hash), act) => {
                let (attempt, done) = sync.chunks.get_mut(hash).ok_or("a chunk that was never planned")?;
                let spent = *attempt >= sync.attempts_max;
                let right = match act {
                    Act::Complete { .. } => State::Completed,
                    Act::Fail { retry: true, .. } if !spent => State::Available,
                    Act::Fail { .. } => State::Failed,
                    Act::Release => State::Available,
                };
                if state != right {
                    return wrong(format!("S5: {verb} left chunk {hash} {state}, not {right}"));
                }
                match act {
                    Act::Complete { .. } => *done = true,
                    Act::Release => *attempt -= 1,
                    Act::Fail { retry, .. } if *retry && spent => self.met(Met::AttemptsSpent),
                    Act::Fail { .. } => {}
                }
            }
            (None, Act::Complete { .. }) => {
                if let Some((hash, _)) = sync.chunks.iter().find(|(_, (_, done))| !done) {
                    return wrong(format!("S5: sync #{index} was completed, and chunk {hash} is not"));
                }
                self.met(Met::SyncCompleted);
                self.ended(index);
            }
            (None, Act::Fail { .. }) => self.ended(index),
            (None, Act::Release) => {}
        }
        self.accepted.insert(receipt, (ending.owner.clone(), verb, state));
        Ok(())
    }

    /// A sync ended; its leases did, too.
    pub(super) fn ended(&mut self, index: usize) {
        if let Some(sync) = self.syncs.get_mut(&index) {
            sync.ended = true;
        }
        self.holders.retain(|_, holder| holder.sync != index);
    }

    pub(super) fn cancelled(&mut self, index: usize, answer: Result<State, Refused>, now: Time) -> Result<(), Wrong> {
        let ended = self.syncs.get(&index).map(|sync| sync.ended);
        match (answer, ended) {
            (Ok(State::Failed), Some(false)) => {
                if self.holders.values().any(|holder| holder.sync == index && holder.until > now) {
                    self.met(Met::CancelledHeld);
                }
                self.ended(index);
                Ok(())
            }
            (Err(Refused::Terminal), Some(true)) | (Err(Refused::Absent), Some(true)) => Ok(()),
            (answer, ended) => wrong(format!("S6: a cancel was answered {answer:?}, ended: {ended:?}")),
        }
    }

    /// The syncs that nobody was told of having ended: a crash limit did it.
    pub(super) fn open_syncs(&self) -> BTreeSet<usize> {
        self.syncs.iter().filter(|(_, sync)| !sync.ended).map(|(index, _)| *index).collect()
    }

    /// A chunk failed because its last lease ran out.
    pub(super) fn crashed(&mut self, unit: &Unit, index: usize) {
        if let Some(name) = self.name(index, unit.chunk_hash.as_deref()) {
            self.holders.remove(&name);
        }
        self.met(Met::ChunkCrashedOut);
    }

    fn refused(&mut self, reason: LostReason) {
        self.met(match reason {
            LostReason::Expired => Met::ExpiredRefused,
            LostReason::Superseded => Met::SupersededRefused,
            LostReason::Cancelled => Met::CancelledRefused,
            LostReason::Finished => Met::FinishedRefused,
            LostReason::Unknown => Met::UnknownRefused,
        });
    }
}
