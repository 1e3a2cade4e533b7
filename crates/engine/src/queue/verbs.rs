//! The work queue: enqueue, claim, heartbeat, finish, and look.

use crate::error::only;
use crate::rest::look_within;
use crate::{Error, Result, Verbs};
use std::time::Duration;
use tenure_core::Page;
use tenure_core::bounds;
use tenure_core::queue::{
    Act, Beat, Beaten, Claim, Claims, Ended, Ending, Enqueued, Event, Filter, Job, JobId, NewJob, QueueInfo, Start,
    Worker, timeline,
};
use tenure_core::{Invalid, LostReason, Token};

impl Verbs<'_> {
    /// Adds jobs, all or none, in this order.
    pub async fn enqueue_all(self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        NewJob::check_all(&jobs)?;
        self.tenure.store.enqueue(jobs).await?.map_err(Error::from)
    }

    /// Takes jobs that are due, or says at once why there are none.
    pub async fn claim(self, claim: Claim) -> Result<Claims> {
        claim.check()?;
        Ok(self.tenure.store.claim(claim).await?)
    }

    /// Takes jobs that are due, waiting up to `wait` for the first. No database connection is held while waiting.
    pub async fn claim_within(self, claim: Claim, wait: Duration) -> Result<Claims> {
        claim.check()?;
        // Listening begins before the first look, so that nothing enqueued in between is missed.
        let mut listener = self.tenure.store.signals().listen(claim.queues.clone());
        let look = || {
            let asked = self.tenure.store.claim(claim.clone());
            async { Ok(asked.await?) }
        };
        look_within(wait, &mut listener, look, nothing).await
    }

    /// Marks the first jobs of a shared lease as started, before their handlers run (L6).
    pub async fn start(self, start: Start) -> Result<()> {
        bounds::name("worker", &start.owner)?;
        Ok(self.tenure.store.start(start).await??)
    }

    /// Renews a lease, and carries progress and a checkpoint (Q3).
    pub async fn heartbeat(self, beat: Beat) -> Result<Beaten> {
        beat.check()?;
        Ok(only(self.tenure.store.heartbeat(vec![beat]).await?)??)
    }

    /// Renews many leases, each answered on its own.
    pub async fn heartbeats(self, beats: Vec<Beat>) -> Result<Vec<Result<Beaten>>> {
        bounds::within("heartbeats", beats.len() as u64, 1, bounds::BULK_MAX)?;
        for (i, beat) in beats.iter().enumerate() {
            beat.check().map_err(|refusal| refusal.within(&format!("heartbeats[{i}]")))?;
        }
        Ok(each(self.tenure.store.heartbeat(beats).await?))
    }

    /// Ends a claim as done.
    pub async fn complete(self, job: JobId, owner: &str, token: Token, result: Option<String>) -> Result<Ended> {
        self.finish(Ending { job, owner: owner.to_owned(), token, act: Act::Complete { result } }).await
    }

    /// Ends a claim as failed, to be tried again by the job's backoff while it has attempts.
    pub async fn fail(self, job: JobId, owner: &str, token: Token, error: &str) -> Result<Ended> {
        let act = Act::Fail { error: error.to_owned(), retry: self.tenure.around.by_policy() };
        self.finish(Ending { job, owner: owner.to_owned(), token, act }).await
    }

    /// Puts a job off, without counting the attempt.
    pub async fn snooze(self, job: JobId, owner: &str, token: Token, delay: Duration) -> Result<Ended> {
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.finish(Ending { job, owner: owner.to_owned(), token, act: Act::Snooze { delay_ms } }).await
    }

    /// Gives a job back, without counting the attempt.
    pub async fn release(self, job: JobId, owner: &str, token: Token) -> Result<Ended> {
        self.finish(Ending { job, owner: owner.to_owned(), token, act: Act::Release }).await
    }

    /// Ends a claim (Q4). The same ending sent again is answered as the first time, with `already` (L12).
    pub async fn finish(self, mut ending: Ending) -> Result<Ended> {
        ending.check()?;
        Ok(only(self.tenure.store.finish(vec![ending]).await?)??)
    }

    /// Ends many claims, each answered on its own.
    pub async fn finish_all(self, mut endings: Vec<Ending>) -> Result<Vec<Result<Ended>>> {
        bounds::within("endings", endings.len() as u64, 1, bounds::BULK_MAX)?;
        for (i, ending) in endings.iter_mut().enumerate() {
            ending.check().map_err(|refusal| refusal.within(&format!("endings[{i}]")))?;
        }
        Ok(each(self.tenure.store.finish(endings).await?))
    }

    /// One job, finished or not, as long as it is kept.
    pub async fn job(self, id: JobId) -> Result<Option<Job>> {
        Ok(self.tenure.store.job(id).await?)
    }

    /// Everything that is known to have happened to a job, oldest first (L8).
    pub async fn timeline(self, id: JobId) -> Result<Option<Vec<Event>>> {
        let Some(job) = self.tenure.store.job(id).await? else { return Ok(None) };
        let stored = self.tenure.store.events(id).await?;
        Ok(Some(timeline(&job, stored)))
    }

    /// Jobs that match, newest first, from below `before`.
    pub async fn jobs(self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>> {
        check_filter(&filter)?;
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.jobs(filter, before, limit).await?)
    }

    /// One queue, if it was ever used.
    pub async fn queue(self, name: &str) -> Result<Option<QueueInfo>> {
        bounds::name("queue", name)?;
        Ok(self.tenure.store.queue(name).await?)
    }

    /// Queues by name, from after `after`.
    pub async fn queues(self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.queues(after, limit).await?)
    }

    /// Workers by name, from after `after`: who claimed in the last day, where and for which kinds, and how many jobs
    /// each holds. Times are true to a minute.
    pub async fn workers(self, after: Option<&str>, limit: u32) -> Result<Page<Worker>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.workers(after, limit).await?)
    }
}

/// What a claim that brought nothing hints.
fn nothing(claims: &Claims) -> Option<Option<Duration>> {
    claims.jobs.is_empty().then(|| claims.again_in_ms.map(Duration::from_millis))
}

fn check_filter(filter: &Filter) -> std::result::Result<(), Invalid> {
    filter.queue.as_deref().map_or(Ok(()), |queue| bounds::name("queue", queue))?;
    filter.kind.as_deref().map_or(Ok(()), |kind| bounds::name("kind", kind))
}

fn each<T>(answers: Vec<std::result::Result<T, LostReason>>) -> Vec<Result<T>> {
    answers.into_iter().map(|answer| answer.map_err(Error::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::queue::Idle;
    use tenure_store::Signals;

    #[tokio::test(start_paused = true)]
    async fn q2_a_store_that_always_hints_at_once_is_not_asked_without_a_pause() {
        let mut looks = 0;
        let mut listener = Signals::default().listen(vec!["q".into()]);
        let look = || {
            looks += 1;
            async { Ok(Claims { jobs: Vec::new(), idle: Some(Idle::Paused), again_in_ms: Some(0) }) }
        };
        look_within(Duration::from_secs(10), &mut listener, look, nothing).await.unwrap();
        // Seven in the first second and a half, then one a second, and one at the end.
        assert_eq!(looks, 16);
    }
}
