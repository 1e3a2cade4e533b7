//! Workers: who was seen, where and for which kinds, and what each holds.

use crate::PostgresStore;
use crate::value::{at, get};
use std::collections::BTreeMap;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::queue::worker::{
    HOLDERS_SHOWN, KINDS_SHOWN, LATELY_MS, LEASES_COUNTED, QUEUES_SHOWN, WATCH_MAX, workers as page,
};
use tenure_core::queue::{Sighting, Watch, Worker};
use tenure_store::Result;

pub(super) async fn workers(store: &PostgresStore, after: Option<&str>, limit: u32) -> Result<Page<Worker>> {
    let (names, sightings) = (i64::from(limit) + 1, QUEUES_SHOWN as i64 + 1);
    let (kinds, leases) = (KINDS_SHOWN as i32, LEASES_COUNTED as i64 + 1);
    let rows = store
        .database
        .read(include_str!("../../queries/queue/workers.sql"), &[&after, &names, &sightings, &kinds, &leases])
        .await?;
    let mut seen = Vec::with_capacity(rows.len());
    let mut running = BTreeMap::new();
    let mut counted = 0;
    for row in &rows {
        let owner: String = get(row, "owner")?;
        running.insert(owner.clone(), get::<i64>(row, "running")?.max(0) as u64);
        counted = get::<i64>(row, "leases")?;
        seen.push(Sighting {
            owner,
            queue: get(row, "queue")?,
            kinds: get(row, "kinds")?,
            kinds_capped: get(row, "kinds_capped")?,
            first_seen_at: at(row, "first_seen_at")?,
            seen_at: at(row, "seen_at")?,
        });
    }
    Ok(page(seen, &running, counted > LEASES_COUNTED as i64, limit as usize))
}

/// Who looked for work of `kind` in `queue` lately; `last` is who was last seen there at all.
pub(super) async fn watch(
    store: &PostgresStore,
    queue: &str,
    kind: &str,
    last: Option<(String, Time)>,
) -> Result<Watch> {
    let (lately_ms, most, kinds) = (LATELY_MS as i64, WATCH_MAX as i64, HOLDERS_SHOWN as i32);
    let rows = store
        .database
        .read(include_str!("../../queries/queue/lately.sql"), &[&queue, &kind, &lately_ms, &most, &kinds])
        .await?;
    let lately = rows.iter().map(|row| Ok((get(row, "owner")?, get(row, "takes")?, get(row, "kinds")?)));
    Ok(Watch::of(lately.collect::<Result<Vec<_>>>()?, last))
}
