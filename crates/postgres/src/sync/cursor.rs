//! Where this process last found a fresh chunk of each sync.
//!
//! Chunks leave the front of the plan, and until they are vacuumed away an index scan from the front walks over their
//! dead entries. A claim therefore starts where the last one ended. It is a hint: the database takes a full look before
//! it says that nothing is left, and what comes back stands in another index.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tenure_core::sync::SyncId;

/// Syncs remembered at once; beyond it all are forgotten, and found again by a full look.
const SYNCS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct ChunkCursors(Mutex<HashMap<SyncId, i64>>);

impl ChunkCursors {
    /// The place behind which to look.
    pub(super) fn after(&self, sync: SyncId) -> i64 {
        // A little back: claims side by side may have passed over a chunk that another then gave up.
        const BACK: i64 = 32;
        let cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cursors.get(&sync).map_or(0, |ord| (ord - BACK).max(0))
    }

    /// A fresh chunk was found at this place; nothing more is left once it is `None`.
    pub(super) fn found(&self, sync: SyncId, ord: Option<i64>) {
        let mut cursors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ord {
            None => {
                cursors.remove(&sync);
            }
            Some(ord) => {
                if cursors.len() >= SYNCS_MAX {
                    cursors.clear();
                }
                let at = cursors.entry(sync).or_insert(ord);
                *at = ord.max(*at);
            }
        }
    }
}
