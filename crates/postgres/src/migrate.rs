//! The schema: numbered migrations that never change once released, and the functions of this version.
//!
//! One migrator wins: they take turns under a lock, and whoever comes second finds nothing left to do. Everything
//! happens in one transaction, so a failed migration leaves the old schema as it was.
//!
//! Whoever migrates is often a superuser, so nothing that others could have planted is run: see [`trust`].

use crate::error;
use crate::pool::{Database, typed};
use crate::trust::{self, Place};
use crate::upkeep::first;
use crate::value::get;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::OnceLock;
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_queue", include_str!("../migrations/0001_queue.sql")),
    ("0002_schedule", include_str!("../migrations/0002_schedule.sql")),
    ("0003_domain", include_str!("../migrations/0003_domain.sql")),
    ("0004_sync", include_str!("../migrations/0004_sync.sql")),
    ("0005_pipeline", include_str!("../migrations/0005_pipeline.sql")),
];

/// In an order in which each finds what it names.
const FUNCTIONS: &[&str] = &[
    include_str!("../functions/queue/common.sql"),
    include_str!("../functions/queue/changes.sql"),
    include_str!("../functions/lease/epoch.sql"),
    include_str!("../functions/lease/judge.sql"),
    include_str!("../functions/queue/attempt.sql"),
    include_str!("../functions/queue/receipt.sql"),
    include_str!("../functions/queue/dedup.sql"),
    include_str!("../functions/queue/gates.sql"),
    include_str!("../functions/queue/recover.sql"),
    include_str!("../functions/queue/judge.sql"),
    include_str!("../functions/queue/next_change.sql"),
    include_str!("../functions/queue/enqueue.sql"),
    include_str!("../functions/queue/see.sql"),
    include_str!("../functions/queue/ready.sql"),
    include_str!("../functions/queue/claim.sql"),
    include_str!("../functions/queue/start.sql"),
    include_str!("../functions/queue/heartbeat.sql"),
    include_str!("../functions/queue/finish.sql"),
    include_str!("../functions/queue/operate.sql"),
    include_str!("../functions/queue/change.sql"),
    include_str!("../functions/queue/json.sql"),
    include_str!("../functions/queue/read.sql"),
    include_str!("../functions/queue/in_transaction.sql"),
    include_str!("../functions/domain/books.sql"),
    include_str!("../functions/domain/unit.sql"),
    include_str!("../functions/domain/claim.sql"),
    include_str!("../functions/domain/finish.sql"),
    include_str!("../functions/domain/heartbeat.sql"),
    include_str!("../functions/domain/operate.sql"),
    include_str!("../functions/domain/read.sql"),
    include_str!("../functions/sync/unit.sql"),
    include_str!("../functions/sync/plan.sql"),
    include_str!("../functions/sync/operate.sql"),
    include_str!("../functions/sync/claim.sql"),
    include_str!("../functions/sync/finish.sql"),
    include_str!("../functions/sync/in_transaction.sql"),
    include_str!("../functions/sync/read.sql"),
    include_str!("../functions/schedule/put.sql"),
    include_str!("../functions/schedule/fire.sql"),
    include_str!("../functions/pipeline/unit.sql"),
    include_str!("../functions/pipeline/recover.sql"),
    include_str!("../functions/pipeline/claim.sql"),
    include_str!("../functions/pipeline/heartbeat.sql"),
    include_str!("../functions/pipeline/finish.sql"),
    include_str!("../functions/pipeline/advance.sql"),
    include_str!("../functions/pipeline/operate.sql"),
    include_str!("../functions/pipeline/read.sql"),
];

/// The version this crate knows.
pub(crate) fn known() -> i64 {
    MIGRATIONS.len() as i64
}

/// Which release laid out the functions, and what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Functions {
    release: String,
    digest: String,
}

impl Functions {
    /// Those of this crate.
    pub(crate) fn known() -> &'static Functions {
        static KNOWN: OnceLock<Functions> = OnceLock::new();
        KNOWN.get_or_init(|| {
            let mut digest = Sha256::new();
            FUNCTIONS.iter().for_each(|sql| digest.update(sql));
            let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            Functions { release: env!("CARGO_PKG_VERSION").to_owned(), digest }
        })
    }

    fn of(row: &Row) -> Result<Functions> {
        Ok(Functions { release: get(row, "release")?, digest: get(row, "digest")? })
    }

    /// Whether a later release than `other` laid them out. Two builds of one release are of no order.
    fn newer_than(&self, other: &Functions) -> bool {
        let numbers =
            |of: &Functions| of.release.split(['.', '-', '+']).map_while(|n| n.parse().ok()).collect::<Vec<u32>>();
        numbers(self) > numbers(other)
    }
}

impl fmt::Display for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.release, self.digest.get(..8).unwrap_or(&self.digest))
    }
}

/// What a database has: the last migration, and whose functions.
struct Found {
    version: i64,
    functions: Option<Functions>,
}

/// What may be done about a schema that is not the one of this version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct May {
    /// Make one where there is none.
    pub(crate) create: bool,
    /// Bring an older one to this version.
    pub(crate) upgrade: bool,
}

/// Creates the schema in an empty database and upgrades an older one, each only if it may; refuses a newer one.
///
/// Functions change without a migration too, and others than its own are a schema of another version: refused until they
/// are installed on request. An earlier release never installs its own in the place of a later one's, so two releases
/// side by side do not undo each other's work: the later stays, and processes of the earlier are refused when they
/// begin anew.
pub(crate) async fn prepare(database: &Database, may: May) -> Result<()> {
    match found(database).await? {
        Some(found) => match judge(&found)? {
            Fit::Same => Ok(()),
            Fit::Older(refusal) if !may.upgrade => Err(refusal),
            Fit::Older(_) => migrate(database).await,
        },
        None if !may.create => Err(absent(database).await?),
        None => migrate(database).await,
    }
}

/// That the database has no store.
async fn absent(database: &Database) -> Result<StoreError> {
    let row = first(database.read("select current_database()::text as name", &[]).await?)?;
    let (name, schema): (String, _) = (get(&row, "name")?, database.schema());
    Ok(StoreError::Absent { place: format!("database {name} (it has none in its schema {schema})") })
}

enum Fit {
    Same,
    /// How it is refused by whoever was not asked to upgrade.
    Older(StoreError),
}

/// What this crate may do with it; an error if nothing.
fn judge(found: &Found) -> Result<Fit> {
    let (version, ours) = (known(), Functions::known());
    if found.version > version {
        return Err(StoreError::SchemaNewer { found: found.version, known: version });
    }
    if found.version < version {
        return Ok(Fit::Older(StoreError::SchemaOlder { found: found.version, known: version }));
    }
    match &found.functions {
        Some(theirs) if theirs.digest == ours.digest => Ok(Fit::Same),
        Some(theirs) if theirs.newer_than(ours) => {
            Err(StoreError::FunctionsNewer { found: theirs.to_string(), known: ours.to_string() })
        }
        theirs => {
            let found = theirs.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            Ok(Fit::Older(StoreError::FunctionsDiffer { found, known: ours.to_string() }))
        }
    }
}

const VERSION: &str = "select coalesce(max(version), 0)::bigint as version from tenure.migration";
const INSTALLED: &str =
    "select release, case when exists (select from unnest(names) as n(name) where to_regprocedure(n.name) is null)
                          then 'in parts' else digest end as digest
       from tenure.functions";

/// The same for whoever may read no table.
const TOLD: &str = "select version, release, digest from tenure.installed()";

async fn found(database: &Database) -> Result<Option<Found>> {
    if let Place::Empty = trust::look(database).await? {
        return Ok(None);
    }
    let schema = database.schema();
    let sql = "select to_regclass($1 || '.migration') is not null as there,
                      to_regclass($1 || '.functions') is not null as listed,
                      to_regprocedure($1 || '.installed()') is not null as tells";
    let row = first(database.read(sql, &[&schema]).await?)?;
    if !get::<bool>(&row, "there")? {
        return Ok(None);
    }
    if get(&row, "tells")? {
        let row = first(database.read(TOLD, &[]).await?)?;
        let functions = get::<Option<String>>(&row, "release")?.zip(get::<Option<String>>(&row, "digest")?);
        let functions = functions.map(|(release, digest)| Functions { release, digest });
        return Ok(Some(Found { version: get(&row, "version")?, functions }));
    }
    let version = get(&first(database.read(VERSION, &[]).await?)?, "version")?;
    let functions = match get(&row, "listed")? {
        true => database.read(INSTALLED, &[]).await?.first().map(Functions::of).transpose()?,
        false => None,
    };
    Ok(Some(Found { version, functions }))
}

/// The functions that a database has now, if it says so.
pub(crate) async fn installed(database: &Database) -> Result<Option<Functions>> {
    Ok(found(database).await?.and_then(|found| found.functions))
}

async fn migrate(database: &Database) -> Result<()> {
    match attempt(database, false).await {
        // A function with the same arguments answers otherwise now, and cannot be replaced. Rare, and not the first
        // choice: what others made of a function would be in the way.
        Err(Met::Driver(met)) if met.code() == Some(&SqlState::INVALID_FUNCTION_DEFINITION) => {
            attempt(database, true).await
        }
        done => done,
    }
    .map_err(|met| match met {
        Met::Driver(met) => error::of(met, true),
        Met::Store(met) => met,
    })
}

/// What stopped a migration.
enum Met {
    Driver(tokio_postgres::Error),
    Store(StoreError),
}

impl From<tokio_postgres::Error> for Met {
    fn from(met: tokio_postgres::Error) -> Met {
        Met::Driver(met)
    }
}

impl From<StoreError> for Met {
    fn from(met: StoreError) -> Met {
        Met::Store(met)
    }
}

async fn attempt(database: &Database, drop_first: bool) -> std::result::Result<(), Met> {
    let mut connection = database.connection().await?;
    let schema = database.schema();
    let transaction = connection.transaction().await?;
    // Not to stand in the way of work for long: rather fail and be run again (C18).
    transaction.batch_execute("set local lock_timeout = '5s'").await?;
    transaction.batch_execute(trust::SAFE_PATH).await?;
    let turn = "select pg_advisory_xact_lock(hashtextextended('tenure migration ' || $1, 0))";
    transaction.query_typed(turn, &typed(&[&schema])).await?;
    // The names of schema and role were checked to be plain identifiers.
    match trust::check(&transaction, schema, true).await? {
        // Plainly: one that somebody else makes at this moment is not ours.
        Place::Empty => transaction.batch_execute(&format!("create schema {schema}")).await?,
        // What it makes belongs to the owner, as all the rest does, and has the rights that were set up for it.
        Place::Schema { of_owner: Some(owner) } => {
            transaction.batch_execute(&format!("set local role {owner}")).await?;
        }
        Place::Schema { of_owner: None } => {}
    }
    let begin = format!(
        "create table if not exists {schema}.migration (
             version integer primary key, name text not null, applied_at timestamptz not null default now());
         create table if not exists {schema}.functions (
             only_row boolean primary key default true check (only_row), release text not null, digest text not null,
             names text[] not null default '{{}}', installed_at timestamptz not null default now());
         lock table {schema}.migration, {schema}.functions in share row exclusive mode"
    );
    transaction.batch_execute(&begin).await?;
    // Once more, now that nobody can make these two, or hang anything on them, in between.
    trust::check(&transaction, schema, true).await?;
    let version = first(transaction.query_typed(&database.localized(VERSION), &[]).await?)?;
    let functions = transaction.query_typed(&database.localized(INSTALLED), &[]).await?;
    let functions = functions.first().map(Functions::of).transpose()?;
    let found = Found { version: get(&version, "version")?, functions };
    // Another was first, and has laid out the functions too: whoever waits for a turn should not wait for long.
    if let Fit::Same = judge(&found)? {
        return Ok(transaction.commit().await?);
    }
    for (version, (name, sql)) in (1i64..).zip(MIGRATIONS).skip(found.version as usize) {
        transaction.batch_execute(&database.localized(sql)).await?;
        let note = database.localized("insert into tenure.migration (version, name) values ($1, $2)");
        let version = version as i32;
        transaction.query_typed(&note, &typed(&[&version, name])).await?;
    }
    if drop_first {
        let drop = database.localized(include_str!("../queries/store/drop_functions.sql"));
        transaction.batch_execute(&drop).await?;
    }
    for sql in FUNCTIONS {
        transaction.batch_execute(&database.localized(sql)).await?;
    }
    // Before any token is drawn: of two copies of a store that never drew one, each would draw the first (L2).
    let here = "insert into tenure.epoch select h.* from tenure.epoch_here() h on conflict do nothing";
    transaction.batch_execute(&database.localized(here)).await?;
    let ours = Functions::known();
    let note = "insert into tenure.functions (release, digest) values ($1, $2)
                on conflict (only_row) do update
                   set release = excluded.release, digest = excluded.digest, installed_at = now()";
    transaction.query_typed(&database.localized(note), &typed(&[&ours.release, &ours.digest])).await?;
    let settle = database.localized(include_str!("../queries/store/settle_functions.sql"));
    transaction.batch_execute(&settle).await?;
    // What somebody made meanwhile under a name of ours was replaced, and would still be theirs.
    trust::check(&transaction, schema, true).await?;
    Ok(transaction.commit().await?)
}
