//! What a mistake must hide so that it is found by what it does, and not by what it shows: the settings that were
//! asked for, the keys that were sent, the attempts that were not forgotten.

use super::Bug;
use super::wrong::Wrong;
use std::collections::BTreeMap;
use tenure_core::Time;
use tenure_core::changes::Changes;
use tenure_core::json::canonical;
use tenure_core::queue::worker;
use tenure_core::queue::{
    Change, ClaimedJob, Conflict, Enqueued, Job, JobId, NewJob, QueueInfo, Settings, Situation, Watch, Worker,
};
use tenure_store::{QueueStore, Result};

#[derive(Default)]
pub(super) struct Disguise {
    pub(super) engine_max: Option<u32>,
    pub(super) settings: BTreeMap<String, Settings>,
    /// What was changed of these.
    pub(super) changes: Changes,
    /// What was sent with a job that is kept otherwise.
    sent: BTreeMap<JobId, (Option<String>, Option<u64>)>,
    /// Attempts that a retry should have forgotten.
    pub(super) kept_attempts: BTreeMap<JobId, u32>,
    /// How often a dedup key was freed too early.
    freed: BTreeMap<(String, String), u32>,
    /// Workers that were ever given a job, and when that was last written down.
    pub(super) lucky: BTreeMap<String, Time>,
}

impl Disguise {
    /// A worker was given something: the only claims that one mistake writes down, though as seldom as is right.
    pub(super) fn seen(&mut self, worker: String, now: Time) {
        if worker::due(self.lucky.get(&worker).copied(), now) {
            self.lucky.insert(worker, now);
        }
    }

    pub(super) fn claimed(&self, job: &mut ClaimedJob) {
        job.attempt += self.kept_attempts.get(&job.id).copied().unwrap_or(0);
        if let Some((lane, timeout_ms)) = self.sent.get(&job.id) {
            (job.ordering_key, job.timeout_ms) = (lane.clone(), *timeout_ms);
        }
    }
}

impl Wrong {
    pub(super) fn shown(&self, mut job: Job) -> Job {
        if self.is(Bug::OneAttemptMore) {
            job.attempts_max -= 1;
        }
        let disguise = self.disguise.lock().expect("no panic");
        if let Some((lane, timeout_ms)) = disguise.sent.get(&job.id) {
            (job.ordering_key, job.timeout_ms) = (lane.clone(), *timeout_ms);
        }
        job.attempt += disguise.kept_attempts.get(&job.id).copied().unwrap_or(0);
        job
    }

    pub(super) fn shown_queue(&self, queue: QueueInfo) -> QueueInfo {
        let settings = self.disguise.lock().expect("no panic").settings.get(&queue.name).copied();
        QueueInfo { settings: settings.unwrap_or(queue.settings), ..queue }
    }

    pub(super) fn shown_situation(&self, of: Situation) -> Situation {
        let settings = self.disguise.lock().expect("no panic").settings.get(&of.job.queue).copied();
        let blind = self.is(Bug::SituationWithoutLane);
        Situation {
            settings: settings.unwrap_or(of.settings),
            ahead: of.ahead.filter(|_| !blind).map(|ahead| Box::new(self.shown(*ahead))),
            spent_until: of.spent_until.filter(|_| !self.is(Bug::RateReasonForgotten)),
            watch: self.shown_watch(of.watch),
            job: self.shown(of.job),
            ..of
        }
    }

    /// Whoever looks for other kinds is taken for one who would take the job.
    fn shown_watch(&self, watch: Watch) -> Watch {
        if !self.is(Bug::WatchOfAnyKind) {
            return watch;
        }
        let takers = watch.takers.into_iter().chain(watch.others.into_iter().map(|(owner, _)| owner)).collect();
        Watch { takers, others: Vec::new(), ..watch }
    }

    pub(super) fn shown_worker(&self, mut worker: Worker) -> Worker {
        match self.bug {
            Bug::SightedByClientClock => {
                worker.sightings.iter_mut().for_each(|one| one.seen_at = one.seen_at.plus_ms(1));
                worker.last_seen_at = worker.last_seen_at.plus_ms(1);
            }
            Bug::SightedOnce => {
                worker.sightings.iter_mut().for_each(|one| one.seen_at = one.first_seen_at);
                worker.last_seen_at = worker.sightings.iter().map(|one| one.seen_at).max().expect("it was seen");
            }
            Bug::LeasesCountedAsJobs => worker.running = worker.running.min(1),
            _ => {}
        }
        worker
    }

    /// The part of a change that is carried out.
    pub(super) fn obeyed(&self, change: Change) -> Change {
        let mut obeyed = change;
        match self.bug {
            Bug::QueueLimitIgnored => obeyed.max_running = None,
            Bug::TenantLimitIgnored => obeyed.max_running_per_key = None,
            Bug::RateIgnored => obeyed.rate_limit = None,
            Bug::TenantRateIgnored => obeyed.rate_limit_per_key = None,
            Bug::PauseIgnored => obeyed.paused = None,
            Bug::LaneNeverBlocks => obeyed.lane_on_failure = None,
            Bug::RetentionZeroKept if change.retention_ms == Some(Some(0)) => obeyed.retention_ms = Some(Some(1)),
            _ => {}
        }
        obeyed
    }

    pub(super) async fn enqueue_disguised(
        &self,
        mut jobs: Vec<NewJob>,
    ) -> Result<std::result::Result<Vec<Enqueued>, Conflict>> {
        let sent = jobs.clone();
        for (i, job) in jobs.iter_mut().enumerate() {
            self.alter(job, i);
        }
        let mut answer = self.right.enqueue(jobs.clone()).await?;
        match (self.bug, &mut answer, sent.as_slice()) {
            (Bug::DedupForgetsTheEnded, Ok(enqueued), [job])
                if enqueued[0].deduplicated && enqueued[0].status.terminal() =>
            {
                let key = (job.queue.clone(), job.key.clone().expect("it was deduplicated"));
                *self.disguise.lock().expect("no panic").freed.entry(key).or_default() += 1;
                jobs = sent.clone();
                self.alter(&mut jobs[0], 0);
                answer = self.right.enqueue(jobs.clone()).await?;
            }
            (Bug::DedupIgnoresKind, Err(Conflict { id: Some(id), .. }), [job]) => {
                if let Some(known) =
                    self.right.job(*id).await?.filter(|known| value(&known.payload) == value(&job.payload))
                {
                    answer = Ok(vec![Enqueued { id: known.id, status: known.status, deduplicated: true }]);
                }
            }
            (Bug::DedupComparesText, Ok(enqueued), [job]) if enqueued[0].deduplicated => {
                let known = self.right.job(enqueued[0].id).await?;
                if known.is_some_and(|known| known.payload != job.payload) {
                    answer = Err(Conflict { index: 0, id: Some(enqueued[0].id) });
                }
            }
            (Bug::ConflictEnqueuesHalf, Err(conflict), _) if conflict.index > 0 => {
                jobs.truncate(conflict.index);
                let _ = self.right.enqueue(jobs.clone()).await?;
            }
            _ => {}
        }
        if let Ok(enqueued) = &answer {
            let mut disguise = self.disguise.lock().expect("no panic");
            for ((enqueued, sent), kept) in enqueued.iter().zip(&sent).zip(&jobs) {
                let differs = sent.ordering_key != kept.ordering_key || sent.timeout_ms != kept.timeout_ms;
                if !enqueued.deduplicated && differs {
                    disguise.sent.insert(enqueued.id, (sent.ordering_key.clone(), sent.timeout_ms));
                }
            }
        }
        Ok(answer)
    }

    fn alter(&self, job: &mut NewJob, place: usize) {
        match self.bug {
            Bug::OneAttemptMore => job.attempts_max += 1,
            Bug::RunAtDropped => job.run_at = None,
            Bug::PayloadTrimmed => job.payload = job.payload.trim().to_owned(),
            Bug::TimeoutIgnored => job.timeout_ms = None,
            Bug::LaneIgnored => job.ordering_key = None,
            Bug::DedupIgnoresWindow => job.key_window_ms = job.key_window_ms.map(|_| 86_400_000),
            Bug::LaneRunsTwo if place % 2 == 1 => {
                job.ordering_key = job.ordering_key.take().map(|lane| format!("{lane}+"));
            }
            Bug::LanePassesScheduledHead if job.run_at.is_some_and(|at| at > self.clock.now()) => {
                job.ordering_key = None;
            }
            Bug::DedupForgetsTheEnded => {
                let disguise = self.disguise.lock().expect("no panic");
                let freed = |key: &String| disguise.freed.get(&(job.queue.clone(), key.clone())).copied();
                job.key = job.key.take().map(|key| freed(&key).map_or(key.clone(), |n| format!("{key}+{n}")));
            }
            _ => {}
        }
    }
}

fn value(payload: &str) -> String {
    canonical("payload", payload).expect("it was checked")
}
