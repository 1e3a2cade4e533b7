//! What operators change: settings, limits, single jobs, and what is no longer kept.

use super::super::event::{Event, What};
use super::super::job::{JobId, Reason, Status};
use super::super::operate::{Action, Operation, Refusal};
use super::super::request::{Pruned, QueueInfo};
use super::super::rules;
use super::super::settings::Change;
use super::shelf::Shelf;
use super::{Queues, running};
use crate::actor::Actor;
use crate::bounds::RECEIPT_MS;
use crate::time::Time;

impl Queues {
    /// Changes a queue's settings; a queue that is not there yet is created.
    pub fn change(&mut self, name: &str, change: &Change, now: Time) -> QueueInfo {
        let shelf = self.queues.entry(name.to_owned()).or_insert_with(|| Shelf::new(now));
        let settings = shelf.settings.changed(change);
        shelf.set(&self.jobs, settings, now);
        self.queue(name).expect("the queue was just changed")
    }

    /// The engine's W.
    #[must_use]
    pub fn limit(&self) -> Option<u32> {
        self.max_running
    }

    /// Sets the engine's W (Q8). Lowering it takes nothing away; it stops new claims until fewer run.
    pub fn set_limit(&mut self, max_running: Option<u32>) {
        self.max_running = max_running;
    }

    /// Carries out an operator's action on one job (L9, L11).
    pub fn operate(&mut self, operation: &Operation, by: &Actor, now: Time) -> Result<Status, Refusal> {
        let id = operation.job;
        let status = self.jobs.get(&id).ok_or(Refusal::Absent)?.status;
        match &operation.action {
            Action::Cancel { .. } if status.terminal() => Err(Refusal::Terminal),
            Action::Retry if !status.terminal() => Err(Refusal::NotTerminal),
            Action::Cancel { reason, force } => {
                self.cancel(id, reason.as_deref(), *force, by, now);
                Ok(self.jobs.get(&id).map_or(Status::Failed, |job| job.status))
            }
            Action::Retry => {
                self.retry(id, by, now);
                Ok(Status::Queued)
            }
        }
    }

    fn cancel(&mut self, id: JobId, reason: Option<&str>, force: bool, by: &Actor, now: Time) {
        let job = self.jobs.get_mut(&id).expect("the job was just found");
        match job.status {
            Status::Running if !force => {
                job.cancel_requested = true;
                let token = job.token.expect("a running job has a token");
                let owner = self.grants[&token].lease.owner.clone();
                let event = Event::new(now, id, What::CancelRequested).by(&owner, token).acted(by).error(reason);
                self.events.entry(id).or_default().push(event);
            }
            Status::Running => {
                let settled = rules::force_cancel(running(job));
                self.end(id, settled, None, reason.map(str::to_owned), now);
                // Unless nothing is kept of it.
                if let Some(event) = self.events.get_mut(&id).and_then(|events| events.last_mut()) {
                    event.by = Some(by.as_str().to_owned());
                }
            }
            _ => {
                let shelf = self.queues.get_mut(&job.queue).expect("a job's queue is on record");
                shelf.withdraw(job);
                job.status = Status::Failed;
                job.reason = Some(Reason::Cancelled);
                job.finished_at = Some(now);
                let event = Event::new(now, id, What::Cancelled).acted(by).error(reason);
                self.events.entry(id).or_default().push(Event { reason: Some(Reason::Cancelled), ..event });
                let job = &self.jobs[&id];
                shelf.retire(&self.jobs, job, Status::Failed, false, now);
                if shelf.settings.retention_ms == 0 {
                    self.forget(id, now);
                }
            }
        }
    }

    fn retry(&mut self, id: JobId, by: &Actor, now: Time) {
        let job = self.jobs.get_mut(&id).expect("the job was just found");
        let shelf = self.queues.get_mut(&job.queue).expect("a job's queue is on record");
        *shelf.count(job.status) -= 1;
        job.status = Status::Queued;
        job.reason = None;
        job.result = None;
        job.attempt = 0;
        job.run_at = now;
        job.finished_at = None;
        shelf.admit(&self.jobs, id, now);
        self.events.entry(id).or_default().push(Event::new(now, id, What::RetriedByOperator).acted(by));
    }

    /// Removes what is no longer kept, at most `max` of each kind: finished jobs past their queue's retention, receipts
    /// past their hour, dedup keys past their window, sightings past their day. A job that a lane stopped for stays.
    pub fn prune(&mut self, max: usize, now: Time) -> Pruned {
        let past = |(id, finished_at, queue): &(JobId, Time, &str)| {
            let shelf = &self.queues[*queue];
            let kept = shelf.blocks(&self.jobs[id]);
            !kept && finished_at.plus_ms(shelf.settings.retention_ms) <= now
        };
        let ended = self.jobs.values().filter_map(|job| job.finished_at.map(|at| (job.id, at, job.queue.as_str())));
        let jobs: Vec<JobId> = ended.filter(past).take(max).map(|(id, _, _)| id).collect();
        for id in &jobs {
            self.forget(*id, now);
        }
        let receipts: Vec<_> = self
            .receipts
            .iter()
            .filter(|(_, receipt)| receipt.at.plus_ms(RECEIPT_MS) <= now)
            .map(|(of, _)| *of)
            .take(max)
            .collect();
        receipts.iter().for_each(|of| drop(self.receipts.remove(of)));
        let open = |id: &JobId| self.jobs.get(id).is_some_and(|job| !job.status.terminal());
        let stale = self.keys.iter().filter(|(_, known)| known.until <= now && !open(&known.job));
        let keys: Vec<_> = stale.map(|(key, _)| key.clone()).take(max).collect();
        keys.iter().for_each(|key| drop(self.keys.remove(key)));
        let sightings = self.sightings.prune(max, now);
        self.queues.values_mut().for_each(|shelf| shelf.trim(now));
        Pruned {
            jobs: jobs.len() as u32,
            receipts: receipts.len() as u32,
            keys: keys.len() as u32,
            sightings: sightings as u32,
        }
    }
}
