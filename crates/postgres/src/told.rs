//! What a process that ends has told the others: the listener sends it a moment later, and may not live to do so.
//!
//! Always true: a hint only, as all wake-ups are; sent twice it is heard twice, which costs a look.

use crate::PostgresStore;
use crate::queue::EVERY_QUEUE;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tenure_store::Result;

/// Of more queues than this nothing is told but that any may have work.
const TOLD_MAX: usize = 1_000;

/// Queues that were rung since the store was opened, or last flushed.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<BTreeSet<String>>);

impl Told {
    pub(crate) fn tell(&self, queue: &str) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.contains(queue) || told.contains(EVERY_QUEUE) {
            return;
        }
        if told.len() >= TOLD_MAX || queue == EVERY_QUEUE {
            told.clear();
            told.insert(EVERY_QUEUE.to_owned());
        } else {
            told.insert(queue.to_owned());
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}

impl PostgresStore {
    /// Tells the other processes now, over a connection of the pool, of every queue this one has rung.
    pub(crate) async fn flush_told(&self) -> Result<()> {
        let queues = self.told.take();
        if queues.is_empty() {
            return Ok(());
        }
        let channel = format!("{}_wake", self.database.schema());
        let sql = "select pg_notify($1, q) from unnest($2::text[]) as q";
        self.database.write(sql, &[&channel, &queues]).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_queues_are_told_as_any() {
        let told = Told::default();
        told.tell("a");
        told.tell("a");
        assert_eq!(told.take(), ["a"]);
        assert!(told.take().is_empty());
        (0..=TOLD_MAX).for_each(|n| told.tell(&format!("q{n}")));
        told.tell("b");
        assert_eq!(told.take(), [EVERY_QUEUE]);
    }
}
