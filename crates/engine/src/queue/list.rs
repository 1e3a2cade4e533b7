//! Lists: narrowed first, then asked for a page, or acted on as a whole.

use super::Bulk;
use crate::{Result, Tenure};
use tenure_core::Page;
use tenure_core::queue::{Action, Filter, Job, JobId, QueueInfo, Status, Worker};

/// Jobs, newest first. Made by [`Tenure::jobs`] and [`QueueHandle::jobs`](super::QueueHandle::jobs).
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListJobs {
    tenure: Tenure,
    filter: Filter,
    before: Option<JobId>,
}

/// Queues by name. Made by [`Tenure::queues`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListQueues {
    tenure: Tenure,
    after: Option<String>,
}

/// Workers by name. Made by [`Tenure::workers`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListWorkers {
    tenure: Tenure,
    after: Option<String>,
}

impl Tenure {
    /// Jobs of every queue, newest first.
    pub fn jobs(&self) -> ListJobs {
        ListJobs { tenure: self.clone(), filter: Filter::default(), before: None }
    }

    /// Queues by name.
    pub fn queues(&self) -> ListQueues {
        ListQueues { tenure: self.clone(), after: None }
    }

    /// Who claimed in the last day, where and for which kinds, and how many jobs each holds. Times are true to a minute.
    pub fn workers(&self) -> ListWorkers {
        ListWorkers { tenure: self.clone(), after: None }
    }
}

impl ListJobs {
    /// Only of this queue.
    pub fn queue(mut self, queue: impl Into<String>) -> ListJobs {
        self.filter.queue = Some(queue.into());
        self
    }

    /// Only in this state.
    pub fn status(mut self, status: Status) -> ListJobs {
        self.filter.status = Some(status);
        self
    }

    /// Only of this kind.
    pub fn kind(mut self, kind: impl Into<String>) -> ListJobs {
        self.filter.kind = Some(kind.into());
        self
    }

    /// Only older ones than this: the last of the page before.
    pub fn before(mut self, id: JobId) -> ListJobs {
        self.before = Some(id);
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<Job>> {
        self.tenure.verbs().jobs(self.filter, self.before, limit).await
    }

    /// Cancels every one that matches now, in bounded steps; running ones by asking their holders (L11).
    pub async fn cancel(self, reason: impl Into<String>) -> Result<Bulk> {
        let reason = Some(reason.into()).filter(|reason| !reason.is_empty());
        self.operate(Action::Cancel { reason, force: false }).await
    }

    /// Puts every finished one that matches now back, in bounded steps (L9).
    pub async fn retry(self) -> Result<Bulk> {
        self.operate(Action::Retry).await
    }

    async fn operate(self, action: Action) -> Result<Bulk> {
        self.tenure.verbs().operate_all(self.filter, action, |_| {}).await
    }
}

impl ListQueues {
    /// Only those after this name: the last of the page before.
    pub fn after(mut self, name: impl Into<String>) -> ListQueues {
        self.after = Some(name.into());
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<QueueInfo>> {
        self.tenure.verbs().queues(self.after.as_deref(), limit).await
    }
}

impl ListWorkers {
    /// Only those after this name: the last of the page before.
    pub fn after(mut self, name: impl Into<String>) -> ListWorkers {
        self.after = Some(name.into());
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<Worker>> {
        self.tenure.verbs().workers(self.after.as_deref(), limit).await
    }
}
