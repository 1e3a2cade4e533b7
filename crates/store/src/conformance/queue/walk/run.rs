//! Applies operations to a store and to core at the same instant, and compares.
//!
//! A backend may draw other ids and tokens than core, so both are kept in tables, and what the store answers is
//! translated before it is compared. What must agree beyond that is everything, except the hint `again_in_ms`.

use super::Met;
use super::draw::op;
use super::ledger::Ledger;
use super::op::{Beating, KINDS, Move, Op, QUEUES};
use crate::Store;
use crate::conformance::walk::{
    Bench, Chance, From, OWNERS, Presented, Report, Tables, Walk, Wrong, nth_back, nth_recent, same, unwell, whole,
};
use async_trait::async_trait;
use std::collections::BTreeSet;
use tenure_core::changes::{Changes, Difference, Subject};
use tenure_core::queue::{Act, Beat, Beaten, Claim, Ending, Filter, Grants, JobId, QueueInfo, Queues, Start};
use tenure_core::{Actor, Time};

/// A backend may bound what one claim recovers: with more running than this, the walk sweeps instead of claiming.
const RUNNING_MAX: u64 = 24;
/// Not on record in any store.
pub(super) const NO_JOB: JobId = JobId(1 << 52);

/// A store and core, job by job.
pub struct QueueWalk {
    pub(super) bench: Bench,
    pub(super) core: Queues,
    /// What was changed of settings, and who a handle acts as that was not told.
    pub(super) changes: Changes,
    pub(super) by: Actor,
    pub(super) tables: Tables<JobId>,
    pub(super) ledger: Ledger,
    endings: Vec<(Presented<usize>, Act)>,
    /// Jobs written to since they were last compared.
    pub(super) touched: BTreeSet<usize>,
    compared: usize,
}

#[async_trait]
impl Walk for QueueWalk {
    type Op = Op;
    type Met = Met;
    const WORTH_MEETING: &'static [Met] = Met::ALL;
    const LONG: u64 = 20_000;
    const SHORT: usize = 400;

    fn draw(chance: &mut Chance) -> Op {
        op(chance)
    }

    fn thinner(op: &Op) -> Vec<Op> {
        op.thinner()
    }

    async fn open(bench: Bench) -> QueueWalk {
        QueueWalk {
            ledger: Ledger::new(bench.now),
            bench,
            core: Queues::new(),
            changes: Changes::default(),
            by: Actor::default(),
            tables: Tables::new(),
            endings: Vec::new(),
            touched: BTreeSet::new(),
            compared: 0,
        }
    }

    /// What was written to, and every eighth time the lists.
    async fn compare(&mut self) -> Result<(), Wrong> {
        self.compare_touched().await?;
        self.compared += 1;
        if self.compared.is_multiple_of(8) { self.compare_lists().await } else { Ok(()) }
    }

    async fn compare_all(&mut self) -> Result<(), Wrong> {
        self.touched.extend(0..self.tables.ids.len());
        self.compare_touched().await?;
        self.compare_lists().await
    }

    fn report(&mut self) -> &mut Report<Met> {
        &mut self.ledger.report
    }

    async fn apply(&mut self, op: &Op, store: &dyn Store) -> Result<(), Wrong> {
        match op {
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
                let sent =
                    endings.iter().filter_map(|(from, act)| Some((self.ledger.held.present(*from)?, act.clone())));
                let sent = sent.collect();
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
            Op::Explain(n) => match nth_back(self.tables.ids.len(), *n) {
                Some(job) => self.compare_situation(store, job).await,
                None => self.skip(),
            },
            Op::Job(n) => match nth_back(self.tables.ids.len(), *n) {
                Some(job) => self.compare_job(store, job).await,
                None => self.skip(),
            },
            Op::Jobs { queue, kind, status, before, limit } => {
                let filter = Filter {
                    queue: queue.map(|i| QUEUES[i].to_owned()),
                    kind: kind.map(|i| KINDS[i].to_owned()),
                    status: *status,
                };
                let before = before.and_then(|n| nth_back(self.tables.ids.len(), n));
                self.compare_page(store, filter, before, *limit).await.map(drop)
            }
            Op::Queues { after, limit } => {
                let after = after.map(|i| QUEUES[i]);
                let theirs = store.queues(after, *limit).await.map_err(unwell)?;
                let counts = same("queues", &theirs, &self.core.queues(after, *limit as usize));
                if counts.is_err() {
                    // Jobs say more than counts.
                    self.compare_lists().await?;
                }
                counts
            }
            Op::Workers { after, limit } => self.compare_workers(store, after.map(|i| OWNERS[i]), *limit).await,
        }
    }
}

impl QueueWalk {
    async fn claim(&mut self, store: &dyn Store, claim: Claim) -> Result<(), Wrong> {
        claim.check().expect("the walk stays within bounds");
        let theirs = store.claim(claim.clone()).await.map_err(unwell)?;
        self.ledger.sighted(&claim, self.bench.now);
        let running = self.running();
        let ours = self.core.claim(&claim, self.bench.now);
        if self.running() < running + ours.jobs.len() as u64 {
            self.ledger.met(Met::RecoveredByClaim);
        }
        let known: Option<Vec<usize>> = theirs.jobs.iter().map(|job| self.tables.index(job.id)).collect();
        let units = known.ok_or_else(|| format!("claim: jobs that were never enqueued: {theirs:?}"))?;
        self.ledger.claimed(&claim, &theirs, &units, self.bench.now)?;
        let ids = |jobs: &[tenure_core::queue::ClaimedJob]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        let mut translated = theirs.clone();
        translated.jobs.iter_mut().for_each(|job| job.id = self.tables.to_core(job.id));
        same("claimed ids", &ids(&translated.jobs), &ids(&ours.jobs))?;
        for (theirs, ours) in theirs.jobs.iter().zip(&ours.jobs) {
            self.tables.granted(theirs.token, ours.token)?;
        }
        translated.jobs.iter_mut().for_each(|job| job.token = self.tables.token_to_core(job.token));
        translated.again_in_ms = ours.again_in_ms;
        same("claim", &translated, &ours)?;
        for (job, &unit) in theirs.jobs.iter().zip(&units) {
            if job.checkpoint.is_some() {
                self.ledger.met(Met::CheckpointHandedOn);
            }
            self.touched.insert(unit);
        }
        Ok(())
    }

    async fn start(&mut self, store: &dyn Store, from: From, count: u32) -> Result<(), Wrong> {
        // A lease over one job is started by its claim; the mark is for shared ones.
        let sent = self.ledger.held.present(from).filter(|sent| self.ledger.shared(sent.token));
        let Some(sent) = sent else { return self.skip() };
        let start = Start { owner: sent.owner.clone(), token: sent.token, count };
        let theirs = store.start(start.clone()).await.map_err(unwell)?;
        let ours = self.core.start(&Start { token: self.tables.token_to_core(sent.token), ..start }, self.bench.now);
        self.ledger.lease_written(&sent.owner, sent.token, theirs.is_ok())?;
        if theirs.is_ok() {
            self.ledger.started(sent.token, count);
        }
        same("start", &theirs, &ours)
    }

    async fn beat(&mut self, store: &dyn Store, beats: &[(From, Beating)]) -> Result<(), Wrong> {
        let mut sent = Vec::new();
        for (from, beating) in beats {
            let Some(of) = self.ledger.held.present(*from) else { continue };
            let whole = beating.whole && self.ledger.shared(of.token);
            let json = |said: Option<u8>| said.filter(|_| !whole).map(|n| format!("{{ \"n\": {n}}}"));
            let progress = json(beating.progress);
            let checkpoint = json(beating.checkpoint);
            let (owner, token, job) = (of.owner.clone(), of.token, (!whole).then(|| self.id(&of)));
            sent.push((of, Beat { owner, token, job, progress, checkpoint }));
        }
        if sent.is_empty() {
            return self.skip();
        }
        let beats = sent.iter().map(|(_, beat)| beat.clone()).collect();
        let theirs = whole("heartbeat", store.heartbeat(beats).await, sent.len())?;
        for ((of, beat), theirs) in sent.into_iter().zip(theirs) {
            let token = self.tables.token_to_core(beat.token);
            let in_core = Beat { token, job: beat.job.map(|id| self.tables.to_core(id)), ..beat.clone() };
            let ours = self.core.heartbeat(&in_core, self.bench.now);
            let told = theirs.as_ref().ok().map(|beaten| {
                let cancelled = beaten.cancel_requested.iter().filter_map(|id| self.tables.index(*id));
                (beaten.lease_expires_at, cancelled.collect())
            });
            if beat.job.is_some() {
                self.ledger.beaten(&of, told)?;
                self.touched.extend(of.unit);
            } else {
                self.ledger.all_beaten(&beat.owner, beat.token, told)?;
            }
            let translated = theirs.map(|beaten| {
                let cancel_requested = beaten.cancel_requested.iter().map(|id| self.tables.to_core(*id)).collect();
                Beaten { cancel_requested, ..beaten }
            });
            same("heartbeat", &translated, &ours)?;
        }
        Ok(())
    }

    async fn finish(&mut self, store: &dyn Store, sent: Vec<(Presented<usize>, Act)>) -> Result<(), Wrong> {
        if sent.is_empty() {
            return self.skip();
        }
        let ending = |(of, act): &(Presented<usize>, Act)| Ending {
            job: self.id(of),
            owner: of.owner.clone(),
            token: of.token,
            act: act.clone(),
        };
        let endings: Vec<Ending> = sent.iter().map(ending).collect();
        let theirs = whole("finish", store.finish(endings.clone()).await, sent.len())?;
        for (((of, act), ending), theirs) in sent.into_iter().zip(endings).zip(theirs) {
            let (job, token) = (self.tables.to_core(ending.job), self.tables.token_to_core(ending.token));
            let ours = self.core.finish(&Ending { job, token, ..ending }, self.bench.now);
            self.ledger.ended(&of, &act, theirs, self.bench.now)?;
            same(act.verb().as_str(), &theirs, &ours)?;
            self.touched.extend(of.unit);
            self.endings.push((of, act));
        }
        Ok(())
    }

    async fn recover(&mut self, store: &dyn Store, leases_max: u32) -> Result<(), Wrong> {
        let theirs = store.recover(leases_max).await.map_err(unwell)?;
        let ours = self.core.recover(leases_max as usize, self.bench.now);
        if ours.leases > 0 {
            self.ledger.met(Met::RecoveredBySweep);
        }
        self.ledger.recovered(leases_max, theirs, self.bench.now)?;
        same("recover", &theirs, &ours)
    }

    async fn clock(&mut self, by: Move) -> Result<(), Wrong> {
        let to = match by {
            Move::Micros(micros) => Some(Time(self.bench.now.0 + micros)),
            Move::ToDeadline(n, off) => self.ledger.held.deadline(n).map(|deadline| Time(deadline.0 + off)),
            Move::ToDue(n) => {
                let job = nth_back(self.tables.ids.len(), n).and_then(|job| self.core.job(self.tables.ids[job].1));
                job.map(|job| job.run_at)
            }
        };
        let Some(to) = to.filter(|to| *to > self.bench.now) else { return self.skip() };
        self.bench.set_clock(to).await;
        self.ledger.held.now = to;
        Ok(())
    }

    async fn new_epoch(&mut self, store: &dyn Store) -> Result<(), Wrong> {
        let before = store.epoch().await.map_err(unwell)?;
        let raised = store.new_epoch().await.map_err(unwell)?;
        self.core.new_epoch(self.bench.now);
        let raises = Difference::epoch(before.count, raised.count);
        self.changes.changed(Subject::store(), &self.by, raises.into_iter().collect(), self.bench.now);
        self.tables.raised(raised);
        self.ledger.met(Met::EpochRaised);
        same("new_epoch", &raised.count, &(before.count + 1))?;
        same("epoch", &store.epoch().await.map_err(unwell)?, &raised)
    }

    /// The job that a claim presents, in the store's numbers.
    fn id(&self, of: &Presented<usize>) -> JobId {
        of.unit.map_or(NO_JOB, |index| self.tables.ids[index].0)
    }

    fn infos(&self) -> impl Iterator<Item = QueueInfo> {
        QUEUES.iter().filter_map(|queue| self.core.queue(queue))
    }

    fn running(&self) -> u64 {
        self.infos().map(|queue| queue.counts.running).sum()
    }
}

/// The verbs that a walk sends must stay within what callers may send.
#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::Token;

    #[test]
    fn the_walk_draws_only_endings_a_caller_may_send() {
        let mut chance = Chance::new(1);
        for drawn in (0..5_000).map(|_| op(&mut chance)) {
            let Op::Finish(endings) = drawn else { continue };
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
