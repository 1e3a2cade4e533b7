//! Wake-ups: hints that a queue may have work.
//!
//! Always true: a lost hint costs time, never correctness; a waiter that fell behind is woken rather than skipped.

use std::sync::Arc;
use tokio::sync::broadcast;

/// Rings whoever waits for work of a queue.
#[derive(Clone, Debug)]
pub struct Signals(broadcast::Sender<Option<Arc<str>>>);

impl Default for Signals {
    fn default() -> Self {
        // A waiter further behind than this is told "something changed" instead of what.
        Signals(broadcast::channel(256).0)
    }
}

impl Signals {
    /// `queue` may have work.
    pub fn ring(&self, queue: &str) {
        if self.waited_for() {
            // An error means that the last waiter has just left.
            let _ = self.0.send(Some(queue.into()));
        }
    }

    /// Any queue may have work.
    pub fn ring_all(&self) {
        if self.waited_for() {
            let _ = self.0.send(None);
        }
    }

    /// Whether anyone listens; a backend need not look for changes while nobody does.
    #[must_use]
    pub fn waited_for(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Listens from now on for `queues`.
    #[must_use]
    pub fn listen(&self, queues: Vec<String>) -> Listener {
        Listener { queues, heard: self.0.subscribe() }
    }
}

/// Someone who waits for work of some queues.
#[derive(Debug)]
pub struct Listener {
    queues: Vec<String>,
    heard: broadcast::Receiver<Option<Arc<str>>>,
}

impl Listener {
    /// Returns when one of the queues may have work, for all that was rung since listening began.
    pub async fn woken(&mut self) {
        loop {
            match self.heard.recv().await {
                Ok(Some(queue)) if !self.queues.iter().any(|q| **q == *queue) => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                // The store is gone; the caller's own deadline ends the wait.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}
