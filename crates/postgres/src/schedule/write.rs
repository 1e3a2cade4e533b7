//! Changes and firings.

use super::read;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{At, at, backoff_text, get, word};
use tenure_core::queue::JobId;
use tenure_core::schedule::{Fire, Fired, Put, Refused, Schedule, rules};
use tenure_store::{Result, StoreError};
use tokio_postgres::types::Type;

pub(super) async fn put(store: &PostgresStore, put: Put) -> Result<std::result::Result<Schedule, Refused>> {
    // If it is another revision by then, nothing is put.
    let before = match put.revision {
        Some(_) => read::schedule(store, &put.name).await?,
        None => None,
    };
    let changes = before.map_or_else(Vec::new, |before| before.definition.differences(&put.definition));
    let settings: Vec<&str> = changes.iter().map(|difference| difference.setting.as_str()).collect();
    let was: Vec<Option<&str>> = changes.iter().map(|difference| difference.from.as_deref()).collect();
    let became: Vec<Option<&str>> = changes.iter().map(|difference| difference.to.as_deref()).collect();
    let (definition, job) = (&put.definition, &put.definition.job);
    let (next_at, catch_up) = (put.next_at.map(At), definition.catch_up.as_str());
    let (attempts_max, timeout_ms) = (job.attempts_max as i32, job.timeout_ms.map(|ms| ms as i64));
    let backoff = job.backoff.map(backoff_text);
    let sql = "select tenure.put_schedule($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                                           $17, $18, $19, $20) as refusal";
    let row = first(
        store
            .database
            .write(
                sql,
                &[
                    (&put.name, Type::TEXT),
                    (&put.revision, Type::INT8),
                    (&next_at, Type::TIMESTAMPTZ),
                    (&definition.cron, Type::TEXT),
                    (&definition.zone, Type::TEXT),
                    (&catch_up, Type::TEXT),
                    (&definition.paused, Type::BOOL),
                    (&job.queue, Type::TEXT),
                    (&job.kind, Type::TEXT),
                    (&job.payload, Type::TEXT),
                    (&job.priority, Type::INT4),
                    (&attempts_max, Type::INT4),
                    (&timeout_ms, Type::INT8),
                    (&backoff, Type::TEXT),
                    (&job.ordering_key, Type::TEXT),
                    (&job.limit_key, Type::TEXT),
                    (&settings, Type::TEXT_ARRAY),
                    (&was, Type::TEXT_ARRAY),
                    (&became, Type::TEXT_ARRAY),
                    (&store.actor.as_str(), Type::TEXT),
                ],
            )
            .await?,
    )?;
    if let Some(refused) = word(&row, "refusal", Refused::parse)? {
        return Ok(Err(refused));
    }
    // Whoever removed it in between has changed it.
    Ok(read::schedule(store, &put.name).await?.ok_or(Refused::Changed))
}

pub(super) async fn remove(store: &PostgresStore, name: &str) -> Result<bool> {
    let sql = "select tenure.remove_schedule($1, $2) as there";
    let params = [(&name as _, Type::TEXT), (&store.actor.as_str() as _, Type::TEXT)];
    get(&first(store.database.write(sql, &params).await?)?, "there")
}

pub(super) async fn fire(store: &PostgresStore, fire: Fire) -> Result<std::result::Result<Fired, Refused>> {
    let slots: Vec<At> = fire.slots.iter().copied().map(At).collect();
    let (missed, missed_at) = (i64::from(fire.missed), fire.missed_at.map(At));
    let (next_at, kept) = (fire.next_at.map(At), rules::FIRINGS_KEPT as i32);
    let sql = "select refusal, at, jobs, queue from tenure.fire_schedule($1, $2, $3, $4, $5, $6, $7)";
    let row = first(
        store
            .database
            .write(
                sql,
                &[
                    (&fire.name, Type::TEXT),
                    (&fire.revision, Type::INT8),
                    (&slots, Type::TIMESTAMPTZ_ARRAY),
                    (&missed, Type::INT8),
                    (&missed_at, Type::TIMESTAMPTZ),
                    (&next_at, Type::TIMESTAMPTZ),
                    (&kept, Type::INT4),
                ],
            )
            .await?,
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
