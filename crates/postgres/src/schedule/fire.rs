//! Firings.

use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{At, at, get, word};
use tenure_core::queue::JobId;
use tenure_core::schedule::{Fire, Fired, Refused, rules};
use tenure_store::{Result, StoreError};

pub(super) async fn fire(store: &PostgresStore, fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
    let slots: Vec<At> = fire.slots.iter().copied().map(At).collect();
    let (missed, missed_at) = (i64::from(fire.missed), fire.missed_at.map(At));
    let (next_at, kept) = (fire.next_at.map(At), rules::FIRINGS_KEPT as i32);
    let sql = "select refusal, at, jobs, queue from tenure.fire_schedule($1, $2, $3, $4, $5, $6, $7)";
    let row = first(
        store.database.write(sql, &[&fire.name, &fire.revision, &slots, &missed, &missed_at, &next_at, &kept]).await?,
    )?;
    if let Some(refused) = word(&row, "refusal", Refused::parse)? {
        return Ok(Err(refused));
    }
    let jobs: Vec<JobId> = get::<Vec<i64>>(&row, "jobs")?.into_iter().map(JobId).collect();
    if jobs.len() != slots.len() {
        return Err(StoreError::broken("a firing answered another number of jobs"));
    }
    if !jobs.is_empty() {
        store.wake(vec![get(&row, "queue")?]);
    }
    Ok(Ok(Fired { at: at(&row, "at")?, jobs }))
}
