//! A second opinion: what the answers alone allow to be said of syncs, by rules written apart from core.
//!
//! Beside what all faces share, an answer is an error here that breaks I5 (nothing of an ended sync), I14 (chunks of
//! matrices apart), S2 (order), S4 (done is done), S5 (completeness) or S6 (overlap).

use super::Met;
use crate::conformance::walk::{self, Grant, Judged, Presented, Report, Wrong};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::sync::{
    Act, ChunkClaim, ClaimedChunk, ClaimedSync, Denied, Ended, Plan, Planned, Refused, State, SyncClaim, Verb,
};
use tenure_core::{LostReason, Time};

/// A sync by its index, or one of its chunks.
pub(super) type Name = (usize, Option<String>);

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) held: walk::Ledger<Name, Verb, State>,
    syncs: BTreeMap<usize, Known>,
    pub(super) report: Report<Met>,
}

#[derive(Debug)]
struct Known {
    matrix: String,
    priority: i32,
    created_at: Time,
    ended: bool,
    attempts_max: u32,
    /// Each planned chunk, and whether it is done in this pass.
    chunks: BTreeMap<String, bool>,
}

fn wrong<T>(what: String) -> Result<T, Wrong> {
    Err(what)
}

impl Ledger {
    pub(super) fn new(now: Time) -> Ledger {
        Ledger { held: walk::Ledger::new(now), syncs: BTreeMap::new(), report: Report::default() }
    }

    pub(super) fn met(&mut self, met: Met) {
        self.report.meet(met);
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
            created_at: self.held.now,
            ended: false,
            attempts_max: plan.attempts_max,
            chunks: BTreeMap::new(),
        };
        self.syncs.insert(index, known);
        Ok(())
    }

    /// Which chunks a plan or an addition brought in, and which of them count as done.
    pub(super) fn laid<'a>(&mut self, index: usize, chunks: impl Iterator<Item = (&'a str, bool)>) {
        let Some(matrix) = self.syncs.get(&index).map(|sync| sync.matrix.clone()) else { return };
        for (hash, done) in chunks {
            if self.syncs[&index].chunks.contains_key(hash) {
                continue;
            }
            if self.syncs.values().any(|sync| sync.matrix == matrix && sync.chunks.contains_key(hash)) {
                self.met(Met::PlannedAgain);
            }
            if done {
                self.met(Met::Skipped);
            }
            if let Some(sync) = self.syncs.get_mut(&index) {
                sync.chunks.insert(hash.to_owned(), done);
            }
        }
    }

    pub(super) fn claimed_sync(&mut self, index: usize, claimed: &ClaimedSync, claim: &SyncClaim) -> Result<(), Wrong> {
        let sync = &self.syncs[&index];
        if sync.ended {
            return wrong(format!("I5: sync #{index} was claimed after it had ended"));
        }
        let rank = |index: usize, sync: &Known| (-i64::from(sync.priority), sync.created_at, index);
        let first = self
            .syncs
            .iter()
            .filter(|(_, sync)| !sync.ended && claim.matrix_id.as_ref().is_none_or(|of| *of == sync.matrix))
            .filter(|(other, _)| self.held.holder(&(**other, None)).is_none())
            .min_by_key(|(other, sync)| rank(**other, sync))
            .map(|(other, _)| *other);
        // What crashed out on the way has gone before: core tells.
        if first.is_some_and(|first| rank(first, &self.syncs[&first]) > rank(index, sync)) {
            return wrong(format!("S2: sync #{index} was claimed and is held"));
        }
        let grant = Grant::new(&claim.owner, claimed.token, claimed.lease_expires_at, claim.lease_ms);
        self.held.grant((index, None), grant, false)
    }

    pub(super) fn claimed_chunk(
        &mut self,
        index: usize,
        claimed: &ClaimedChunk,
        claim: &ChunkClaim,
    ) -> Result<(), Wrong> {
        let sync = self.syncs.get(&index).ok_or("a chunk of no sync")?;
        if sync.ended {
            return wrong(format!("I5: a chunk of sync #{index} was claimed after it had ended"));
        }
        let hash = &claimed.chunk_hash;
        if claimed.matrix_id != sync.matrix {
            return wrong(format!("I14: a chunk of {} for sync #{index} of {}", claimed.matrix_id, sync.matrix));
        }
        match sync.chunks.get(hash) {
            None => return wrong(format!("chunk {hash} was never planned in sync #{index}")),
            Some(true) => return wrong(format!("S4: chunk {hash} of sync #{index} is done in this pass")),
            Some(false) => {}
        }
        let unit = (index, Some(hash.clone()));
        self.held.attempt(&unit, claimed.attempt, sync.attempts_max)?;
        if self.held.under(&unit).is_some_and(|grant| grant.until <= self.held.now) {
            self.met(Met::ExpiredClaimed);
        }
        let elsewhere = |(other, grant): (&Name, &Grant)| {
            other.1.as_ref() == Some(hash) && other.0 != index && grant.until > self.held.now
        };
        if self.held.claimed().any(elsewhere) {
            self.met(Met::SameHashHeldTwice);
        }
        let grant = Grant::new(&claim.owner, claimed.token, claimed.lease_expires_at, claim.lease_ms);
        self.held.grant(unit, grant, false)
    }

    pub(super) fn beaten(&mut self, of: &Presented<Name>, answer: Result<Time, LostReason>) -> Result<(), Wrong> {
        self.held.beaten(of, answer.ok())?;
        answer.err().into_iter().for_each(|reason| self.refused(reason));
        Ok(())
    }

    pub(super) fn finished(
        &mut self,
        of: &Presented<Name>,
        act: &Act,
        answer: Result<Ended, Denied>,
    ) -> Result<(), Wrong> {
        let ended = match answer {
            Ok(Ended { state, already }) => Some((state, already)),
            Err(Denied::Refused(_)) if self.held.holds(of) => {
                self.met(Met::Incomplete);
                return Ok(());
            }
            Err(Denied::Refused(refused)) => {
                return wrong(format!("L3: without a lease an ending was answered {refused:?}"));
            }
            Err(Denied::Lost(reason)) => {
                if of.unit.is_none() && reason != LostReason::Unknown {
                    return wrong(format!("L3: an ending of nothing on record was answered {reason}"));
                }
                self.refused(reason);
                None
            }
        };
        match (self.held.ended(of, act.verb(), ended)?, ended, &of.unit) {
            (Judged::Accepted, Some((state, _)), Some(unit)) => self.accepted(unit, act, state),
            (Judged::Already, _, unit) => {
                self.met(Met::Already);
                if unit.as_ref().is_some_and(|(sync, _)| self.syncs[sync].ended) {
                    self.met(Met::AlreadyInLaterPass);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn accepted(&mut self, unit: &Name, act: &Act, state: State) -> Result<(), Wrong> {
        let (index, hash) = unit;
        let attempts = self.held.attempts(unit);
        let Some(sync) = self.syncs.get_mut(index) else { return Ok(()) };
        let Some(hash) = hash else {
            match act {
                Act::Complete { .. } => {
                    if let Some((hash, _)) = sync.chunks.iter().find(|(_, done)| !**done) {
                        return wrong(format!("S5: sync #{index} was completed, and chunk {hash} is not"));
                    }
                    self.met(Met::SyncCompleted);
                    self.ended(*index);
                }
                Act::Fail { .. } => self.ended(*index),
                Act::Release => {}
            }
            return Ok(());
        };
        let done = sync.chunks.get_mut(hash).ok_or("a chunk that was never planned")?;
        let spent = attempts >= sync.attempts_max;
        let right = match act {
            Act::Complete { .. } => State::Completed,
            Act::Fail { retry: true, .. } if !spent => State::Available,
            Act::Fail { .. } => State::Failed,
            Act::Release => State::Available,
        };
        if state != right {
            return wrong(format!("S5: {} left chunk {hash} {state}, not {right}", act.verb()));
        }
        match act {
            Act::Complete { .. } => *done = true,
            Act::Release => self.held.uncount(unit),
            Act::Fail { retry, .. } if *retry && spent => self.met(Met::AttemptsSpent),
            Act::Fail { .. } => {}
        }
        Ok(())
    }

    /// A sync ended; its leases did, too.
    pub(super) fn ended(&mut self, index: usize) {
        if let Some(sync) = self.syncs.get_mut(&index) {
            sync.ended = true;
        }
        let under: Vec<Name> =
            self.held.claimed().map(|(unit, _)| unit.clone()).filter(|unit| unit.0 == index).collect();
        under.iter().for_each(|unit| self.held.free(unit));
    }

    pub(super) fn cancelled(&mut self, index: usize, answer: Result<State, Refused>) -> Result<(), Wrong> {
        let ended = self.syncs.get(&index).map(|sync| sync.ended);
        match (answer, ended) {
            (Ok(State::Failed), Some(false)) => {
                if self.held.claimed().any(|(unit, grant)| unit.0 == index && grant.until > self.held.now) {
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
    pub(super) fn crashed(&mut self, chunk: Name) {
        self.held.free(&chunk);
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
