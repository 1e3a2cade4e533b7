//! Compares what the store shows with what core shows, whole: every field of every job, event and count.

use super::Met;
use super::op::QUEUES;
use super::run::QueueWalk;
use crate::Store;
use crate::conformance::walk::{Tables, Wrong, same, unwell};
use tenure_core::changes::{Face, Subject};
use tenure_core::queue::{Event, Filter, Job, JobId, Outcome, Situation, Status, Watch, What};

impl QueueWalk {
    pub(super) async fn compare_job(&mut self, store: &dyn Store, index: usize) -> Result<(), Wrong> {
        let (theirs_id, ours_id) = self.tables.ids[index];
        let theirs = store.job(theirs_id).await.map_err(unwell)?;
        let theirs = theirs.map(|job| job_to_core(&self.tables, job));
        let ours = self.core.job(ours_id);
        same(&format!("job #{index}"), &theirs, &ours)?;
        let theirs = store.events(theirs_id).await.map_err(unwell)?;
        let theirs: Vec<_> = theirs.into_iter().map(|event| event_to_core(&self.tables, event)).collect();
        let ours_events = self.core.events(ours_id);
        if ours_events.iter().any(|event| event.what == What::Refused && event.count > 1) {
            self.ledger.met(Met::RefusalsCounted);
        }
        if ours.is_some_and(|job| job.attempts.iter().any(|attempt| attempt.outcome == Some(Outcome::Retried))) {
            self.ledger.met(Met::Retried);
        }
        same(&format!("events of job #{index}"), &theirs, &ours_events)
    }

    /// What bears on whether a job can run, as far as it bears on this one.
    pub(super) async fn compare_situation(&mut self, store: &dyn Store, index: usize) -> Result<(), Wrong> {
        let (theirs_id, ours_id) = self.tables.ids[index];
        let theirs = store.situation(theirs_id).await.map_err(unwell)?;
        let theirs = theirs.map(|theirs| bearing(situation_to_core(&self.tables, theirs)));
        if let Some(theirs) = theirs.as_ref().filter(|theirs| theirs.job.status == Status::Queued) {
            self.ledger.explained(theirs);
        }
        same(&format!("situation of job #{index}"), &theirs, &self.core.situation(ours_id, self.bench.now).map(bearing))
    }

    pub(super) async fn compare_page(
        &mut self,
        store: &dyn Store,
        filter: Filter,
        before: Option<usize>,
        limit: u32,
    ) -> Result<Vec<Job>, Wrong> {
        let before = before.map(|index| self.tables.ids[index]);
        let theirs = store.jobs(filter.clone(), before.map(|ids| ids.0), limit).await.map_err(unwell)?;
        let ours = self.core.jobs(&filter, before.map(|ids| ids.1), limit as usize);
        let items: Vec<Job> = theirs.items.into_iter().map(|job| job_to_core(&self.tables, job)).collect();
        if items.len() == ours.items.len() {
            for (theirs, ours) in items.iter().zip(&ours.items) {
                same("a listed job", theirs, ours)?;
            }
        }
        let ids = |jobs: &[Job]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        // Whole, before the bare ids: what one side alone lists.
        for id in ids(&items).iter().filter(|id| !ids(&ours.items).contains(id)) {
            if let Some(index) = self.tables.core_index(*id) {
                self.compare_job(store, index).await?;
            }
        }
        same(&format!("list {filter:?}"), &(ids(&items), theirs.more), &(ids(&ours.items), ours.more))?;
        Ok(items)
    }

    /// Every job written to since the last time, with its events.
    pub(super) async fn compare_touched(&mut self) -> Result<(), Wrong> {
        let store = self.bench.handles[0].clone();
        for index in std::mem::take(&mut self.touched) {
            self.compare_job(&*store, index).await?;
        }
        Ok(())
    }

    /// Every worker that was seen, to the microsecond.
    pub(super) async fn compare_workers(
        &mut self,
        store: &dyn Store,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(), Wrong> {
        let theirs = store.workers(after, limit).await.map_err(unwell)?;
        self.ledger.seen(&theirs.items)?;
        same("workers", &theirs, &self.core.workers(after, limit as usize))
    }

    /// Every change of settings, with who made it.
    async fn compare_changes(&mut self, store: &dyn Store, subject: Subject) -> Result<(), Wrong> {
        let theirs = store.changes(subject.clone()).await.map_err(unwell)?;
        same(&format!("changes of {subject:?}"), &theirs, &self.changes.of(&subject))
    }

    /// Every job, queue and worker, and I8: what was enqueued is somewhere.
    pub(super) async fn compare_lists(&mut self) -> Result<(), Wrong> {
        let store = self.bench.handles[0].clone();
        let mut before = None;
        loop {
            let items = self.compare_page(&*store, Filter::default(), before, 200).await?;
            match items.last() {
                Some(job) => before = self.tables.core_index(job.id),
                None => break,
            }
        }
        for queue in QUEUES {
            let theirs = store.queue(queue).await.map_err(unwell)?;
            let total: u64 = theirs.iter().flat_map(|queue| queue.counts.each()).map(|(_, count)| count).sum();
            same("queue", &theirs, &self.core.queue(queue))?;
            same("I8: jobs in all states", &total, &self.ledger.kept_in(queue))?;
            self.compare_changes(&*store, Subject::new(Face::Queue, queue)).await?;
        }
        self.compare_changes(&*store, Subject::store()).await?;
        self.compare_workers(&*store, None, 10).await
    }
}

/// A situation without what says nothing: where the engine has no limit nobody counts, and what does not wait is not
/// held back by anyone.
fn bearing(of: Situation) -> Situation {
    let engine_running = of.engine_max.map_or(0, |_| of.engine_running);
    if of.job.status == Status::Queued {
        return Situation { engine_running, ..of };
    }
    Situation {
        running: 0,
        engine_running: 0,
        key_running: 0,
        ahead: None,
        lane_blocked_by: None,
        holders: Vec::new(),
        engine_holders: Vec::new(),
        spent_until: None,
        key_spent_until: None,
        watch: Watch::default(),
        ..of
    }
}

fn job_to_core(tables: &Tables<JobId>, mut job: Job) -> Job {
    job.id = tables.to_core(job.id);
    job.token = job.token.map(|token| tables.token_to_core(token));
    if let Some(lease) = &mut job.lease {
        lease.token = tables.token_to_core(lease.token);
    }
    for attempt in &mut job.attempts {
        attempt.token = tables.token_to_core(attempt.token);
    }
    job
}

fn event_to_core(tables: &Tables<JobId>, mut event: Event) -> Event {
    event.job = tables.to_core(event.job);
    event.token = event.token.map(|token| tables.token_to_core(token));
    event
}

fn situation_to_core(tables: &Tables<JobId>, of: Situation) -> Situation {
    Situation {
        job: job_to_core(tables, of.job),
        ahead: of.ahead.map(|ahead| Box::new(job_to_core(tables, *ahead))),
        lane_blocked_by: of.lane_blocked_by.map(|id| tables.to_core(id)),
        ..of
    }
}
