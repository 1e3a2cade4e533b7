//! What the scenarios share: a store on a clock that stands still, and verbs short enough to read as sentences.

use super::Harness;
pub(in crate::conformance) use crate::conformance::START;
use crate::{Fenced, Store};
use std::sync::Arc;
use tenure_core::queue::{
    Act, Action, Beat, Beaten, Change, Claim, ClaimedJob, Conflict, Ended, Ending, Enqueued, Event, Idle, Job, JobId,
    NewJob, Operation, Pruned, QueueInfo, Recovered, Refusal, Status, What, explain,
};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time, Token};

/// The lease of a claim that names none.
pub(in crate::conformance) const LEASE_MS: u64 = tenure_core::bounds::LEASE_MS_DEFAULT;

/// A store and its clock.
pub(in crate::conformance) struct World<H> {
    pub(in crate::conformance) harness: H,
    pub(in crate::conformance) store: Arc<dyn Store>,
    pub(in crate::conformance) now: Time,
}

/// What a claimer needs to remember to write: the job, its own name and the token.
#[derive(Clone, Debug)]
pub(in crate::conformance) struct Grip {
    pub(in crate::conformance) id: JobId,
    pub(in crate::conformance) owner: String,
    pub(in crate::conformance) token: Token,
}

impl Grip {
    pub(in crate::conformance) fn of(job: &ClaimedJob, owner: &str) -> Grip {
        Grip { id: job.id, owner: owner.to_owned(), token: job.token }
    }

    pub(in crate::conformance) fn by(&self, owner: &str) -> Grip {
        Grip { owner: owner.to_owned(), ..self.clone() }
    }

    pub(in crate::conformance) fn under(&self, token: Token) -> Grip {
        Grip { token, ..self.clone() }
    }

    pub(in crate::conformance) fn beat(&self) -> Beat {
        Beat::new(self.id, &self.owner, self.token)
    }

    pub(in crate::conformance) fn ending(&self, act: Act) -> Ending {
        Ending { job: self.id, owner: self.owner.clone(), token: self.token, act }
    }
}

pub(in crate::conformance) fn complete() -> Act {
    Act::Complete { result: None }
}

pub(in crate::conformance) fn fail(retry: Retry) -> Act {
    Act::Fail { error: "it broke".to_owned(), retry }
}

pub(in crate::conformance) fn snooze(delay_ms: u64) -> Act {
    Act::Snooze { delay_ms }
}

/// One ending of each verb.
pub(in crate::conformance) fn every_act() -> [Act; 4] {
    [complete(), fail(Retry::In { delay_ms: 5 }), snooze(7), Act::Release]
}

impl<H: Harness> World<H> {
    pub(in crate::conformance) async fn open() -> World<H> {
        let harness = H::open(START).await;
        let store = harness.store();
        World { harness, store, now: START }
    }

    pub(in crate::conformance) async fn pass_ms(&mut self, ms: u64) {
        self.set(self.now.plus_ms(ms)).await;
    }

    pub(in crate::conformance) async fn set(&mut self, now: Time) {
        self.now = now;
        self.harness.set_clock(now).await;
    }

    pub(in crate::conformance) async fn enqueue(&self, job: NewJob) -> JobId {
        self.enqueue_all(vec![job]).await[0]
    }

    pub(in crate::conformance) async fn enqueue_all(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let enqueued = self.send(jobs).await.expect("no key was sent with two bodies");
        enqueued.into_iter().map(|enqueued| enqueued.id).collect()
    }

    /// The whole answer to an enqueue.
    pub(in crate::conformance) async fn send(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>, Conflict> {
        NewJob::check_all(&jobs).expect("scenarios stay within bounds");
        self.store.enqueue(jobs).await.expect("enqueue")
    }

    /// `count` plain jobs in queue `q`.
    pub(in crate::conformance) async fn fill(&self, count: usize) -> Vec<JobId> {
        self.enqueue_all((0..count).map(|_| plain()).collect()).await
    }

    pub(in crate::conformance) async fn claim(&self, claim: Claim) -> Vec<ClaimedJob> {
        claim.check().expect("scenarios stay within bounds");
        self.store.claim(claim).await.expect("claim").jobs
    }

    pub(in crate::conformance) async fn claimed_ids(&self, claim: Claim) -> Vec<JobId> {
        self.claim(claim).await.iter().map(|job| job.id).collect()
    }

    /// Why a claim takes nothing.
    pub(in crate::conformance) async fn idle(&self, claim: Claim) -> Idle {
        let claims = self.store.claim(claim).await.expect("claim");
        assert_eq!(claims.jobs, [], "the claim took something");
        claims.idle.expect("a claim that takes nothing says why")
    }

    /// The next job of queue `q`, for `owner` and the default lease.
    pub(in crate::conformance) async fn take(&self, owner: &str) -> Grip {
        let jobs = self.claim(Claim::new("q", owner)).await;
        Grip::of(jobs.first().expect("a job is due"), owner)
    }

    /// A new job in queue `q`, claimed by `owner`.
    pub(in crate::conformance) async fn held_by(&self, owner: &str) -> Grip {
        let id = self.enqueue(plain()).await;
        let grip = self.take(owner).await;
        assert_eq!(grip.id, id, "another job was due");
        grip
    }

    pub(in crate::conformance) async fn beat(&self, beat: Beat) -> Fenced<Beaten> {
        let mut answers = self.store.heartbeat(vec![beat]).await.expect("heartbeat");
        assert_eq!(answers.len(), 1, "one answer for one beat");
        answers.remove(0)
    }

    pub(in crate::conformance) async fn finish(&self, grip: &Grip, act: Act) -> Fenced<Ended> {
        let mut answers = self.store.finish(vec![grip.ending(act)]).await.expect("finish");
        assert_eq!(answers.len(), 1, "one answer for one ending");
        answers.remove(0)
    }

    pub(in crate::conformance) async fn recover(&self, leases_max: u32) -> Recovered {
        self.store.recover(leases_max).await.expect("recover")
    }

    pub(in crate::conformance) async fn prune(&self, max: u32) -> Pruned {
        self.store.prune(max).await.expect("prune")
    }

    /// Changes the settings of queue `q`.
    pub(in crate::conformance) async fn change(&self, change: Change) -> QueueInfo {
        change.check().expect("scenarios stay within bounds");
        self.store.change("q", change).await.expect("change")
    }

    pub(in crate::conformance) async fn set_limit(&self, max_running: Option<u32>) {
        self.store.set_limit(max_running).await.expect("set_limit");
    }

    pub(in crate::conformance) async fn operate(&self, id: JobId, action: Action) -> Result<Status, Refusal> {
        let answers = self.store.operate(vec![Operation { job: id, action }]).await.expect("operate");
        assert_eq!(answers.len(), 1, "one answer for one operation");
        answers[0]
    }

    pub(in crate::conformance) async fn cancel(&self, id: JobId) -> Result<Status, Refusal> {
        self.operate(id, cancel("not needed")).await
    }

    /// Ends a job now, whatever its holder does.
    pub(in crate::conformance) async fn force(&self, id: JobId) -> Result<Status, Refusal> {
        self.operate(id, Action::Cancel { reason: None, force: true }).await
    }

    pub(in crate::conformance) async fn retry(&self, id: JobId) -> Result<Status, Refusal> {
        self.operate(id, Action::Retry).await
    }

    /// The codes of why a job is not running.
    pub(in crate::conformance) async fn why(&self, id: JobId) -> Vec<&'static str> {
        let situation = self.store.situation(id).await.expect("situation").expect("the job is on record");
        explain(&situation, self.now).reasons.iter().map(|why| why.code).collect()
    }

    /// How many jobs of a queue run.
    pub(in crate::conformance) async fn running(&self, queue: &str) -> u64 {
        self.store.queue(queue).await.expect("queue").map_or(0, |queue| queue.counts.running)
    }

    pub(in crate::conformance) async fn gone(&self, id: JobId) -> bool {
        self.store.job(id).await.expect("job").is_none()
    }

    pub(in crate::conformance) async fn job(&self, id: JobId) -> Job {
        self.store.job(id).await.expect("job").expect("the job is on record")
    }

    pub(in crate::conformance) async fn events(&self, id: JobId) -> Vec<Event> {
        self.store.events(id).await.expect("events")
    }

    /// What is stored of each event, in order.
    pub(in crate::conformance) async fn whats(&self, id: JobId) -> Vec<What> {
        self.events(id).await.iter().map(|event| event.what).collect()
    }

    /// Every verb under `grip` is refused for `reason`, and nothing changes but the one event that counts its refusals.
    pub(in crate::conformance) async fn assert_every_write_refused(&self, grip: &Grip, reason: LostReason) {
        let job = self.job(grip.id).await;
        let events = self.events(grip.id).await;
        let beat = grip.beat().progress("1").checkpoint("2");
        assert_eq!(self.beat(beat).await, Err(reason), "heartbeat");
        for act in every_act() {
            let verb = act.verb();
            assert_eq!(self.finish(grip, act).await, Err(reason), "{verb}");
        }
        assert_eq!(self.job(grip.id).await, job, "a refused write changed the job");
        let refused =
            |event: &&Event| (event.what, event.token, event.lost) == (What::Refused, Some(grip.token), Some(reason));
        let before = events.iter().find(refused).map_or(0, |event| event.count);
        let after = self.events(grip.id).await;
        assert_eq!(after.iter().filter(refused).map(|event| event.count).collect::<Vec<_>>(), [before + 5]);
        let others = |events: &[Event]| events.iter().filter(|event| !refused(event)).cloned().collect::<Vec<_>>();
        assert_eq!(others(&after), others(&events), "a refused write changed another event");
    }
}

/// A job of queue `q` with the defaults.
pub(in crate::conformance) fn plain() -> NewJob {
    NewJob::new("q", "k", "{}")
}

/// A job of queue `q` in a lane.
pub(in crate::conformance) fn in_lane(key: &str) -> NewJob {
    plain().ordering_key(key)
}

/// A job of queue `q` for a tenant.
pub(in crate::conformance) fn of_tenant(key: &str) -> NewJob {
    plain().limit_key(key)
}

/// Asks to cancel, for a reason.
pub(in crate::conformance) fn cancel(reason: &str) -> Action {
    Action::Cancel { reason: Some(reason.to_owned()), force: false }
}

/// A queue's W.
pub(in crate::conformance) fn at_most(max_running: u32) -> Change {
    Change { max_running: Some(Some(max_running)), ..Change::default() }
}

/// Each tenant's W.
pub(in crate::conformance) fn at_most_each(max_running: u32) -> Change {
    Change { max_running_per_key: Some(Some(max_running)), ..Change::default() }
}

/// How long finished jobs are kept.
pub(in crate::conformance) fn kept_for(retention_ms: u64) -> Change {
    Change { retention_ms: Some(Some(retention_ms)), ..Change::default() }
}

/// The answer to an ending that was accepted now and left its job in `status`.
pub(in crate::conformance) fn now(status: Status) -> Fenced<Ended> {
    Ok(Ended { status, already: false })
}

/// The answer to an ending that had been accepted before.
pub(in crate::conformance) fn already(status: Status) -> Fenced<Ended> {
    Ok(Ended { status, already: true })
}
