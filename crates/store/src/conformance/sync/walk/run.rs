//! Applies operations to a store and to core at the same instant, and compares every answer and all that can be read.

use super::draw::{From, HASHES, MATRICES, Move, OWNERS, Op, PAYLOADS, Pick, Step, Twist};
use super::ledger::{Ledger, Wrong};
use super::{Met, Report};
use crate::conformance::sync::SyncHarness;
use crate::conformance::tools::START;
use crate::{StoreError, SyncStore};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenure_core::sync::{
    Act, Beat, Chunk, ChunkClaim, ChunkFilter, Ending, IdleReason, NewChunk, Plan, Planned, Reason, Refused, State,
    Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, Syncs, SyncsPruned, Unit, What,
};
use tenure_core::{Actor, Epoch, Time, Token, Tokens};

/// Not on record in any store, and never granted by any.
const NO_SYNC: SyncId = SyncId(1 << 52);
const NO_TOKEN: Token = Token((1 << 53) - 1);

/// The step that failed, and what was wrong.
pub(super) type Failed = (usize, Wrong);

/// Runs `steps` on a new store; compares everything after each `every` steps and at the end.
pub(super) async fn run<H: SyncHarness>(
    steps: Vec<Step>,
    every: usize,
    at: Arc<AtomicUsize>,
) -> Result<Report, Failed> {
    let mut runner = Runner::<H>::open().await;
    for (i, step) in steps.iter().enumerate() {
        at.store(i, Ordering::Relaxed);
        runner.step(step).await.map_err(|wrong| (i, wrong))?;
        if i % every == every - 1 || i + 1 == steps.len() {
            runner.compare().await.map_err(|wrong| (i, wrong))?;
        }
    }
    Ok(Report { steps: runner.applied, met: runner.ledger.all_met() })
}

struct Runner<H> {
    harness: H,
    handles: [Arc<dyn SyncStore>; 2],
    core: Syncs,
    epoch: Epoch,
    /// Those that core draws.
    core_tokens: Tokens,
    now: Time,
    /// Each sync's number in the store and in core.
    ids: Vec<(SyncId, SyncId)>,
    /// The store's tokens, in core's numbers.
    tokens: BTreeMap<Token, Token>,
    ledger: Ledger,
    claims: Vec<Claimed>,
    endings: Vec<(Option<usize>, Ending)>,
    applied: u64,
}

/// One claim, in the store's numbers.
#[derive(Clone, Debug)]
struct Claimed {
    sync: usize,
    unit: Unit,
    owner: String,
    token: Token,
}

impl<H: SyncHarness> Runner<H> {
    async fn open() -> Runner<H> {
        let harness = H::open_syncs(START).await;
        let handles = [harness.syncs(), harness.other_syncs().await];
        Runner {
            harness,
            handles,
            core: Syncs::new(),
            epoch: Epoch::default(),
            core_tokens: Tokens::default(),
            now: START,
            ids: Vec::new(),
            tokens: BTreeMap::new(),
            ledger: Ledger::default(),
            claims: Vec::new(),
            endings: Vec::new(),
            applied: 0,
        }
    }

    async fn step(&mut self, step: &Step) -> Result<(), Wrong> {
        let store = self.handles[usize::from(step.second_handle)].clone();
        let store = &*store;
        self.applied += 1;
        let open = self.ledger.open_syncs();
        match &step.op {
            Op::Plan { matrix, priority, skip_ms, attempts_max, crashes_max, chunks } => {
                let mut plan = Plan::new(MATRICES[*matrix]).priority(*priority).attempts_max(*attempts_max);
                plan.skip_if_synced_within_ms = *skip_ms;
                plan.crashes_max = *crashes_max;
                self.plan(store, plan.chunks(new_chunks(chunks))).await?;
            }
            Op::Add { sync, chunks } => match nth_back(self.ids.len(), *sync) {
                Some(index) if !chunks.is_empty() => self.add(store, index, new_chunks(chunks)).await?,
                _ => self.applied -= 1,
            },
            Op::ClaimSync { owner, lease_ms, matrix } => {
                let mut claim = SyncClaim::new(OWNERS[*owner]).lease_ms(*lease_ms);
                claim.matrix_id = matrix.map(|matrix| MATRICES[matrix].to_owned());
                self.claim_sync(store, claim).await?;
            }
            Op::ClaimChunk { owner, sync, lease_ms, hash } => match nth_back(self.ids.len(), *sync) {
                Some(index) => {
                    let mut claim = ChunkClaim::new(self.ids[index].0, OWNERS[*owner]).lease_ms(*lease_ms);
                    claim.chunk_hash = hash.map(|hash| HASHES[hash].to_owned());
                    self.claim_chunk(store, index, claim).await?;
                }
                None => self.applied -= 1,
            },
            Op::Beat(from) => match self.sent(*from) {
                Some((index, claimed)) => self.beat(store, index, claimed).await?,
                None => self.applied -= 1,
            },
            Op::Finish(from, act) => match self.sent(*from) {
                Some((index, Claimed { unit, owner, token, .. })) => {
                    let act = fitting(&unit, act.clone());
                    self.finish(store, index, Ending { unit, owner, token, act }).await?;
                }
                None => self.applied -= 1,
            },
            Op::Again(n) => match nth_back(self.endings.len(), *n) {
                Some(at) => {
                    let (index, ending) = self.endings[at].clone();
                    self.finish(store, index, ending).await?;
                }
                None => self.applied -= 1,
            },
            Op::Drain(n) => match nth_back(self.ids.len(), *n) {
                Some(index) => self.drain(store, index).await?,
                None => self.applied -= 1,
            },
            Op::Cancel(n) => match nth_back(self.ids.len(), *n) {
                Some(index) => {
                    let theirs = store.cancel_sync(self.ids[index].0, Some("why".to_owned())).await.map_err(unwell)?;
                    self.ledger.cancelled(index, theirs, self.now)?;
                    let ours = self.core.cancel(self.ids[index].1, Some("why"), &Actor::default(), self.now);
                    same("cancel", &theirs, &ours)?;
                }
                None => self.applied -= 1,
            },
            Op::Recover(max) => {
                let theirs = store.recover_syncs(*max).await.map_err(unwell)?;
                same("recover", &theirs, &self.core.recover(*max as usize, self.now))?;
                if theirs.leases > 0 {
                    self.ledger.met(Met::Swept);
                }
            }
            Op::Prune(max) => self.prune(store, *max).await?,
            Op::Clock(by) => self.clock(*by).await,
            Op::NewEpoch => {
                self.epoch = self.harness.raise_epoch().await;
                self.ledger.met(Met::EpochRaised);
            }
            Op::List { matrix, state, before, limit } => {
                let filter = SyncFilter { matrix_id: matrix.map(|m| MATRICES[m].to_owned()), state: *state };
                let before = before.and_then(|n| nth_back(self.ids.len(), n)).map(|index| self.ids[index]);
                let theirs = store.syncs(filter.clone(), before.map(|ids| ids.0), *limit).await.map_err(unwell)?;
                let ours = self.core.syncs(&filter, before.map(|ids| ids.1), *limit as usize, self.now);
                let items =
                    theirs.items.into_iter().map(|sync| self.sync_to_core(sync)).collect::<Result<Vec<_>, _>>()?;
                same("list of syncs", &(items, theirs.more), &(ours.items, ours.more))?;
            }
            Op::Chunks { sync, state, after, limit } => match nth_back(self.ids.len(), *sync) {
                Some(index) => {
                    let filter = ChunkFilter { state: *state };
                    let page = store.chunks(self.ids[index].0, filter.clone(), *after, *limit).await.map_err(unwell)?;
                    let ours = self.core.chunks(self.ids[index].1, &filter, *after, *limit as usize, self.now);
                    let items =
                        page.items.into_iter().map(|chunk| self.chunk_to_core(chunk)).collect::<Result<Vec<_>, _>>()?;
                    same("list of chunks", &(items, page.more), &(ours.items, ours.more))?;
                }
                None => self.applied -= 1,
            },
        }
        self.notice_crashes(&open);
        Ok(())
    }

    /// What ended because its leases ran out too often, nobody was told of: core knows, and the next comparison shows
    /// whether the store agrees.
    fn notice_crashes(&mut self, open: &std::collections::BTreeSet<usize>) {
        for index in open {
            let Some(info) = self.core.sync(self.ids[*index].1, self.now) else { continue };
            if info.sync.standing.reason == Some(Reason::CrashLimit) {
                self.ledger.met(Met::SyncCrashedOut);
                self.ledger.ended(*index);
                continue;
            }
            let page =
                self.core.chunks(self.ids[*index].1, &ChunkFilter { state: Some(State::Failed) }, 0, 100, self.now);
            for chunk in page.items.iter().filter(|chunk| chunk.standing.reason == Some(Reason::CrashLimit)) {
                self.ledger.crashed(&Unit::chunk(chunk.sync, &chunk.chunk_hash), *index);
            }
        }
    }

    async fn plan(&mut self, store: &dyn SyncStore, plan: Plan) -> Result<(), Wrong> {
        plan.check().expect("the walk stays within bounds");
        let theirs = store.plan_sync(plan.clone()).await.map_err(unwell)?;
        let ours = self.core.plan(plan.clone(), self.now);
        let index = match (&theirs, &ours) {
            (Ok(planned), Ok(core)) => {
                self.ids.push((planned.id, core.id));
                self.ids.len() - 1
            }
            (Err(Refused::Unfinished { id }), _) => self.index(*id)?,
            _ => self.ids.len(),
        };
        self.ledger.planned(&plan, &theirs, index, self.now)?;
        same("plan", &self.planned_to_core(theirs)?, &ours)?;
        if let Ok(planned) = ours {
            self.laid(index, planned.id, &plan.chunks);
        }
        Ok(())
    }

    async fn add(&mut self, store: &dyn SyncStore, index: usize, chunks: Vec<NewChunk>) -> Result<(), Wrong> {
        let theirs = store.add_chunks(self.ids[index].0, chunks.clone()).await.map_err(unwell)?;
        let ours = self.core.add(self.ids[index].1, chunks.clone(), self.now);
        same("add", &self.planned_to_core(theirs)?, &ours)?;
        if let Ok(planned) = ours {
            self.laid(index, planned.id, &chunks);
        }
        Ok(())
    }

    fn laid(&mut self, index: usize, id: SyncId, chunks: &[NewChunk]) {
        let (core, now) = (&self.core, self.now);
        let done = |chunk: &NewChunk| core.chunk(id, &chunk.chunk_hash, now).is_some_and(|chunk| chunk.skipped());
        let chunks: Vec<_> = chunks.iter().map(|chunk| (chunk.chunk_hash.as_str(), done(chunk))).collect();
        self.ledger.laid(index, chunks.into_iter());
    }

    async fn claim_sync(&mut self, store: &dyn SyncStore, claim: SyncClaim) -> Result<(), Wrong> {
        let theirs = store.claim_sync(claim.clone()).await.map_err(unwell)?;
        let open = self.ledger.open_syncs();
        let ours = self.core.claim_sync(&claim, &mut self.core_tokens, self.now);
        self.notice_crashes(&open);
        let Some(mut claimed) = theirs else { return same("claim of a sync", &None, &ours) };
        let index = self.index(claimed.id)?;
        self.ledger.claimed_sync(index, &claimed, &claim.owner, claim.matrix_id.as_deref(), self.now)?;
        let unit = Unit::sync(claimed.id);
        self.claims.push(Claimed { sync: index, unit, owner: claim.owner.clone(), token: claimed.token });
        self.granted(claimed.token, ours.as_ref().map(|ours| ours.token))?;
        (claimed.id, claimed.token) = (self.ids[index].1, self.token_to_core(claimed.token)?);
        same("claim of a sync", &Some(claimed), &ours)
    }

    async fn claim_chunk(&mut self, store: &dyn SyncStore, index: usize, claim: ChunkClaim) -> Result<(), Wrong> {
        let theirs = store.claim_chunk(claim.clone()).await.map_err(unwell)?;
        let open = self.ledger.open_syncs();
        let in_core = ChunkClaim { sync: self.ids[index].1, ..claim.clone() };
        let ours = self.core.claim_chunk(&in_core, &mut self.core_tokens, self.now);
        self.notice_crashes(&open);
        let mut claimed = match theirs {
            Ok(claimed) => claimed,
            Err(idle) => {
                if idle.reason == IdleReason::Held {
                    self.ledger.met(Met::AllHeld);
                }
                return same("claim of a chunk", &Err(idle), &ours);
            }
        };
        self.ledger.claimed_chunk(index, &claimed, &claim.owner, self.now)?;
        if claim.chunk_hash.is_some() {
            self.ledger.met(Met::NamedClaimed);
        }
        let unit = Unit::chunk(claimed.sync, &claimed.chunk_hash);
        self.claims.push(Claimed { sync: index, unit, owner: claim.owner.clone(), token: claimed.token });
        self.granted(claimed.token, ours.as_ref().ok().map(|ours| ours.token))?;
        (claimed.sync, claimed.token) = (self.ids[index].1, self.token_to_core(claimed.token)?);
        same("claim of a chunk", &Ok(claimed), &ours)
    }

    async fn beat(&mut self, store: &dyn SyncStore, index: Option<usize>, claimed: Claimed) -> Result<(), Wrong> {
        let beat = Beat::new(claimed.unit, claimed.owner, claimed.token);
        let theirs = store.heartbeat_sync(beat.clone()).await.map_err(unwell)?;
        self.ledger.beaten(index, &beat, theirs, self.now)?;
        let in_core = Beat { unit: self.unit_to_core(&beat.unit), token: self.known(beat.token), ..beat };
        same("heartbeat", &theirs, &self.core.heartbeat(&in_core, self.now))
    }

    async fn finish(&mut self, store: &dyn SyncStore, index: Option<usize>, ending: Ending) -> Result<(), Wrong> {
        let theirs = store.finish_sync(ending.clone()).await.map_err(unwell)?;
        self.ledger.finished(index, &ending, theirs, self.now)?;
        self.endings.push((index, ending.clone()));
        let in_core = Ending { unit: self.unit_to_core(&ending.unit), token: self.known(ending.token), ..ending };
        same("ending", &theirs, &self.core.finish(&in_core, self.now))
    }

    /// Works a sync off as a worker would.
    async fn drain(&mut self, store: &dyn SyncStore, index: usize) -> Result<(), Wrong> {
        let Some(info) = self.core.sync(self.ids[index].1, self.now) else { return Ok(()) };
        for _ in 0..HASHES.len() {
            let before = self.claims.len();
            self.claim_chunk(store, index, ChunkClaim::new(self.ids[index].0, "cleo")).await?;
            let Some(Claimed { unit, owner, token, .. }) = self.claims.get(before).cloned() else { break };
            let act = Act::Complete { row_count: Some(3), cursor: None };
            self.finish(store, Some(index), Ending { unit, owner, token, act }).await?;
        }
        let before = self.claims.len();
        self.claim_sync(store, SyncClaim::new("cleo").matrix_id(&info.sync.matrix_id)).await?;
        let Some(Claimed { sync, unit, owner, token }) = self.claims.get(before).cloned() else { return Ok(()) };
        self.finish(store, Some(sync), Ending { unit, owner, token, act: Act::done() }).await
    }

    /// Step by step, until nothing is left to remove; which rows a step takes first is open.
    async fn prune(&mut self, store: &dyn SyncStore, max: u32) -> Result<(), Wrong> {
        let (mut theirs, mut ours) = (SyncsPruned::default(), SyncsPruned::default());
        let plus = |a: SyncsPruned, b: SyncsPruned| SyncsPruned {
            syncs: a.syncs + b.syncs,
            chunks: a.chunks + b.chunks,
            events: a.events + b.events,
            receipts: a.receipts + b.receipts,
        };
        for _ in 0..10_000 {
            let step = store.prune_syncs(max).await.map_err(unwell)?;
            if step.syncs.max(step.chunks).max(step.events).max(step.receipts) > max {
                return Err(format!("prune: more than {max} of a kind: {step:?}"));
            }
            theirs = plus(theirs, step);
            if step == SyncsPruned::default() {
                break;
            }
        }
        loop {
            let step = self.core.prune(max as usize, self.now);
            ours = plus(ours, step);
            if step == SyncsPruned::default() {
                break;
            }
        }
        if ours.syncs > 0 {
            self.ledger.met(Met::Pruned);
        }
        same("prune", &theirs, &ours)
    }

    async fn clock(&mut self, by: Move) {
        let to = match by {
            Move::Micros(micros) => Time(self.now.0 + micros),
            Move::ToDeadline(n, off) => match self.pick(Pick::Held(n)).and_then(|claimed| self.deadline(&claimed)) {
                Some(until) => Time(until.0 + off),
                None => self.now,
            },
        };
        self.now = self.now.max(to);
        self.harness.move_clock(self.now).await;
    }

    /// When the lease of a claim runs out, if it is still in place.
    fn deadline(&self, claimed: &Claimed) -> Option<Time> {
        let id = self.ids[claimed.sync].1;
        let standing = match &claimed.unit.chunk_hash {
            Some(hash) => self.core.chunk(id, hash, self.now)?.standing,
            None => self.core.sync(id, self.now)?.sync.standing,
        };
        let current = standing.token == self.tokens.get(&claimed.token).copied();
        standing.lock.filter(|_| current).map(|lock| lock.until)
    }

    fn pick(&self, pick: Pick) -> Option<Claimed> {
        let mut recent = self.claims.iter().rev().take(60);
        let found = match pick {
            Pick::Any(n) => recent.nth(n).cloned(),
            Pick::Held(n) => {
                recent.filter(|claimed| self.deadline(claimed).is_some_and(|at| at > self.now)).nth(n).cloned()
            }
            Pick::Expired(n) => {
                recent.filter(|claimed| self.deadline(claimed).is_some_and(|at| at <= self.now)).nth(n).cloned()
            }
        };
        found.or_else(|| self.claims.last().cloned())
    }

    /// A claim as a write presents it, and the sync it names, if that is on record.
    fn sent(&self, from: From) -> Option<(Option<usize>, Claimed)> {
        let mut claimed = self.pick(from.claim)?;
        let mut index = Some(claimed.sync);
        match from.twist {
            Twist::None => {}
            Twist::Owner(owner) => claimed.owner = OWNERS[owner].to_owned(),
            Twist::MadeUpToken => claimed.token = NO_TOKEN,
            Twist::TokenOf(n) => claimed.token = self.claims[nth_back(self.claims.len(), n)?].token,
            Twist::NoSuchSync => (index, claimed.unit.sync) = (None, NO_SYNC),
            Twist::OtherSync(n) => {
                index = nth_back(self.ids.len(), n);
                claimed.unit.sync = index.map_or(NO_SYNC, |index| self.ids[index].0);
            }
            Twist::OtherHash(n) => {
                claimed.unit.chunk_hash = claimed.unit.chunk_hash.map(|_| HASHES[n].to_owned());
            }
        }
        Some((index, claimed))
    }

    /// Everything that can be read.
    async fn compare(&mut self) -> Result<(), Wrong> {
        let store = self.handles[0].clone();
        for index in 0..self.ids.len() {
            let (theirs_id, ours_id) = self.ids[index];
            let theirs = store.sync(theirs_id).await.map_err(unwell)?;
            let theirs = match theirs {
                None => None,
                Some(SyncInfo { sync, progress }) => Some(SyncInfo { sync: self.sync_to_core(sync)?, progress }),
            };
            let ours = self.core.sync(ours_id, self.now);
            same(&format!("sync #{index}"), &theirs, &ours)?;
            if ours.is_none() {
                continue;
            }
            let page = store.chunks(theirs_id, ChunkFilter::default(), 0, 1_000).await.map_err(unwell)?;
            let chunks =
                page.items.into_iter().map(|chunk| self.chunk_to_core(chunk)).collect::<Result<Vec<_>, _>>()?;
            let ours = self.core.chunks(ours_id, &ChunkFilter::default(), 0, 1_000, self.now);
            same(&format!("chunks of sync #{index}"), &chunks, &ours.items)?;
            for chunk in &ours.items {
                let theirs = store.chunk(theirs_id, &chunk.chunk_hash).await.map_err(unwell)?;
                let theirs = theirs.map(|chunk| self.chunk_to_core(chunk)).transpose()?;
                same(&format!("a chunk of sync #{index}"), &theirs.as_ref(), &Some(chunk))?;
            }
            let theirs = store.sync_events(theirs_id, 1_000).await.map_err(unwell)?;
            let theirs = theirs.into_iter().map(|event| self.event_to_core(event)).collect::<Result<Vec<_>, _>>()?;
            same(&format!("events of sync #{index}"), &theirs, &self.core.events(ours_id, 1_000))?;
        }
        Ok(())
    }

    fn index(&self, id: SyncId) -> Result<usize, Wrong> {
        let found = self.ids.iter().position(|(theirs, _)| *theirs == id);
        found.ok_or_else(|| format!("the store speaks of a sync {id} that was never planned"))
    }

    /// The store drew `theirs` where core drew `ours`.
    fn granted(&mut self, theirs: Token, ours: Option<Token>) -> Result<(), Wrong> {
        if theirs <= self.epoch.base {
            return Err(format!("L2: token {theirs} was drawn before {:?}", self.epoch));
        }
        let Some(ours) = ours else { return Err(format!("claim: {theirs} was granted where core grants nothing")) };
        match self.tokens.insert(theirs, ours) {
            None => Ok(()),
            Some(_) => Err(format!("I2: token {theirs} was granted twice")),
        }
    }

    fn known(&self, token: Token) -> Token {
        self.tokens.get(&token).copied().unwrap_or(NO_TOKEN)
    }

    fn token_to_core(&self, token: Token) -> Result<Token, Wrong> {
        self.tokens.get(&token).copied().ok_or_else(|| format!("the store shows a token {token} it never granted"))
    }

    fn unit_to_core(&self, unit: &Unit) -> Unit {
        let sync = self.index(unit.sync).map_or(NO_SYNC, |index| self.ids[index].1);
        Unit { sync, chunk_hash: unit.chunk_hash.clone() }
    }

    fn planned_to_core(&self, planned: Result<Planned, Refused>) -> Result<Result<Planned, Refused>, Wrong> {
        Ok(match planned {
            Ok(planned) => Ok(Planned { id: self.ids[self.index(planned.id)?].1, ..planned }),
            Err(Refused::Unfinished { id }) => Err(Refused::Unfinished { id: self.ids[self.index(id)?].1 }),
            Err(other) => Err(other),
        })
    }

    fn sync_to_core(&self, mut sync: Sync) -> Result<Sync, Wrong> {
        sync.id = self.ids[self.index(sync.id)?].1;
        sync.standing.token = sync.standing.token.map(|token| self.token_to_core(token)).transpose()?;
        Ok(sync)
    }

    fn chunk_to_core(&self, mut chunk: Chunk) -> Result<Chunk, Wrong> {
        chunk.sync = self.ids[self.index(chunk.sync)?].1;
        chunk.standing.token = chunk.standing.token.map(|token| self.token_to_core(token)).transpose()?;
        Ok(chunk)
    }

    fn event_to_core(&self, mut event: SyncEvent) -> Result<SyncEvent, Wrong> {
        event.sync = self.ids[self.index(event.sync)?].1;
        // A refused write may have named any token.
        event.token = match event.what {
            What::Refused => event.token.map(|token| self.known(token)),
            _ => event.token.map(|token| self.token_to_core(token)).transpose()?,
        };
        Ok(event)
    }
}

/// An act that makes sense for a unit: only a chunk has rows.
fn fitting(unit: &Unit, act: Act) -> Act {
    match act {
        Act::Complete { .. } if unit.chunk_hash.is_none() => Act::done(),
        act => act,
    }
}

fn new_chunks(chunks: &[(usize, usize)]) -> Vec<NewChunk> {
    chunks.iter().map(|(hash, payload)| NewChunk::new(HASHES[*hash]).payload(PAYLOADS[*payload])).collect()
}

fn nth_back(len: usize, n: usize) -> Option<usize> {
    (len > 0).then(|| len - 1 - n.min(len - 1))
}

fn unwell(error: StoreError) -> Wrong {
    format!("the store answered with an error: {error}")
}

/// Equal, or both shown.
fn same<T: PartialEq + Debug>(what: &str, theirs: &T, ours: &T) -> Result<(), Wrong> {
    if theirs == ours {
        return Ok(());
    }
    let (theirs, ours) = (format!("{theirs:#?}"), format!("{ours:#?}"));
    let differing: Vec<String> = theirs
        .lines()
        .zip(ours.lines())
        .filter(|(theirs, ours)| theirs != ours)
        .take(20)
        .map(|(theirs, ours)| format!("\n    store {theirs}\n    core  {ours}"))
        .collect();
    let lengths = (theirs.lines().count(), ours.lines().count());
    Err(format!("{what} differs (lines: {lengths:?}){}", differing.concat()))
}
