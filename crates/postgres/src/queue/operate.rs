//! What operators do: settings and limits, cancel and retry, and the facts behind "why".

use super::EVERY_QUEUE;
use super::{read, worker};
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at_opt, get};
use tenure_core::queue::worker::HOLDERS_SHOWN;
use tenure_core::queue::{Action, Change, JobId, LaneOnFailure, Operation, QueueInfo, Refusal, Situation, Status};
use tenure_store::{Result, StoreError};

pub(super) async fn change(store: &PostgresStore, name: &str, change: Change) -> Result<QueueInfo> {
    let sent = [
        ("paused", change.paused.is_some()),
        ("max_running", change.max_running.is_some()),
        ("max_running_per_key", change.max_running_per_key.is_some()),
        ("lane_on_failure", change.lane_on_failure.is_some()),
        ("retention_ms", change.retention_ms.is_some()),
        ("rate_limit", change.rate_limit.is_some()),
        ("rate_limit_per_key", change.rate_limit_per_key.is_some()),
    ];
    let names: Vec<&str> = sent.iter().filter(|(_, sent)| *sent).map(|(name, _)| *name).collect();
    let limit = |max: Option<Option<u32>>| max.flatten().map(|max| max as i32);
    let (max_running, per_key) = (limit(change.max_running), limit(change.max_running_per_key));
    let lane_on_failure = change.lane_on_failure.flatten().map(LaneOnFailure::as_str);
    let retention_ms = change.retention_ms.flatten().map(|ms| ms as i64);
    let (rate, key_rate) = (change.rate_limit.flatten(), change.rate_limit_per_key.flatten());
    let (rate_max, key_rate_max) = (rate.map(|rate| rate.max as i32), key_rate.map(|rate| rate.max as i32));
    let (rate_period, key_rate_period) =
        (rate.map(|rate| rate.period_ms as i64), key_rate.map(|rate| rate.period_ms as i64));
    store
        .database
        .write(
            "select tenure.change_queue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            &[
                &name,
                &names,
                &change.paused,
                &max_running,
                &per_key,
                &lane_on_failure,
                &retention_ms,
                &rate_max,
                &rate_period,
                &key_rate_max,
                &key_rate_period,
                &store.actor.as_str(),
            ],
        )
        .await?;
    store.wake(vec![name]);
    read::queue(store, name).await?.ok_or_else(|| StoreError::broken("the queue that was just changed is gone"))
}

pub(super) async fn limit(store: &PostgresStore) -> Result<Option<u32>> {
    let row = first(store.database.read("select tenure.engine_limit() as max_running", &[]).await?)?;
    Ok(get::<Option<i32>>(&row, "max_running")?.map(|max| max as u32))
}

pub(super) async fn set_limit(store: &PostgresStore, max_running: Option<u32>) -> Result<()> {
    let max_running = max_running.map(|max| max as i32);
    let sql = "select tenure.set_limit($1, $2)";
    store.database.write(sql, &[&max_running, &store.actor.as_str()]).await?;
    store.wake(vec![EVERY_QUEUE]);
    Ok(())
}

pub(super) async fn operate(
    store: &PostgresStore,
    operations: Vec<Operation>,
) -> Result<Vec<std::result::Result<Status, Refusal>>> {
    let jobs: Vec<i64> = operations.iter().map(|operation| operation.job.0).collect();
    let actions: Vec<&str> = operations.iter().map(|operation| word(&operation.action)).collect();
    let reasons: Vec<Option<&str>> = operations.iter().map(|operation| reason(&operation.action)).collect();
    let by = store.actor.as_str();
    let sql = "select * from tenure.operate_all($1, $2, $3, $4)";
    let rows = store.database.write(sql, &[&jobs, &actions, &reasons, &by]).await?;
    let mut answers = Vec::with_capacity(operations.len());
    for (operation, row) in operations.iter().zip(&rows) {
        answers.push(match answer(row)? {
            // Many are not made to wait for one.
            Err(Refusal::Busy) if operations.len() == 1 => patiently(store, operation).await?,
            answer => answer,
        });
    }
    store.wake(vec![EVERY_QUEUE]);
    Ok(answers)
}

/// Carries out one operation on a job that another transaction has, and waits for it.
async fn patiently(store: &PostgresStore, operation: &Operation) -> Result<std::result::Result<Status, Refusal>> {
    let (action, reason) = (word(&operation.action), reason(&operation.action));
    let by = store.actor.as_str();
    let sql = "select * from tenure.operate_patiently($1, $2, $3, $4)";
    let row = first(store.database.write_patiently(sql, &[&operation.job.0, &action, &reason, &by]).await?)?;
    answer(&row)
}

/// What became of an operation.
fn answer(row: &tokio_postgres::Row) -> Result<std::result::Result<Status, Refusal>> {
    if let Some(word) = get::<Option<&str>>(row, "refusal")? {
        let refusal = Refusal::parse(word).ok_or_else(|| StoreError::broken(format!("refusal `{word}`")))?;
        return Ok(Err(refusal));
    }
    let word: &str = get(row, "status")?;
    let status = Status::parse(word).ok_or_else(|| StoreError::broken(format!("status `{word}`")))?;
    Ok(Ok(status))
}

fn word(action: &Action) -> &'static str {
    match action {
        Action::Cancel { force: false, .. } => "cancel",
        Action::Cancel { force: true, .. } => "force",
        Action::Retry => "retry",
    }
}

fn reason(action: &Action) -> Option<&str> {
    match action {
        Action::Cancel { reason, .. } => reason.as_deref(),
        Action::Retry => None,
    }
}

pub(super) async fn situation(store: &PostgresStore, id: JobId) -> Result<Option<Situation>> {
    let Some(job) = read::job(store, id).await? else { return Ok(None) };
    let names = HOLDERS_SHOWN as i64;
    let rows = store
        .database
        .read(
            include_str!("../../queries/queue/situation.sql"),
            &[&job.queue, &job.limit_key, &job.ordering_key, &names],
        )
        .await?;
    let facts = first(rows)?;
    let info = read::queue(store, &job.queue).await?.ok_or_else(|| StoreError::broken("a job of no queue"))?;
    let head = get::<Option<i64>>(&facts, "head")?.map(JobId).filter(|head| *head != id);
    let ahead = match head {
        Some(head) => read::job(store, head).await?.map(Box::new),
        None => None,
    };
    let last = get::<Option<String>>(&facts, "last_owner")?.zip(at_opt(&facts, "last_seen_at")?);
    Ok(Some(Situation {
        settings: info.settings,
        running: get::<i32>(&facts, "running")? as u64,
        engine_max: get::<Option<i32>>(&facts, "engine_max")?.map(|max| max as u32),
        engine_running: get::<i32>(&facts, "engine_running")? as u64,
        key_running: get::<i32>(&facts, "key_running")? as u64,
        ahead,
        lane_blocked_by: get::<Option<i64>>(&facts, "blocked_by")?.map(JobId),
        holders: get(&facts, "holders")?,
        engine_holders: get(&facts, "engine_holders")?,
        spent_until: at_opt(&facts, "spent_until")?,
        key_spent_until: at_opt(&facts, "key_spent_until")?,
        watch: worker::watch(store, &job.queue, &job.kind, last).await?,
        job,
    }))
}
