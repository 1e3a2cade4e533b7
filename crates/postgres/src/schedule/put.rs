//! Changes of definitions.

use super::read;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{At, backoff_text, get, word};
use tenure_core::schedule::{Put, Refused, Schedule};
use tenure_store::Result;

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
                    &put.name,
                    &put.revision,
                    &next_at,
                    &definition.cron,
                    &definition.zone,
                    &catch_up,
                    &definition.paused,
                    &job.queue,
                    &job.kind,
                    &job.payload,
                    &job.priority,
                    &attempts_max,
                    &timeout_ms,
                    &backoff,
                    &job.ordering_key,
                    &job.limit_key,
                    &settings,
                    &was,
                    &became,
                    &store.actor.as_str(),
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
    get(&first(store.database.write(sql, &[&name, &store.actor.as_str()]).await?)?, "there")
}
