//! Applies what callers and operators do to jobs that are in nobody's hands: enqueue, settings, limits, cancel, retry,
//! prune.

use super::Met;
use super::ledger::Body;
use super::op::{KEYS, KINDS, LANES, PAYLOADS, QUEUES, Sketch, TENANTS, Target};
use super::run::{NO_JOB, QueueWalk};
use crate::Store;
use crate::conformance::walk::{Walk, Wrong, nth_back, nth_of, same, unwell, whole};
use tenure_core::Time;
use tenure_core::changes::{Difference, Face, Subject};
use tenure_core::queue::{Action, Change, Conflict, Enqueued, NewJob, Operation, Pruned};

/// Steps of one prune: far more than any walk needs.
const PRUNES_MAX: usize = 10_000;

impl QueueWalk {
    pub(super) async fn enqueue(&mut self, store: &dyn Store, sketches: &[Sketch]) -> Result<(), Wrong> {
        let sent: Vec<(NewJob, Body)> = sketches.iter().map(|sketch| self.drawn(sketch)).collect();
        let jobs: Vec<NewJob> = sent.iter().map(|(job, _)| job.clone()).collect();
        let theirs = store.enqueue(jobs.clone()).await.map_err(unwell)?;
        let ours = self.core.enqueue(jobs, self.bench.now);
        let conflict = theirs.as_ref().err().map(|c| (c.index, c.id.and_then(|id| self.tables.index(id))));
        let expected = self.ledger.conflict(&sent, self.bench.now);
        if conflict != expected {
            return Err(format!("I9: conflict {conflict:?}, expected {expected:?}"));
        }
        let (theirs, ours) = match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => (theirs, ours),
            (theirs, ours) => {
                self.ledger.met(Met::DedupConflict);
                let id = |conflict: Conflict| conflict.id.map(|id| self.tables.to_core(id));
                let theirs = theirs.map_err(|conflict| Conflict { id: id(conflict), ..conflict });
                return same("enqueue", &theirs, &ours);
            }
        };
        if theirs.len() != ours.len() {
            return Err(format!("enqueue: {} answers for {} jobs", theirs.len(), ours.len()));
        }
        for (((job, body), theirs), ours) in sent.iter().zip(theirs).zip(ours) {
            let known = self.tables.index(theirs.id);
            self.ledger.accepted(job, *body, known, theirs.deduplicated, theirs.status, self.bench.now)?;
            if !theirs.deduplicated {
                self.tables.added(theirs.id, ours.id)?;
            }
            same("enqueue", &Enqueued { id: self.tables.to_core(theirs.id), ..theirs }, &ours)?;
        }
        Ok(())
    }

    fn drawn(&self, sketch: &Sketch) -> (NewJob, Body) {
        let (payload, value) = PAYLOADS[sketch.payload];
        let named = |of: Option<usize>, names: &[&str]| of.map(|i| names[i].to_owned());
        let job = NewJob {
            queue: QUEUES[sketch.queue].to_owned(),
            kind: KINDS[sketch.kind].to_owned(),
            payload: payload.to_owned(),
            priority: sketch.priority,
            run_at: sketch.run_in.map(|micros| Time(self.bench.now.0 + micros)),
            attempts_max: sketch.attempts_max,
            backoff: sketch.backoff,
            timeout_ms: sketch.timeout_ms,
            key: named(sketch.key, &KEYS),
            key_window_ms: sketch.key_window_ms,
            ordering_key: named(sketch.lane, &LANES),
            limit_key: named(sketch.tenant, &TENANTS),
        };
        job.check().expect("the walk stays within bounds");
        (job, (sketch.kind, value))
    }

    pub(super) async fn change(&mut self, store: &dyn Store, queue: &str, change: Change) -> Result<(), Wrong> {
        change.check().expect("the walk stays within bounds");
        let theirs = store.change(queue, change).await.map_err(unwell)?;
        let before = self.core.queue(queue).map(|queue| queue.settings).unwrap_or_default();
        let ours = self.core.change(queue, &change, self.bench.now);
        let subject = Subject::new(Face::Queue, queue);
        self.changes.changed(subject, &self.by, before.differences(&ours.settings), self.bench.now);
        self.ledger.changed(queue, theirs.settings);
        same("change", &theirs, &ours)
    }

    pub(super) async fn limit(&mut self, store: &dyn Store, max_running: Option<u32>) -> Result<(), Wrong> {
        store.set_limit(max_running).await.map_err(unwell)?;
        let set = Difference::limit(self.core.limit(), max_running);
        self.changes.changed(Subject::store(), &self.by, set.into_iter().collect(), self.bench.now);
        self.core.set_limit(max_running);
        self.ledger.limited(max_running);
        same("limit", &store.limit().await.map_err(unwell)?, &max_running)
    }

    pub(super) async fn operate(&mut self, store: &dyn Store, actions: &[(Target, Action)]) -> Result<(), Wrong> {
        let targets = actions.iter().filter_map(|(target, action)| {
            let job = match target {
                Target::In(status, n) => Some(nth_of(self.ledger.in_condition(*status).rev().collect(), *n)?),
                Target::Any(n) => Some(nth_back(self.tables.ids.len(), *n)?),
                Target::NoSuchJob => None,
            };
            Some((job, action.clone()))
        });
        let targets: Vec<(Option<usize>, Action)> = targets.collect();
        if targets.is_empty() {
            return self.skip();
        }
        let ids = |of: Option<usize>| of.map_or((NO_JOB, NO_JOB), |index| self.tables.ids[index]);
        let sent = targets.iter().map(|(of, action)| Operation { job: ids(*of).0, action: action.clone() });
        let theirs = whole("operate", store.operate(sent.collect()).await, targets.len())?;
        for ((of, action), theirs) in targets.into_iter().zip(theirs) {
            let ours_id = of.map_or(NO_JOB, |index| self.tables.ids[index].1);
            let ours = self.core.operate(&Operation { job: ours_id, action: action.clone() }, &self.by, self.bench.now);
            self.ledger.operated(of, &action, theirs, self.bench.now)?;
            same("operate", &theirs, &ours)?;
            self.touched.extend(of);
        }
        Ok(())
    }

    /// Which jobs one step takes first is the store's own choice; what is gone after the last step is not. How many
    /// rows hold receipts and keys is nobody's business either.
    pub(super) async fn prune(&mut self, store: &dyn Store, max: u32) -> Result<(), Wrong> {
        let (mut jobs, mut sightings) = (0, 0);
        for _ in 0..PRUNES_MAX {
            let step = store.prune(max).await.map_err(unwell)?;
            if [step.jobs, step.receipts, step.keys, step.sightings].iter().any(|removed| *removed > max) {
                return Err(format!("prune: {step:?} in a step of at most {max}"));
            }
            jobs += step.jobs;
            sightings += step.sightings;
            if step == Pruned::default() {
                break;
            }
        }
        let ours = self.core.prune(usize::MAX, self.bench.now);
        self.changes.prune(usize::MAX, self.bench.now);
        self.ledger.pruned(jobs, self.bench.now)?;
        if ours.sightings > 0 {
            self.ledger.met(Met::SightingForgotten);
        }
        same("prune of sightings", &sightings, &ours.sightings)?;
        same("prune", &jobs, &ours.jobs)
    }
}
