//! What an operator does: settings and limits, cancel and retry, one by one or by filter, and the question why.

use crate::error::{Refused, only};
use crate::{Result, Verbs};
use tenure_core::Explanation;
use tenure_core::bounds;
use tenure_core::changes::{Changed, Face, Subject};
use tenure_core::queue::{
    Action, Change, Filter, JobId, Operation, QueueInfo, Refusal, Status, check_running, explain,
};

/// Jobs that one step of a bulk action touches: its transaction stays short.
const BULK_STEP: u32 = 500;

/// What a bulk action did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Bulk {
    /// Jobs it was carried out on.
    pub done: u64,
    /// Jobs that matched but had moved on by the time their turn came.
    pub passed_over: u64,
}

/// What one step of a bulk action did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkStep {
    /// What it did.
    pub bulk: Bulk,
    /// Where the next step begins, while there may be more.
    pub next: Option<JobId>,
}

impl Verbs<'_> {
    /// Changes a queue's settings; a queue that is not there yet is created. Binds claims that begin after it (Q8).
    pub async fn change_queue(self, name: &str, change: Change) -> Result<QueueInfo> {
        bounds::name("queue", name)?;
        change.check()?;
        Ok(self.tenure.store.change(name, change).await?)
    }

    /// The most jobs that may run at once in the whole engine (Q8).
    pub async fn limit(self) -> Result<Option<u32>> {
        Ok(self.tenure.store.limit().await?)
    }

    /// Sets the most jobs that may run at once. Lowering it takes nothing away; it stops new claims until fewer run.
    pub async fn set_limit(self, max_running: Option<u32>) -> Result<()> {
        check_running("max_running", max_running)?;
        Ok(self.tenure.store.set_limit(max_running).await?)
    }

    /// What was changed about a queue, a schedule, a domain, a pipeline or the store, oldest first: the last hundred
    /// changes of ninety days (L8). `None` if there is and was no such thing.
    pub async fn changes(self, of: Subject) -> Result<Option<Vec<Changed>>> {
        match of.face {
            Face::Queue | Face::Schedule | Face::Pipeline => bounds::name(of.face.as_str(), &of.name)?,
            Face::Domain => bounds::key("domain", &of.name)?,
            Face::Store => {}
        }
        let changes = self.tenure.store.changes(of.clone()).await?;
        let known = !changes.is_empty()
            || match of.face {
                Face::Queue => self.tenure.store.queue(&of.name).await?.is_some(),
                Face::Schedule => self.tenure.store.schedule(&of.name).await?.is_some(),
                Face::Pipeline => self.tenure.store.pipeline(&of.name, None).await?.is_some(),
                Face::Domain => self.tenure.store.domain(&of.name).await?.is_some(),
                Face::Store => of.name.is_empty(),
            };
        Ok(known.then_some(changes))
    }

    /// Ends a job: a waiting one at once, a running one by asking its holder, or with `force` now (L11).
    pub async fn cancel(self, job: JobId, reason: Option<&str>, force: bool) -> Result<Status> {
        let action = Action::Cancel { reason: reason.map(str::to_owned), force };
        self.operate(Operation { job, action }).await
    }

    /// Puts a finished job back, with its attempts anew. Its token keeps growing (L9, L2).
    pub async fn retry(self, job: JobId) -> Result<Status> {
        self.operate(Operation { job, action: Action::Retry }).await
    }

    /// Carries an action out on every job that matches now, in bounded steps. `progress` is told after each.
    pub async fn operate_all(self, filter: Filter, action: Action, mut progress: impl FnMut(Bulk)) -> Result<Bulk> {
        let mut total = Bulk::default();
        let mut before = None;
        loop {
            let step = self.operate_step(filter.clone(), action.clone(), before).await?;
            total.done += step.bulk.done;
            total.passed_over += step.bulk.passed_over;
            progress(total);
            let Some(next) = step.next else { return Ok(total) };
            before = Some(next);
        }
    }

    /// One bounded step of a bulk action, on the newest matching jobs below `before`; `next` goes on where it ended.
    pub async fn operate_step(self, filter: Filter, mut action: Action, before: Option<JobId>) -> Result<BulkStep> {
        action.check()?;
        let wanted = |status: Status| status.terminal() == (action == Action::Retry);
        if filter.status.is_some_and(|status| !wanted(status)) {
            return Ok(BulkStep { bulk: Bulk::default(), next: None });
        }
        // Newest first and downwards from the first page: jobs enqueued meanwhile are not met, so it ends.
        let page = self.jobs(filter, before, BULK_STEP).await?;
        let operations: Vec<Operation> = page
            .items
            .iter()
            .filter(|job| wanted(job.status))
            .map(|job| Operation { job: job.id, action: action.clone() })
            .collect();
        let mut bulk = Bulk::default();
        if !operations.is_empty() {
            for answer in self.tenure.store.operate(operations).await? {
                match answer {
                    Ok(_) => bulk.done += 1,
                    Err(Refusal::Absent | Refusal::Terminal | Refusal::NotTerminal | Refusal::Busy) => {
                        bulk.passed_over += 1;
                    }
                }
            }
        }
        Ok(BulkStep { bulk, next: page.items.last().filter(|_| page.more).map(|job| job.id) })
    }

    /// Why a job is not running now, in one sentence and its reasons.
    pub async fn explain(self, job: JobId) -> Result<Option<Explanation>> {
        let Some(situation) = self.tenure.store.situation(job).await? else { return Ok(None) };
        let now = self.tenure.store.now().await?;
        Ok(Some(explain(&situation, now)))
    }

    async fn operate(self, mut operation: Operation) -> Result<Status> {
        operation.action.check()?;
        only(self.tenure.store.operate(vec![operation]).await?)?.map_err(|refusal| Refused::Job(refusal).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewJob, Tenure};
    use tenure_memory::MemoryStore;

    #[tokio::test]
    async fn a_bulk_action_goes_on_where_its_last_step_ended() {
        let tenure = Tenure::on(MemoryStore::new());
        tenure.enqueue_all(vec![NewJob::new("q", "k", "1"); 501]).await.unwrap();
        let cancel = || Action::Cancel { reason: None, force: false };
        let first = tenure.verbs().operate_step(Filter::default(), cancel(), None).await.unwrap();
        assert_eq!((first.bulk, first.next), (Bulk { done: 500, passed_over: 0 }, Some(JobId(2))));
        let last = tenure.verbs().operate_step(Filter::default(), cancel(), first.next).await.unwrap();
        assert_eq!((last.bulk, last.next), (Bulk { done: 1, passed_over: 0 }, None));
        let again = tenure.verbs().operate_all(Filter::default(), cancel(), |_| {}).await.unwrap();
        assert_eq!(again, Bulk::default());
    }
}
