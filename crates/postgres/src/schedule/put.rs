//! Changes of definitions.

use super::read;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{At, backoff_text, get, word};
use tenure_core::schedule::{Put, Refused, Schedule};
use tenure_store::Result;
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
