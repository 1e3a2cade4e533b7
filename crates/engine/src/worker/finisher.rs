//! Endings, gathered: what handlers finish while one write is under way goes into the next.
//!
//! Always true: an ending is sent until the store has answered it, or the lease is known to be gone. Sent twice, it is
//! answered as the first time (L12), so a connection lost in between does no harm.

use super::Report;
use super::context::Context;
use super::face::Face;
use super::outcome::Stop;
use super::run::Common;
use crate::heart::{Hold, Leases};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::LostReason;
use tenure_store::Fenced;
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
pub(super) struct Due<F: Face> {
    pub(super) ending: F::Ending,
    pub(super) key: <F::Unit as Leases>::Key,
    pub(super) part: <F::Unit as Leases>::Part,
    pub(super) hold: Arc<Hold>,
    /// `None` for a unit that was never begun.
    pub(super) cx: Option<Context<F::Unit>>,
    pub(super) took: Duration,
}

/// Where endings are left to be written.
pub(super) struct DropBox<F: Face> {
    due: UnboundedSender<Due<F>>,
    unsettled: Arc<AtomicUsize>,
}

impl<F: Face> DropBox<F> {
    /// Leaves an ending.
    pub(super) fn send(&self, due: Due<F>) {
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
    task: JoinHandle<()>,
}

impl Finisher {
    /// Begins, and gives the one place where endings are left.
    pub(super) fn start<F: Face>(common: Arc<Common<F>>, report: Arc<Mutex<Report>>) -> (Finisher, DropBox<F>) {
        let (due, to_write) = unbounded_channel();
        let unsettled = Arc::new(AtomicUsize::new(0));
        let writing = Writing { common, report, unsettled: unsettled.clone(), silent: AtomicBool::new(true) };
        (Finisher { task: tokio::spawn(writing.run(to_write)) }, DropBox { due, unsettled })
    }

    /// Writes what is left, and ends, once nobody can leave any more.
    pub(super) async fn close(mut self) {
        // It neither panics nor is it cancelled before this.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Finisher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Writing<F: Face> {
    common: Arc<Common<F>>,
    report: Arc<Mutex<Report>>,
    unsettled: Arc<AtomicUsize>,
    /// Nothing was said yet about a store that does not answer.
    silent: AtomicBool,
}

impl<F: Face> Writing<F> {
    async fn run(self, mut to_write: UnboundedReceiver<Due<F>>) {
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
    async fn write(&self, mut left: Vec<Due<F>>) {
        let around = self.common.terms.around();
        left.iter_mut().for_each(|due| mend(due, around.chance()));
        let mut failures = 0u32;
        while !left.is_empty() {
            let parts: Vec<Vec<Due<F>>> =
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
                gone.into_iter().for_each(|due| self.answered(due, Err(LostReason::Expired)));
            }
        }
    }

    /// Sends endings once; gives back what was not answered.
    async fn send(&self, endings: Vec<Due<F>>) -> Vec<Due<F>> {
        let Common { face, terms, hooks, .. } = &*self.common;
        terms.living().await;
        let finishing = face.finish(terms, endings.iter().map(|due| due.ending.clone()).collect());
        match terms.tenure.outage.watch("endings", finishing).await {
            Ok(answers) => {
                self.silent.store(true, Ordering::SeqCst);
                endings.into_iter().zip(answers).for_each(|(due, answer)| self.answered(due, answer));
                Vec::new()
            }
            Err(error) => {
                // Once for each outage, not for each try.
                if self.silent.swap(false, Ordering::SeqCst) {
                    hooks.store_away(&error.into());
                }
                endings
            }
        }
    }

    fn answered(&self, due: Due<F>, answer: Fenced<F::Ended>) {
        let Due { mut ending, key, part, cx, took, .. } = due;
        self.unsettled.fetch_sub(1, Ordering::SeqCst);
        F::count(&mut self.report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), &ending, &answer);
        let act = &*F::act_of(&mut ending);
        match &answer {
            Ok(ended) => tracing::debug!(unit = ?part, lease = ?key, ?ended, "ended"),
            Err(reason) => tracing::warn!(unit = ?part, lease = ?key, %reason, "an ending was refused"),
        }
        self.common.ended(key, part);
        if let Some(cx) = cx {
            match answer {
                Ok(ended) => self.common.hooks.ended(&cx, act, ended, took),
                Err(reason) => self.common.hooks.refused(&cx, act, reason),
            }
        }
    }
}

/// An ending that no store would take, such as a result of two megabytes, becomes a failure that says so.
fn mend<F: Face>(due: &mut Due<F>, chance: f64) {
    if let Err(invalid) = F::check(&mut due.ending) {
        let refused = Stop::from(format!("the handler's ending was refused: {invalid}"));
        let Some(act) = F::act(Err(refused), chance) else { return };
        *F::act_of(&mut due.ending) = act;
        // Cuts the text, which is all that could be wrong with it now.
        let _ = F::check(&mut due.ending);
    }
}
