//! Applies operations to a store and to core at the same instant, and compares.
//!
//! A backend may draw other ids and tokens than core, so both are kept in tables, and what the store answers is
//! translated before it is compared. What must agree beyond that is everything, except the hint `again_in_ms`.

use super::compare::same;
use super::ledger::{Ledger, Presented, Wrong};
use super::op::{Beating, From, KINDS, Move, OWNERS, Op, Pick, QUEUES, Step, Twist};
use super::tables::Tables;
use super::{Met, Report};
use crate::conformance::Harness;
use crate::conformance::tools::START;
use crate::{Store, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenure_core::changes::{Changes, Difference, Subject};
use tenure_core::queue::{Beat, Beaten, Claim, Ending, Filter, Grants, JobId, QueueInfo, Queues, Start};
use tenure_core::{Actor, Epoch, Time, Token};

/// A backend may bound what one claim recovers: with more running than this, the walk sweeps instead of claiming.
const RUNNING_MAX: u64 = 24;
/// How far back operations reach for a claim.
const RECENT: usize = 100;
/// Not on record in any store, and never granted by any.
pub(super) const NO_JOB: JobId = JobId(1 << 52);
const NO_TOKEN: Token = Token((1 << 53) - 1);

/// The step that failed, and what was wrong.
pub(super) type Failed = (usize, Wrong);

/// Runs `steps` on a new store; compares everything after each `every` steps and at the end. `at` tells which step is
/// under way, should the store panic.
pub(super) async fn run<H: Harness>(steps: Vec<Step>, every: usize, at: Arc<AtomicUsize>) -> Result<Report, Failed> {
    let mut runner = Runner::<H>::open().await;
    for (i, step) in steps.iter().enumerate() {
        at.store(i, Ordering::Relaxed);
        runner.step(step).await.map_err(|wrong| (i, wrong))?;
        if i % every == every - 1 {
            runner.compare_touched().await.map_err(|wrong| (i, wrong))?;
        }
        if i % (every * 8) == every * 8 - 1 {
            runner.compare_all().await.map_err(|wrong| (i, wrong))?;
        }
    }
    let last = steps.len().saturating_sub(1);
    runner.touched.extend(0..runner.tables.jobs.len());
    runner.compare_touched().await.map_err(|wrong| (last, wrong))?;
    runner.compare_all().await.map_err(|wrong| (last, wrong))?;
    Ok(Report { steps: runner.applied, met: runner.ledger.all_met() })
}

pub(super) struct Runner<H> {
    harness: H,
    pub(super) handles: [Arc<dyn Store>; 2],
    pub(super) core: Queues,
    /// What was changed of settings, and who a handle acts as that was not told.
    pub(super) changes: Changes,
    pub(super) by: Actor,
    pub(super) now: Time,
    pub(super) tables: Tables,
    pub(super) ledger: Ledger,
    claims: Vec<Claimed>,
    endings: Vec<(Option<usize>, Ending)>,
    /// Jobs written to since they were last compared.
    pub(super) touched: BTreeSet<usize>,
    /// Tokens are beyond the base of this epoch.
    epoch: Epoch,
    applied: u64,
}

/// One job of one claim, in the store's numbers.
#[derive(Clone, Debug)]
struct Claimed {
    job: usize,
    owner: String,
    token: Token,
}

/// A claim as a write presents it: `job` is an index, if it is on record.
struct Sent {
    job: Option<usize>,
    id: JobId,
    owner: String,
    token: Token,
}

impl<H: Harness> Runner<H> {
    async fn open() -> Runner<H> {
        let harness = H::open(START).await;
        let handles = [harness.store(), harness.another().await];
        Runner {
            harness,
            handles,
            core: Queues::new(),
            changes: Changes::default(),
            by: Actor::default(),
            now: START,
            tables: Tables::default(),
            ledger: Ledger::default(),
            claims: Vec::new(),
            endings: Vec::new(),
            touched: BTreeSet::new(),
            epoch: Epoch::default(),
            applied: 0,
        }
    }

    async fn step(&mut self, step: &Step) -> Result<(), Wrong> {
        let store = self.handles[usize::from(step.second_handle)].clone();
        let store = &*store;
        self.applied += 1;
        match &step.op {
            Op::Enqueue(sketches) => self.enqueue(store, sketches).await,
            Op::Claim { .. } if self.running() > RUNNING_MAX => self.recover(store, 1_000).await,
            Op::Claim { owner, queues, kinds, max, lease_ms, shared } => {
                let claim = Claim {
                    queues: queues.iter().map(|i| QUEUES[*i].to_owned()).collect(),
                    kinds: kinds.as_ref().map(|kinds| kinds.iter().map(|i| KINDS[*i].to_owned()).collect()),
                    owner: OWNERS[*owner].to_owned(),
                    max: *max,
                    lease_ms: *lease_ms,
                    grants: shared.map_or(Grants::Each, |started| Grants::Shared { started }),
                };
                self.claim(store, claim).await
            }
            Op::Start { from, count } => self.start(store, *from, *count).await,
            Op::Beat(beats) => self.beat(store, beats).await,
            Op::Finish(endings) => {
                let sent = endings.iter().filter_map(|(from, act)| {
                    let sent = self.sent(*from)?;
                    let Sent { job, id, owner, token } = sent;
                    Some((job, Ending { job: id, owner, token, act: act.clone() }))
                });
                let sent: Vec<_> = sent.collect();
                self.finish(store, sent).await
            }
            Op::Again(n) => match nth_recent(&self.endings, *n).cloned() {
                Some(ending) => self.finish(store, vec![ending]).await,
                None => self.skip(),
            },
            Op::Recover { leases_max } => self.recover(store, *leases_max).await,
            Op::Clock(by) => self.clock(*by).await,
            Op::NewEpoch => self.new_epoch(store).await,
            Op::Change { queue, change } => self.change(store, QUEUES[*queue], *change).await,
            Op::Limit(max_running) => self.limit(store, *max_running).await,
            Op::Operate(actions) => self.operate(store, actions).await,
            Op::Prune { max } => self.prune(store, *max).await,
            Op::Explain(n) => match nth_back(self.tables.jobs.len(), *n) {
                Some(job) => self.compare_situation(store, job).await,
                None => self.skip(),
            },
            Op::Job(n) => match nth_back(self.tables.jobs.len(), *n) {
                Some(job) => self.compare_job(store, job).await,
                None => self.skip(),
            },
            Op::Jobs { queue, kind, status, before, limit } => {
                let filter = Filter {
                    queue: queue.map(|i| QUEUES[i].to_owned()),
                    kind: kind.map(|i| KINDS[i].to_owned()),
                    status: *status,
                };
                let before = before.and_then(|n| nth_back(self.tables.jobs.len(), n));
                self.compare_page(store, filter, before, *limit).await.map(drop)
            }
            Op::Queues { after, limit } => {
                let after = after.map(|i| QUEUES[i]);
                let theirs = store.queues(after, *limit).await.map_err(unwell)?;
                let counts = same("queues", &theirs, &self.core.queues(after, *limit as usize));
                if counts.is_err() {
                    // Jobs say more than counts.
                    self.compare_all().await?;
                }
                counts
            }
            Op::Workers { after, limit } => self.compare_workers(store, after.map(|i| OWNERS[i]), *limit).await,
        }
    }

    /// Nothing to apply it to.
    pub(super) fn skip(&mut self) -> Result<(), Wrong> {
        self.applied -= 1;
        Ok(())
    }

    async fn claim(&mut self, store: &dyn Store, claim: Claim) -> Result<(), Wrong> {
        claim.check().expect("the walk stays within bounds");
        let theirs = store.claim(claim.clone()).await.map_err(unwell)?;
        self.ledger.sighted(&claim, self.now);
        let running = self.running();
        let ours = self.core.claim(&claim, self.now);
        if self.running() < running + ours.jobs.len() as u64 {
            self.ledger.met(Met::RecoveredByClaim);
        }
        let known: Option<Vec<usize>> = theirs.jobs.iter().map(|job| self.tables.index(job.id)).collect();
        let units = known.ok_or_else(|| format!("claim: jobs that were never enqueued: {theirs:?}"))?;
        self.ledger.claimed(&claim, &theirs, &units, self.now)?;
        let ids = |jobs: &[tenure_core::queue::ClaimedJob]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        let mut translated = theirs.clone();
        translated.jobs.iter_mut().for_each(|job| job.id = self.tables.to_core(job.id));
        same("claimed ids", &ids(&translated.jobs), &ids(&ours.jobs))?;
        for (theirs, ours) in theirs.jobs.iter().zip(&ours.jobs) {
            self.tables.granted(theirs.token, ours.token)?;
            if theirs.token <= self.epoch.base {
                return Err(format!("L2: token {} was drawn before {:?}", theirs.token, self.epoch));
            }
        }
        translated.jobs.iter_mut().for_each(|job| job.token = self.tables.token_to_core(job.token));
        translated.again_in_ms = ours.again_in_ms;
        same("claim", &translated, &ours)?;
        for (job, &unit) in theirs.jobs.iter().zip(&units) {
            if job.checkpoint.is_some() {
                self.ledger.met(Met::CheckpointHandedOn);
            }
            self.claims.push(Claimed { job: unit, owner: claim.owner.clone(), token: job.token });
            self.touched.insert(unit);
        }
        Ok(())
    }

    async fn start(&mut self, store: &dyn Store, from: From, count: u32) -> Result<(), Wrong> {
        // A lease over one job is started by its claim; the mark is for shared ones.
        let Some(sent) = self.sent(from).filter(|sent| self.ledger.shared(sent.token)) else { return self.skip() };
        let start = Start { owner: sent.owner.clone(), token: sent.token, count };
        let theirs = store.start(start.clone()).await.map_err(unwell)?;
        let ours = self.core.start(&Start { token: self.tables.token_to_core(sent.token), ..start }, self.now);
        self.ledger.lease_written(&sent.owner, sent.token, theirs.is_ok())?;
        if theirs.is_ok() {
            self.ledger.started(sent.token, count);
        }
        same("start", &theirs, &ours)
    }

    async fn beat(&mut self, store: &dyn Store, beats: &[(From, Beating)]) -> Result<(), Wrong> {
        let mut sent = Vec::new();
        for (from, beating) in beats {
            let Some(Sent { job, id, owner, token }) = self.sent(*from) else { continue };
            let whole = beating.whole && self.ledger.shared(token);
            let json = |said: Option<u8>| said.filter(|_| !whole).map(|n| format!("{{ \"n\": {n}}}"));
            let progress = json(beating.progress);
            let checkpoint = json(beating.checkpoint);
            let beat = Beat { owner, token, job: (!whole).then_some(id), progress, checkpoint };
            sent.push((job, beat));
        }
        if sent.is_empty() {
            return self.skip();
        }
        let theirs = store.heartbeat(sent.iter().map(|(_, beat)| beat.clone()).collect()).await.map_err(unwell)?;
        if theirs.len() != sent.len() {
            return Err(format!("heartbeat: {} answers for {} beats", theirs.len(), sent.len()));
        }
        for ((job, beat), theirs) in sent.into_iter().zip(theirs) {
            let token = self.tables.token_to_core(beat.token);
            let in_core = Beat { token, job: beat.job.map(|id| self.tables.to_core(id)), ..beat.clone() };
            let ours = self.core.heartbeat(&in_core, self.now);
            let told = theirs.as_ref().ok().map(|beaten| {
                let cancelled = beaten.cancel_requested.iter().filter_map(|id| self.tables.index(*id));
                (beaten.lease_expires_at, cancelled.collect())
            });
            if beat.job.is_some() {
                let presented = Presented { unit: job, owner: &beat.owner, token: beat.token };
                self.ledger.beaten(presented, told, self.now)?;
                self.touched.extend(job);
            } else {
                self.ledger.all_beaten(&beat.owner, beat.token, told, self.now)?;
            }
            let translated = theirs.map(|beaten| {
                let cancel_requested = beaten.cancel_requested.iter().map(|id| self.tables.to_core(*id)).collect();
                Beaten { cancel_requested, ..beaten }
            });
            same("heartbeat", &translated, &ours)?;
        }
        Ok(())
    }

    async fn finish(&mut self, store: &dyn Store, sent: Vec<(Option<usize>, Ending)>) -> Result<(), Wrong> {
        if sent.is_empty() {
            return self.skip();
        }
        let theirs = store.finish(sent.iter().map(|(_, ending)| ending.clone()).collect()).await.map_err(unwell)?;
        if theirs.len() != sent.len() {
            return Err(format!("finish: {} answers for {} endings", theirs.len(), sent.len()));
        }
        for ((job, ending), theirs) in sent.into_iter().zip(theirs) {
            let (id, token) = (self.tables.to_core(ending.job), self.tables.token_to_core(ending.token));
            let ours = self.core.finish(&Ending { job: id, token, ..ending.clone() }, self.now);
            let presented = Presented { unit: job, owner: &ending.owner, token: ending.token };
            self.ledger.ended(presented, &ending.act, theirs, self.now)?;
            same(ending.act.verb().as_str(), &theirs, &ours)?;
            self.touched.extend(job);
            self.endings.push((job, ending));
        }
        Ok(())
    }

    async fn recover(&mut self, store: &dyn Store, leases_max: u32) -> Result<(), Wrong> {
        let theirs = store.recover(leases_max).await.map_err(unwell)?;
        let ours = self.core.recover(leases_max as usize, self.now);
        if ours.leases > 0 {
            self.ledger.met(Met::RecoveredBySweep);
        }
        self.ledger.recovered(leases_max, theirs, self.now)?;
        same("recover", &theirs, &ours)
    }

    async fn clock(&mut self, by: Move) -> Result<(), Wrong> {
        let to = match by {
            Move::Micros(micros) => Some(Time(self.now.0 + micros)),
            Move::ToDeadline(n, off) => {
                let held = self.recent_claims().filter_map(|c| self.ledger.deadline(c.job, c.token));
                nth_of(held.collect(), n).map(|deadline| Time(deadline.0 + off))
            }
            Move::ToDue(n) => {
                let job = nth_back(self.tables.jobs.len(), n).and_then(|job| self.core.job(self.tables.jobs[job].1));
                job.map(|job| job.run_at)
            }
        };
        let Some(to) = to.filter(|to| *to > self.now) else { return self.skip() };
        self.now = to;
        self.harness.set_clock(to).await;
        self.ledger.tick(to);
        Ok(())
    }

    async fn new_epoch(&mut self, store: &dyn Store) -> Result<(), Wrong> {
        let before = store.epoch().await.map_err(unwell)?;
        let raised = store.new_epoch().await.map_err(unwell)?;
        self.core.new_epoch(self.now);
        let raises = Difference::epoch(before.count, raised.count);
        self.changes.changed(Subject::store(), &self.by, raises.into_iter().collect(), self.now);
        self.epoch = raised;
        self.ledger.met(Met::EpochRaised);
        same("new_epoch", &raised.count, &(before.count + 1))?;
        same("epoch", &store.epoch().await.map_err(unwell)?, &raised)
    }

    /// The claim a write presents, twisted.
    fn sent(&self, from: From) -> Option<Sent> {
        let held = |c: &&Claimed| self.ledger.deadline(c.job, c.token).is_some();
        let expired = |c: &&Claimed| self.ledger.lapsed(c.job, c.token);
        let recent = || self.recent_claims();
        let picked = match from.claim {
            Pick::Held(n) => nth_of(recent().filter(held).collect(), n),
            Pick::Expired(n) => nth_of(recent().filter(expired).collect(), n),
            Pick::Any(n) => nth_of(recent().collect(), n),
        };
        let claim = picked.or_else(|| self.claims.last())?;
        let id = self.tables.jobs[claim.job].0;
        let mut sent = Sent { job: Some(claim.job), id, owner: claim.owner.clone(), token: claim.token };
        match from.twist {
            Twist::None => {}
            Twist::Owner(i) => sent.owner = OWNERS[i].to_owned(),
            Twist::MadeUpToken => sent.token = NO_TOKEN,
            Twist::TokenOf(n) => sent.token = nth_of(recent().collect(), n)?.token,
            Twist::NoSuchJob => (sent.job, sent.id) = (None, NO_JOB),
        }
        Some(sent)
    }

    fn recent_claims(&self) -> impl Iterator<Item = &Claimed> {
        self.claims.iter().rev().take(RECENT)
    }

    fn infos(&self) -> impl Iterator<Item = QueueInfo> {
        QUEUES.iter().filter_map(|queue| self.core.queue(queue))
    }

    fn running(&self) -> u64 {
        self.infos().map(|queue| queue.counts.running).sum()
    }
}

pub(super) fn unwell(error: StoreError) -> Wrong {
    format!("the store failed: {error}")
}

fn nth_recent<T>(items: &[T], n: usize) -> Option<&T> {
    nth_back(items.len(), n).map(|index| &items[index])
}

pub(super) fn nth_back(len: usize, n: usize) -> Option<usize> {
    (len > 0).then(|| len - 1 - n % len)
}

pub(super) fn nth_of<T>(mut items: Vec<T>, n: usize) -> Option<T> {
    let len = items.len();
    (len > 0).then(|| items.swap_remove(n % len))
}

/// The verbs that a walk sends must stay within what callers may send.
#[cfg(test)]
mod tests {
    use super::super::draw::draw;
    use super::*;
    use tenure_core::queue::Act;

    #[test]
    fn the_walk_draws_only_endings_a_caller_may_send() {
        for step in draw(1, 5_000) {
            let Op::Finish(endings) = step.op else { continue };
            for (_, act) in endings {
                let mut ending = Ending { job: JobId(1), owner: "a".into(), token: Token(1), act };
                let sent = ending.clone();
                ending.check().expect("within bounds");
                assert_eq!(sent, ending, "nothing is clipped on the way");
                if let Act::Fail { error, .. } = ending.act {
                    assert!(error.len() < tenure_core::bounds::ERROR_BYTES_MAX);
                }
            }
        }
    }
}
