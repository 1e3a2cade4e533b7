//! One worker for all faces: its jobs, and the parts that work beside them under the same name, with the same state, graces
//! and signals, told to leave together and counted in one report.

use super::context::Terms;
use super::face::Face;
use super::{Report, Worker};
use crate::signals::told;
use crate::{Result, Tenure};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A part of a worker, to be begun with what it shares with the others.
pub(crate) type Part = Box<dyn FnOnce(Shared) -> BoxFuture<'static, Result<Report>> + Send>;

/// Parts of a worker that have not begun. Behind a lock, since nobody asks of a source or a handler to be shared.
#[derive(Default)]
pub(crate) struct Beside(Mutex<Vec<Part>>);

impl Beside {
    pub(super) fn add(&mut self, part: Part) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    pub(super) fn take(&mut self) -> Vec<Part> {
        std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the parts of a worker share.
#[derive(Clone)]
pub struct Shared {
    terms: Terms,
    concurrency: usize,
    grace: Duration,
    cancel_grace: Duration,
    timeout_grace: Duration,
    /// Whether it ends by itself when nothing is due any more.
    pub(crate) drain: bool,
    leave: watch::Receiver<bool>,
    leave_now: watch::Receiver<bool>,
}

impl Shared {
    pub(super) fn of<F: Face>(
        worker: &Worker<F>,
        leave: &watch::Sender<bool>,
        leave_now: &watch::Sender<bool>,
    ) -> Shared {
        Shared {
            terms: worker.terms.clone(),
            concurrency: worker.plan.concurrency,
            grace: worker.plan.grace,
            cancel_grace: worker.cancel_grace,
            timeout_grace: worker.timeout_grace,
            drain: worker.plan.drain,
            leave: leave.subscribe(),
            leave_now: leave_now.subscribe(),
        }
    }

    pub(crate) fn tenure(&self) -> &Tenure {
        &self.terms.tenure
    }

    pub(crate) fn owner(&self) -> &str {
        &self.terms.owner
    }

    /// The same worker, of another face.
    pub(crate) fn adopt<F: Face>(&self, mut worker: Worker<F>) -> Worker<F> {
        let Shared { terms, concurrency, grace, cancel_grace, timeout_grace, drain, .. } = self.clone();
        worker.terms = terms;
        (worker.plan.concurrency, worker.plan.grace, worker.plan.drain) = (concurrency, grace, drain);
        (worker.cancel_grace, worker.timeout_grace) = (cancel_grace, timeout_grace);
        worker
    }

    /// Returns when the worker is told to leave.
    pub(crate) async fn leaving(&self) {
        told(self.leave.clone()).await;
    }

    /// Returns when it is told to wait for nobody.
    pub(crate) async fn leaving_now(&self) {
        told(self.leave_now.clone()).await;
    }
}

/// Runs all parts until each has ended. The first that fails sends the others home.
pub(super) async fn together(
    parts: Vec<BoxFuture<'static, Result<Report>>>,
    leave: watch::Sender<bool>,
    leave_now: watch::Sender<bool>,
    shutdown: impl Future<Output = ()>,
    now: impl Future<Output = ()>,
    upkeep: impl Future<Output = ()>,
) -> Result<Report> {
    let mut parts: FuturesUnordered<_> = parts.into_iter().collect();
    let (mut shutdown, mut now) = (std::pin::pin!(shutdown), std::pin::pin!(now));
    let mut upkeep = std::pin::pin!(upkeep);
    let (mut asked, mut insisted, mut kept) = (false, false, false);
    let mut total = Ok(Report::default());
    loop {
        tokio::select! {
            part = parts.next() => match (part, &mut total) {
                (None, _) => return total,
                (Some(Ok(report)), Ok(total)) => *total += report,
                (Some(Ok(_)), Err(_)) => {}
                (Some(Err(error)), _) => {
                    if total.is_ok() {
                        total = Err(error);
                    }
                    leave.send_replace(true);
                }
            },
            () = &mut shutdown, if !asked => {
                asked = true;
                leave.send_replace(true);
            }
            () = &mut now, if !insisted => {
                insisted = true;
                leave_now.send_replace(true);
            }
            () = &mut upkeep, if !kept => kept = true,
        }
    }
}
