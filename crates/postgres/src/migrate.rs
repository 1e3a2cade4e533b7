//! The schema: numbered migrations that never change once released, and the functions of this version.
//!
//! One migrator wins: they take turns under a lock, and whoever comes second finds nothing left to do. Everything
//! happens in one transaction, so a failed migration leaves the old schema as it was.

use crate::error;
use crate::pool::Database;
use crate::value::get;
use tenure_store::{Result, StoreError};
use tokio_postgres::types::Type;

const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_queue", include_str!("../migrations/0001_queue.sql")),
    ("0002_schedule", include_str!("../migrations/0002_schedule.sql")),
    ("0003_domain", include_str!("../migrations/0003_domain.sql")),
    ("0004_sync", include_str!("../migrations/0004_sync.sql")),
    ("0005_pipeline", include_str!("../migrations/0005_pipeline.sql")),
];

/// In an order in which each finds what it names.
const FUNCTIONS: &[&str] = &[
    include_str!("../functions/queue/time.sql"),
    include_str!("../functions/queue/durably.sql"),
    include_str!("../functions/queue/epoch.sql"),
    include_str!("../functions/queue/attempt.sql"),
    include_str!("../functions/queue/receipt.sql"),
    include_str!("../functions/queue/dedup.sql"),
    include_str!("../functions/queue/gates.sql"),
    include_str!("../functions/queue/recover.sql"),
    include_str!("../functions/queue/judge.sql"),
    include_str!("../functions/queue/next_change.sql"),
    include_str!("../functions/queue/enqueue.sql"),
    include_str!("../functions/queue/see.sql"),
    include_str!("../functions/queue/claim.sql"),
    include_str!("../functions/queue/start.sql"),
    include_str!("../functions/queue/heartbeat.sql"),
    include_str!("../functions/queue/finish.sql"),
    include_str!("../functions/queue/operate.sql"),
    include_str!("../functions/queue/change.sql"),
    include_str!("../functions/queue/look.sql"),
    include_str!("../functions/queue/json.sql"),
    include_str!("../functions/queue/sql.sql"),
    include_str!("../functions/domain/books.sql"),
    include_str!("../functions/domain/one.sql"),
    include_str!("../functions/domain/acquire.sql"),
    include_str!("../functions/domain/succeed.sql"),
    include_str!("../functions/domain/heartbeat.sql"),
    include_str!("../functions/domain/recover.sql"),
    include_str!("../functions/sync/common.sql"),
    include_str!("../functions/sync/plan.sql"),
    include_str!("../functions/sync/ends.sql"),
    include_str!("../functions/sync/claim.sql"),
    include_str!("../functions/sync/finish.sql"),
    include_str!("../functions/sync/sql.sql"),
    include_str!("../functions/schedule/put.sql"),
    include_str!("../functions/schedule/fire.sql"),
    include_str!("../functions/pipeline/unit.sql"),
    include_str!("../functions/pipeline/reset.sql"),
    include_str!("../functions/pipeline/recover.sql"),
    include_str!("../functions/pipeline/claim.sql"),
    include_str!("../functions/pipeline/heartbeat.sql"),
    include_str!("../functions/pipeline/heartbeats.sql"),
    include_str!("../functions/pipeline/finish.sql"),
    include_str!("../functions/pipeline/advance.sql"),
    include_str!("../functions/pipeline/operate.sql"),
];

/// The version this crate knows.
pub(crate) fn known() -> i64 {
    MIGRATIONS.len() as i64
}

/// Creates the schema in an empty database; upgrades an older one only if asked to; refuses a newer one.
pub(crate) async fn prepare(database: &Database, upgrade: bool) -> Result<()> {
    match found(database).await? {
        Some(found) if found > known() => Err(StoreError::SchemaNewer { found, known: known() }),
        Some(found) if found == known() => Ok(()),
        Some(found) if !upgrade => Err(StoreError::SchemaOlder { found, known: known() }),
        Some(_) | None => migrate(database).await,
    }
}

async fn found(database: &Database) -> Result<Option<i64>> {
    let schema = database.schema();
    let sql = "select to_regclass($1 || '.migration') is not null as there";
    let rows = database.read(sql, &[(&schema, Type::TEXT)]).await?;
    if !rows.first().map(|row| get::<bool>(row, "there")).transpose()?.unwrap_or(false) {
        return Ok(None);
    }
    let rows = database.read("select coalesce(max(version), 0)::bigint as version from tenure.migration", &[]).await?;
    rows.first().map(|row| get(row, "version")).transpose()
}

async fn migrate(database: &Database) -> Result<()> {
    let mut connection = database.connection().await?;
    let failed = |error| error::of(error, true);
    let schema = database.schema();
    let transaction = connection.transaction().await.map_err(failed)?;
    // Not to stand in the way of work for long: rather fail and be run again (C18).
    transaction.batch_execute("set local lock_timeout = '5s'").await.map_err(failed)?;
    let turn = "select pg_advisory_xact_lock(hashtextextended('tenure migration ' || $1, 0))";
    transaction.query_typed(turn, &[(&schema, Type::TEXT)]).await.map_err(failed)?;
    // The schema's name was checked to be a plain identifier.
    let begin = format!(
        "create schema if not exists {schema};
         create table if not exists {schema}.migration (
             version integer primary key, name text not null, applied_at timestamptz not null default now())"
    );
    transaction.batch_execute(&begin).await.map_err(failed)?;
    let last = database.localized("select coalesce(max(version), 0)::bigint as version from tenure.migration");
    let row = transaction.query_typed(&last, &[]).await.map_err(failed)?;
    let done: i64 = row.first().map(|row| get(row, "version")).transpose()?.unwrap_or(0);
    // Another was first, and has laid out the functions too: whoever waits for a turn should not wait for long.
    if done == known() {
        return transaction.commit().await.map_err(failed);
    }
    for (version, (name, sql)) in (1i64..).zip(MIGRATIONS).skip(done as usize) {
        transaction.batch_execute(&database.localized(sql)).await.map_err(failed)?;
        let note = database.localized("insert into tenure.migration (version, name) values ($1, $2)");
        let version = version as i32;
        transaction.query_typed(&note, &[(&version, Type::INT4), (name, Type::TEXT)]).await.map_err(failed)?;
    }
    for sql in FUNCTIONS {
        transaction.batch_execute(&database.localized(sql)).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}
