//! Named points of a handler, at which a test can stop its worker.

use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::{Notify, watch};

/// What happens to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on.
    Lives,
    /// It stands still: nothing is renewed, nothing is written.
    Frozen,
    /// It is gone, as by SIGKILL.
    Killed,
}

/// The points at which one worker is stopped.
#[derive(Debug)]
pub(crate) struct Points {
    planned: Mutex<HashMap<String, Fate>>,
    fate: watch::Sender<Fate>,
    reached: Notify,
}

impl Default for Points {
    fn default() -> Points {
        Points { planned: Mutex::default(), fate: watch::channel(Fate::Lives).0, reached: Notify::new() }
    }
}

impl Points {
    /// Whoever comes by `point` next meets this fate, once.
    pub(crate) fn plan(&self, point: &str, fate: Fate) {
        self.planned.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(point.to_owned(), fate);
    }

    /// A handler came by.
    pub(crate) async fn reached(&self, point: &str) {
        let planned = self.planned.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(point);
        if let Some(fate) = planned {
            self.fate.send_replace(fate);
            self.reached.notify_one();
        }
        self.living().await;
    }

    /// Returns when a planned point was reached.
    pub(crate) async fn met(&self) {
        self.reached.notified().await;
    }

    /// A frozen worker goes on.
    pub(crate) fn thaw(&self) {
        self.fate.send_if_modified(|fate| std::mem::replace(fate, Fate::Lives) == Fate::Frozen);
    }

    /// Returns while or as soon as the worker lives; never, if it was killed.
    pub(crate) async fn living(&self) {
        self.until(|fate| fate == Fate::Lives).await;
    }

    /// Returns when the worker is killed.
    pub(crate) async fn killed(&self) {
        self.until(|fate| fate == Fate::Killed).await;
    }

    async fn until(&self, is: impl Fn(Fate) -> bool) {
        let mut fate = self.fate.subscribe();
        if fate.wait_for(|fate| is(*fate)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
