//! Applies operations to a store and to core at the same instant, and compares every answer and all that can be read.

use super::Met;
use super::draw::{Elsewhere, HASHES, MATRICES, Move, Op, PAYLOADS, op};
use super::ledger::{Ledger, Name};
use crate::Store;
use crate::conformance::walk::{
    Bench, Chance, From, OWNERS, Presented, Report, Tables, Walk, Wrong, nth_back, same, unwell,
};
use async_trait::async_trait;
use tenure_core::sync::{
    Act, Beat, Chunk, ChunkClaim, ChunkFilter, Ending, IdleReason, NewChunk, Plan, Planned, Reason, Refused, Standing,
    State, Sync, SyncClaim, SyncEvent, SyncFilter, SyncId, SyncInfo, Syncs, SyncsPruned, Unit,
};
use tenure_core::{Actor, Time, Token, Tokens};

/// Not on record in any store.
const NO_SYNC: SyncId = SyncId(1 << 52);

/// A store and core, sync by sync.
pub struct SyncWalk {
    bench: Bench,
    core: Syncs,
    /// Those that core draws.
    core_tokens: Tokens,
    tables: Tables<SyncId>,
    ledger: Ledger,
    endings: Vec<(Presented<Name>, Ending)>,
}

#[async_trait]
impl Walk for SyncWalk {
    type Op = Op;
    type Met = Met;
    const WORTH_MEETING: &'static [Met] = Met::ALL;
    const LONG: u64 = 8_000;
    const SHORT: usize = 200;
    const COMPARE_EVERY: usize = 20;

    fn draw(chance: &mut Chance) -> Op {
        op(chance)
    }

    async fn open(bench: Bench) -> SyncWalk {
        SyncWalk {
            core: Syncs::new(),
            core_tokens: Tokens::default(),
            tables: Tables::new(),
            ledger: Ledger::new(bench.now),
            bench,
            endings: Vec::new(),
        }
    }

    /// Everything that can be read.
    async fn compare(&mut self) -> Result<(), Wrong> {
        let store = self.bench.handles[0].clone();
        for index in 0..self.tables.ids.len() {
            let (theirs_id, ours_id) = self.tables.ids[index];
            let theirs = store.sync(theirs_id).await.map_err(unwell)?;
            let theirs = theirs.map(|of| SyncInfo { sync: self.sync_to_core(of.sync), ..of });
            let ours = self.core.sync(ours_id, self.bench.now);
            same(&format!("sync #{index}"), &theirs, &ours)?;
            if ours.is_none() {
                continue;
            }
            let page = store.chunks(theirs_id, ChunkFilter::default(), 0, 1_000).await.map_err(unwell)?;
            let chunks = page.items.into_iter().map(|chunk| self.chunk_to_core(chunk)).collect::<Vec<_>>();
            let ours = self.core.chunks(ours_id, &ChunkFilter::default(), 0, 1_000, self.bench.now);
            same(&format!("chunks of sync #{index}"), &chunks, &ours.items)?;
            for chunk in &ours.items {
                let theirs = store.chunk(theirs_id, &chunk.chunk_hash).await.map_err(unwell)?;
                let theirs = theirs.map(|chunk| self.chunk_to_core(chunk));
                same(&format!("a chunk of sync #{index}"), &theirs.as_ref(), &Some(chunk))?;
            }
            let theirs = store.sync_events(theirs_id, 1_000).await.map_err(unwell)?;
            let theirs = theirs.into_iter().map(|event| self.event_to_core(event)).collect::<Vec<_>>();
            same(&format!("events of sync #{index}"), &theirs, &self.core.events(ours_id, 1_000))?;
        }
        Ok(())
    }

    fn report(&mut self) -> &mut Report<Met> {
        &mut self.ledger.report
    }

    async fn apply(&mut self, op: &Op, store: &dyn Store) -> Result<(), Wrong> {
        let open = self.ledger.open_syncs();
        match op {
            Op::Plan { matrix, priority, skip_ms, attempts_max, crashes_max, chunks } => {
                let mut plan = Plan::new(MATRICES[*matrix]).priority(*priority).attempts_max(*attempts_max);
                plan.skip_if_synced_within_ms = *skip_ms;
                plan.crashes_max = *crashes_max;
                self.plan(store, plan.chunks(new_chunks(chunks))).await?;
            }
            Op::Add { sync, chunks } => match nth_back(self.tables.ids.len(), *sync) {
                Some(index) if !chunks.is_empty() => self.add(store, index, new_chunks(chunks)).await?,
                _ => self.skip()?,
            },
            Op::ClaimSync { owner, lease_ms, matrix } => {
                let mut claim = SyncClaim::new(OWNERS[*owner]).lease_ms(*lease_ms);
                claim.matrix_id = matrix.map(|matrix| MATRICES[matrix].to_owned());
                self.claim_sync(store, claim).await?;
            }
            Op::ClaimChunk { owner, sync, lease_ms, hash } => match nth_back(self.tables.ids.len(), *sync) {
                Some(index) => {
                    let mut claim = ChunkClaim::new(self.tables.ids[index].0, OWNERS[*owner]).lease_ms(*lease_ms);
                    claim.chunk_hash = hash.map(|hash| HASHES[hash].to_owned());
                    self.claim_chunk(store, index, claim).await?;
                }
                None => self.skip()?,
            },
            Op::Beat(from, elsewhere) => match self.sent(*from, *elsewhere) {
                Some((of, unit)) => self.beat(store, of, unit).await?,
                None => self.skip()?,
            },
            Op::Finish(from, elsewhere, act) => match self.sent(*from, *elsewhere) {
                Some((of, unit)) => {
                    let act = fitting(&unit, act.clone());
                    self.finish(store, of, unit, act).await?;
                }
                None => self.skip()?,
            },
            Op::Again(n) => match nth_back(self.endings.len(), *n) {
                Some(at) => {
                    let (of, Ending { unit, act, .. }) = self.endings[at].clone();
                    self.finish(store, of, unit, act).await?;
                }
                None => self.skip()?,
            },
            Op::Drain(n) => match nth_back(self.tables.ids.len(), *n) {
                Some(index) => self.drain(store, index).await?,
                None => self.skip()?,
            },
            Op::Cancel(n) => match nth_back(self.tables.ids.len(), *n) {
                Some(index) => {
                    let theirs =
                        store.cancel_sync(self.tables.ids[index].0, Some("why".to_owned())).await.map_err(unwell)?;
                    self.ledger.cancelled(index, theirs)?;
                    let ours =
                        self.core.cancel(self.tables.ids[index].1, Some("why"), &Actor::default(), self.bench.now);
                    same("cancel", &theirs, &ours)?;
                }
                None => self.skip()?,
            },
            Op::Recover(max) => {
                let theirs = store.recover_syncs(*max).await.map_err(unwell)?;
                same("recover", &theirs, &self.core.recover(*max as usize, self.bench.now))?;
                if theirs.leases > 0 {
                    self.ledger.met(Met::Swept);
                }
            }
            Op::Prune(max) => self.prune(store, *max).await?,
            Op::Clock(by) => self.clock(*by).await,
            Op::NewEpoch => {
                self.tables.raised(store.new_epoch().await.map_err(unwell)?);
                self.ledger.met(Met::EpochRaised);
            }
            Op::List { matrix, state, before, limit } => {
                let filter = SyncFilter { matrix_id: matrix.map(|m| MATRICES[m].to_owned()), state: *state };
                let before =
                    before.and_then(|n| nth_back(self.tables.ids.len(), n)).map(|index| self.tables.ids[index]);
                let theirs = store.syncs(filter.clone(), before.map(|ids| ids.0), *limit).await.map_err(unwell)?;
                let ours = self.core.syncs(&filter, before.map(|ids| ids.1), *limit as usize, self.bench.now);
                let items = theirs.items.into_iter().map(|sync| self.sync_to_core(sync)).collect::<Vec<_>>();
                same("list of syncs", &(items, theirs.more), &(ours.items, ours.more))?;
            }
            Op::Chunks { sync, state, after, limit } => match nth_back(self.tables.ids.len(), *sync) {
                Some(index) => {
                    let filter = ChunkFilter { state: *state };
                    let page =
                        store.chunks(self.tables.ids[index].0, filter.clone(), *after, *limit).await.map_err(unwell)?;
                    let ours =
                        self.core.chunks(self.tables.ids[index].1, &filter, *after, *limit as usize, self.bench.now);
                    let items = page.items.into_iter().map(|chunk| self.chunk_to_core(chunk)).collect::<Vec<_>>();
                    same("list of chunks", &(items, page.more), &(ours.items, ours.more))?;
                }
                None => self.skip()?,
            },
        }
        self.notice_crashes(&open);
        Ok(())
    }
}

impl SyncWalk {
    /// What ended because its leases ran out too often, nobody was told of: core knows, and the next comparison shows
    /// whether the store agrees.
    fn notice_crashes(&mut self, open: &std::collections::BTreeSet<usize>) {
        for index in open {
            let Some(info) = self.core.sync(self.tables.ids[*index].1, self.bench.now) else { continue };
            if info.sync.standing.reason == Some(Reason::CrashLimit) {
                self.ledger.met(Met::SyncCrashedOut);
                self.ledger.ended(*index);
                continue;
            }
            let page = self.core.chunks(
                self.tables.ids[*index].1,
                &ChunkFilter { state: Some(State::Failed) },
                0,
                100,
                self.bench.now,
            );
            for chunk in page.items.iter().filter(|chunk| chunk.standing.reason == Some(Reason::CrashLimit)) {
                self.ledger.crashed((*index, Some(chunk.chunk_hash.clone())));
            }
        }
    }

    async fn plan(&mut self, store: &dyn Store, plan: Plan) -> Result<(), Wrong> {
        plan.check().expect("the walk stays within bounds");
        let theirs = store.plan_sync(plan.clone()).await.map_err(unwell)?;
        let ours = self.core.plan(plan.clone(), self.bench.now);
        let index = match (&theirs, &ours) {
            (Ok(planned), Ok(core)) => {
                self.tables.added(planned.id, core.id)?;
                self.tables.ids.len() - 1
            }
            (Err(Refused::Unfinished { id }), _) => self.index(*id)?,
            _ => self.tables.ids.len(),
        };
        self.ledger.planned(&plan, &theirs, index)?;
        same("plan", &self.planned_to_core(theirs), &ours)?;
        if let Ok(planned) = ours {
            self.laid(index, planned.id, &plan.chunks);
        }
        Ok(())
    }

    async fn add(&mut self, store: &dyn Store, index: usize, chunks: Vec<NewChunk>) -> Result<(), Wrong> {
        let theirs = store.add_chunks(self.tables.ids[index].0, chunks.clone()).await.map_err(unwell)?;
        let ours = self.core.add(self.tables.ids[index].1, chunks.clone(), self.bench.now);
        same("add", &self.planned_to_core(theirs), &ours)?;
        if let Ok(planned) = ours {
            self.laid(index, planned.id, &chunks);
        }
        Ok(())
    }

    fn laid(&mut self, index: usize, id: SyncId, chunks: &[NewChunk]) {
        let (core, now) = (&self.core, self.bench.now);
        let done = |chunk: &NewChunk| core.chunk(id, &chunk.chunk_hash, now).is_some_and(|chunk| chunk.skipped());
        let chunks: Vec<_> = chunks.iter().map(|chunk| (chunk.chunk_hash.as_str(), done(chunk))).collect();
        self.ledger.laid(index, chunks.into_iter());
    }

    async fn claim_sync(&mut self, store: &dyn Store, claim: SyncClaim) -> Result<Option<Presented<Name>>, Wrong> {
        let theirs = store.claim_sync(claim.clone()).await.map_err(unwell)?;
        let open = self.ledger.open_syncs();
        let ours = self.core.claim_sync(&claim, &mut self.core_tokens, self.bench.now);
        self.notice_crashes(&open);
        let Some(mut claimed) = theirs else { return same("claim of a sync", &None, &ours).map(|()| None) };
        let index = self.index(claimed.id)?;
        self.ledger.claimed_sync(index, &claimed, &claim)?;
        let of = Presented { unit: Some((index, None)), owner: claim.owner, token: claimed.token };
        self.granted(claimed.token, ours.as_ref().map(|ours| ours.token))?;
        (claimed.id, claimed.token) = (self.tables.ids[index].1, self.tables.token_to_core(claimed.token));
        same("claim of a sync", &Some(claimed), &ours)?;
        Ok(Some(of))
    }

    async fn claim_chunk(
        &mut self,
        store: &dyn Store,
        index: usize,
        claim: ChunkClaim,
    ) -> Result<Option<Presented<Name>>, Wrong> {
        let theirs = store.claim_chunk(claim.clone()).await.map_err(unwell)?;
        let open = self.ledger.open_syncs();
        let in_core = ChunkClaim { sync: self.tables.ids[index].1, ..claim.clone() };
        let ours = self.core.claim_chunk(&in_core, &mut self.core_tokens, self.bench.now);
        self.notice_crashes(&open);
        let mut claimed = match theirs {
            Ok(claimed) => claimed,
            Err(idle) => {
                if idle.reason == IdleReason::Held {
                    self.ledger.met(Met::AllHeld);
                }
                return same("claim of a chunk", &Err(idle), &ours).map(|()| None);
            }
        };
        self.ledger.claimed_chunk(index, &claimed, &claim)?;
        if claim.chunk_hash.is_some() {
            self.ledger.met(Met::NamedClaimed);
        }
        let unit = Some((index, Some(claimed.chunk_hash.clone())));
        let of = Presented { unit, owner: claim.owner, token: claimed.token };
        self.granted(claimed.token, ours.as_ref().ok().map(|ours| ours.token))?;
        (claimed.sync, claimed.token) = (self.tables.ids[index].1, self.tables.token_to_core(claimed.token));
        same("claim of a chunk", &Ok(claimed), &ours)?;
        Ok(Some(of))
    }

    async fn beat(&mut self, store: &dyn Store, of: Presented<Name>, unit: Unit) -> Result<(), Wrong> {
        let beat = Beat::new(unit, &of.owner, of.token);
        let theirs = store.heartbeat_sync(beat.clone()).await.map_err(unwell)?;
        self.ledger.beaten(&of, theirs)?;
        let in_core =
            Beat { unit: self.unit_to_core(&beat.unit), token: self.tables.token_to_core(beat.token), ..beat };
        same("heartbeat", &theirs, &self.core.heartbeat(&in_core, self.bench.now))
    }

    async fn finish(&mut self, store: &dyn Store, of: Presented<Name>, unit: Unit, act: Act) -> Result<(), Wrong> {
        let ending = Ending { unit, owner: of.owner.clone(), token: of.token, act };
        let theirs = store.finish_sync(ending.clone()).await.map_err(unwell)?;
        self.ledger.finished(&of, &ending.act, theirs)?;
        self.endings.push((of, ending.clone()));
        let in_core =
            Ending { unit: self.unit_to_core(&ending.unit), token: self.tables.token_to_core(ending.token), ..ending };
        same("ending", &theirs, &self.core.finish(&in_core, self.bench.now))
    }

    /// Works a sync off as a worker would.
    async fn drain(&mut self, store: &dyn Store, index: usize) -> Result<(), Wrong> {
        let (id, core_id) = self.tables.ids[index];
        let Some(info) = self.core.sync(core_id, self.bench.now) else { return Ok(()) };
        for _ in 0..HASHES.len() {
            let Some(of) = self.claim_chunk(store, index, ChunkClaim::new(id, "cleo")).await? else { break };
            let unit = self.unit(&of);
            self.finish(store, of, unit, Act::Complete { row_count: Some(3), cursor: None }).await?;
        }
        let claim = SyncClaim::new("cleo").matrix_id(&info.sync.matrix_id);
        let Some(of) = self.claim_sync(store, claim).await? else { return Ok(()) };
        let unit = self.unit(&of);
        self.finish(store, of, unit, Act::done()).await
    }

    /// Step by step, until nothing is left to remove; which rows a step takes first is open.
    async fn prune(&mut self, store: &dyn Store, max: u32) -> Result<(), Wrong> {
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
            let step = self.core.prune(max as usize, self.bench.now);
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
        let now = self.bench.now;
        let to = match by {
            Move::Micros(micros) => Time(now.0 + micros),
            Move::ToDeadline(n, off) => self.ledger.held.deadline(n).map_or(now, |until| Time(until.0 + off)),
        };
        self.ledger.held.now = now.max(to);
        self.bench.set_clock(now.max(to)).await;
    }

    /// The unit that a claim presents, in the store's numbers.
    fn unit(&self, of: &Presented<Name>) -> Unit {
        let (index, chunk_hash) = of.unit.clone().unzip();
        Unit { sync: index.map_or(NO_SYNC, |index| self.tables.ids[index].0), chunk_hash: chunk_hash.flatten() }
    }

    /// A claim as a write presents it, and the unit that the write names.
    fn sent(&self, from: From, elsewhere: Option<Elsewhere>) -> Option<(Presented<Name>, Unit)> {
        let mut of = self.ledger.held.present(from)?;
        let mut unit = self.unit(&of);
        match (elsewhere, &mut of.unit) {
            (Some(Elsewhere::NoSync), name) => (*name, unit.sync) = (None, NO_SYNC),
            (Some(Elsewhere::Sync(n)), Some((index, _))) => {
                *index = nth_back(self.tables.ids.len(), n)?;
                unit.sync = self.tables.ids[*index].0;
            }
            (Some(Elsewhere::Hash(n)), Some((_, Some(hash)))) => {
                *hash = HASHES[n].to_owned();
                unit.chunk_hash = Some(hash.clone());
            }
            _ => {}
        }
        Some((of, unit))
    }

    fn index(&self, id: SyncId) -> Result<usize, Wrong> {
        self.tables.index(id).ok_or_else(|| format!("the store speaks of a sync {id} that was never planned"))
    }

    /// The store drew `theirs` where core drew `ours`.
    fn granted(&mut self, theirs: Token, ours: Option<Token>) -> Result<(), Wrong> {
        let Some(ours) = ours else { return Err(format!("claim: {theirs} was granted where core grants nothing")) };
        self.tables.granted(theirs, ours)
    }

    fn unit_to_core(&self, unit: &Unit) -> Unit {
        Unit { sync: self.tables.to_core(unit.sync), chunk_hash: unit.chunk_hash.clone() }
    }

    fn planned_to_core(&self, planned: Result<Planned, Refused>) -> Result<Planned, Refused> {
        match planned {
            Ok(planned) => Ok(Planned { id: self.tables.to_core(planned.id), ..planned }),
            Err(Refused::Unfinished { id }) => Err(Refused::Unfinished { id: self.tables.to_core(id) }),
            Err(other) => Err(other),
        }
    }

    fn sync_to_core(&self, mut sync: Sync) -> Sync {
        sync.id = self.tables.to_core(sync.id);
        self.standing_to_core(&mut sync.standing);
        sync
    }

    fn chunk_to_core(&self, mut chunk: Chunk) -> Chunk {
        chunk.sync = self.tables.to_core(chunk.sync);
        self.standing_to_core(&mut chunk.standing);
        chunk
    }

    fn standing_to_core(&self, standing: &mut Standing) {
        let tokens = standing.token.iter_mut().chain(standing.lease.as_mut().map(|lease| &mut lease.token));
        tokens.into_iter().for_each(|token| *token = self.tables.token_to_core(*token));
    }

    fn event_to_core(&self, mut event: SyncEvent) -> SyncEvent {
        event.sync = self.tables.to_core(event.sync);
        event.token = event.token.map(|token| self.tables.token_to_core(token));
        event
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
