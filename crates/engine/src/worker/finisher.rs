//! Endings, gathered: what handlers finish while one write is under way goes into the next.
//!
//! Always true: an ending is sent until the store has answered it, or the lease is known to be gone. Sent twice, it is
//! answered as the first time (L12), so a connection lost in between does no harm.

use super::Report;
use super::context::Context;
use super::hooks::Hooks;
use super::leases::Jobs;
use super::points::Points;
use crate::Tenure;
use crate::heart::{Heart, Hold};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::LostReason;
use tenure_core::queue::{Act, Ended, Ending, Status};
use tenure_core::retry::Retry;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// How long a write may take before the next one goes beside it: longer than a store needs that is well …
const BESIDE_AFTER: Duration = Duration::from_millis(250);
/// … and how many there may be beside each other. Each may take a connection; heartbeats have their own.
const BESIDE_MAX: usize = 8;
/// Endings of one write.
const GATHERED_MAX: usize = 500;
/// After a store failure, doubling …
const FAILED_WAIT: Duration = Duration::from_millis(50);
/// … up to this.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(2);

/// An ending to write.
pub(super) struct Due {
    pub(super) ending: Ending,
    pub(super) hold: Arc<Hold>,
    /// `None` for a job that was never begun.
    pub(super) cx: Option<Context>,
    pub(super) took: Duration,
}

/// Where endings are left to be written.
#[derive(Clone)]
pub(super) struct DropBox {
    due: UnboundedSender<Due>,
    unsettled: Arc<AtomicUsize>,
}

impl DropBox {
    /// Leaves an ending.
    pub(super) fn send(&self, due: Due) {
        self.unsettled.fetch_add(1, Ordering::SeqCst);
        // It is read until the last box is gone.
        let _ = self.due.send(due);
    }

    /// How many endings the store has not answered yet.
    pub(super) fn unsettled(&self) -> Arc<AtomicUsize> {
        self.unsettled.clone()
    }
}

/// Writes endings.
pub(super) struct Finisher {
    drop_box: Option<DropBox>,
    task: JoinHandle<()>,
}

impl Finisher {
    pub(super) fn start(
        tenure: Tenure,
        heart: Arc<Heart<Jobs>>,
        hooks: Arc<dyn Hooks>,
        report: Arc<Mutex<Report>>,
        points: Option<Arc<Points>>,
    ) -> Finisher {
        let (due, to_write) = unbounded_channel();
        let unsettled = Arc::new(AtomicUsize::new(0));
        let writing = Writing {
            tenure,
            heart,
            hooks,
            report,
            points,
            unsettled: unsettled.clone(),
            silent: AtomicBool::new(true),
        };
        Finisher { drop_box: Some(DropBox { due, unsettled }), task: tokio::spawn(writing.run(to_write)) }
    }

    /// A place to leave endings.
    pub(super) fn drop_box(&self) -> DropBox {
        self.drop_box.clone().expect("it is open until it is closed")
    }

    /// Writes what is left, and ends.
    pub(super) async fn close(mut self) {
        self.drop_box = None;
        // It neither panics nor is it cancelled before this.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Finisher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Writing {
    tenure: Tenure,
    heart: Arc<Heart<Jobs>>,
    hooks: Arc<dyn Hooks>,
    report: Arc<Mutex<Report>>,
    points: Option<Arc<Points>>,
    unsettled: Arc<AtomicUsize>,
    /// Nothing was said yet about a store that does not answer.
    silent: AtomicBool,
}

impl Writing {
    async fn run(self, mut to_write: UnboundedReceiver<Due>) {
        let this = Arc::new(self);
        let mut writes = JoinSet::new();
        let mut gathered = Vec::new();
        while to_write.recv_many(&mut gathered, GATHERED_MAX).await > 0 {
            let (done, is_done) = oneshot::channel();
            let (this, endings) = (this.clone(), std::mem::take(&mut gathered));
            writes.spawn(async move {
                this.write(endings).await;
                let _ = done.send(());
            });
            // What ends meanwhile goes into the next write: into few large ones, as long as they are answered.
            let _ = tokio::time::timeout(BESIDE_AFTER, is_done).await;
            while writes.try_join_next().is_some() {}
            while writes.len() >= BESIDE_MAX {
                writes.join_next().await;
            }
        }
        // They neither panic nor are they cancelled before this.
        while writes.join_next().await.is_some() {}
    }

    /// Sends endings until all are answered or their leases are gone: together, and if that fails twice, each by itself. One of
    /// them may be held by a transaction that stays open, its handler's own for one: the others do not wait for it.
    async fn write(&self, mut left: Vec<Due>) {
        left.iter_mut().for_each(mend);
        let mut failures = 0u32;
        while !left.is_empty() {
            let parts: Vec<Vec<Due>> =
                if failures < 2 { vec![left] } else { left.into_iter().map(|due| vec![due]).collect() };
            left = Vec::new();
            for part in parts {
                left.extend(self.send(part).await);
            }
            if !left.is_empty() {
                tokio::time::sleep((FAILED_WAIT * (1 << failures.min(6))).min(FAILED_WAIT_MAX)).await;
                failures += 1;
                // Whatever the store made of it, it will not take it any more.
                let gone = left.extract_if(.., |due| due.hold.gone()).collect::<Vec<_>>();
                gone.iter().for_each(|due| self.answered(due, Err(LostReason::Expired)));
            }
        }
    }

    /// Sends endings once; gives back what was not answered.
    async fn send(&self, endings: Vec<Due>) -> Vec<Due> {
        if let Some(points) = &self.points {
            points.living().await;
        }
        let finishing = self.tenure.store.finish(endings.iter().map(|due| due.ending.clone()).collect());
        match self.tenure.outage.watch("endings", finishing).await {
            Ok(answers) => {
                self.silent.store(true, Ordering::SeqCst);
                endings.iter().zip(answers).for_each(|(due, answer)| self.answered(due, answer));
                Vec::new()
            }
            Err(error) => {
                // Once for each outage, not for each try.
                if self.silent.swap(false, Ordering::SeqCst) {
                    self.hooks.store_away(&error);
                }
                endings
            }
        }
    }

    fn answered(&self, due: &Due, answer: Result<Ended, LostReason>) {
        let Due { ending, cx, took, .. } = due;
        self.heart.ended(ending.token, ending.job);
        self.unsettled.fetch_sub(1, Ordering::SeqCst);
        self.report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).count(&ending.act, &answer);
        match &answer {
            Ok(ended) => tracing::debug!(job = %ending.job, verb = %ending.act.verb(), status = %ended.status, "ended"),
            Err(reason) => {
                tracing::warn!(job = %ending.job, token = %ending.token, verb = %ending.act.verb(), %reason, "an ending was refused");
            }
        }
        if let Some(cx) = cx {
            match answer {
                Ok(ended) => self.hooks.ended(cx, &ending.act, ended, *took),
                Err(reason) => self.hooks.refused(cx, &ending.act, reason),
            }
        }
    }
}

/// An ending that no store would take, such as a result of two megabytes, becomes a failure that says so.
fn mend(due: &mut Due) {
    if let Err(invalid) = due.ending.check() {
        let retry = Retry::Policy { chance: crate::chance::signed_unit() };
        due.ending.act = Act::Fail { error: format!("the handler's ending was refused: {invalid}"), retry };
        // Cuts the text, which is all that could be wrong with it now.
        let _ = due.ending.check();
    }
}

impl Report {
    fn count(&mut self, act: &Act, answer: &Result<Ended, LostReason>) {
        let counted = match (act, answer) {
            (_, Err(_)) => &mut self.refused,
            (Act::Complete { .. }, Ok(_)) => &mut self.completed,
            (_, Ok(Ended { status: Status::Failed, .. })) => &mut self.failed,
            (Act::Fail { .. }, Ok(_)) => &mut self.retried,
            (Act::Snooze { .. }, Ok(_)) => &mut self.snoozed,
            (Act::Release, Ok(_)) => &mut self.released,
        };
        *counted += 1;
    }
}
