//! What `tenure doctor` finds on a PostgreSQL.

use crate::PostgresStore;
use crate::connect::Way;
use crate::listen::Ear;
use crate::migrate::{self, Functions};
use crate::upkeep::first;
use crate::value::get;
use tenure_store::{Finding, Level, Result};
use tokio_postgres::Row;

/// From this age on a transaction holds back vacuum long enough for claims to feel the dead rows (C1).
const OLD_TRANSACTION_S: i64 = 60;
/// Dead rows that vacuum is expected to leave behind between two of its rounds.
const DEAD_ROWS: i64 = 100_000;

pub(crate) async fn examine(store: &PostgresStore) -> Result<Vec<Finding>> {
    let schema = store.database.schema();
    let sql = include_str!("../queries/store/examine.sql");
    let row = first(store.database.read(sql, &[&schema]).await?)?;
    let mut findings = vec![durability(&row)?, standbys(&row)?, server(&row)?, settings(&row)?];
    findings.push(functions(migrate::installed(&store.database).await?));
    findings.push(role(&row)?);
    findings.push(vacuum(&row)?);
    findings.push(held_back(&row)?);
    findings.push(connections(&row)?);
    findings.push(pooler(store).await?);
    findings.push(in_transit(store).await?);
    Ok(findings)
}

fn text(row: &Row, column: &str) -> Result<String> {
    get(row, column)
}

fn durability(row: &Row) -> Result<Finding> {
    let topic = "durability";
    let (fsync, pages, commit) =
        (text(row, "fsync")?, text(row, "full_page_writes")?, text(row, "synchronous_commit")?);
    let found = format!("fsync {fsync}, full_page_writes {pages}, synchronous_commit {commit}");
    Ok(if fsync == "off" {
        let advice = "set fsync = on: a crash of the machine can lose or damage everything, whatever was answered";
        Finding::advise(topic, Level::Wrong, found, advice)
    } else if pages == "off" {
        Finding::advise(topic, Level::Warning, found, "set full_page_writes = on: a torn page cannot be mended without")
    } else if commit == "off" {
        let advice = "nothing to do for Tenure, whose own writes wait for the disk; your other writes do not";
        Finding::advise(topic, Level::Note, found, advice)
    } else {
        Finding::fine(topic, found)
    })
}

fn standbys(row: &Row) -> Result<Finding> {
    let topic = "standbys";
    let (standbys, synchronous): (i32, i32) = (get(row, "standbys")?, get(row, "sync_standbys")?);
    let (names, commit) = (text(row, "standby_names")?, text(row, "synchronous_commit")?);
    let found = format!("{standbys} connected, {synchronous} of them synchronous");
    Ok(if names.is_empty() && standbys == 0 {
        let advice = "fine where losing this server means restoring a backup; else add a standby that is waited for \
                      (synchronous_standby_names = 'ANY 1 (*)')";
        Finding::advise(topic, Level::Note, "none", advice)
    } else if names.is_empty() {
        let advice = "set synchronous_standby_names: a failover to these standbys can lose what was answered";
        Finding::advise(topic, Level::Warning, found, advice)
    } else if synchronous == 0 {
        let advice = "no synchronous standby is connected: commits wait for one to come back";
        Finding::advise(topic, Level::Wrong, found, advice)
    } else if commit == "local" || commit == "off" {
        let advice = "your own writes do not wait for the standbys; Tenure's own do";
        Finding::advise(topic, Level::Note, found, advice)
    } else {
        Finding::fine(topic, found)
    })
}

fn server(row: &Row) -> Result<Finding> {
    let (version, schema): (String, i32) = (get(row, "version")?, get(row, "schema_version")?);
    let known = migrate::known();
    let found = format!("PostgreSQL {version}, schema version {schema} of {known}");
    let topic = "server";
    Ok(if get::<bool>(row, "in_recovery")? {
        let advice = "fine for looking at things; who works or enqueues names the primary, or all servers";
        Finding::advise(topic, Level::Warning, format!("{found}; a standby, which only reads"), advice)
    } else if text(row, "read_only")? == "on" {
        let advice =
            "this server only reads: name the primary, or all servers; or set default_transaction_read_only = off";
        Finding::advise(topic, Level::Wrong, found, advice)
    } else if get::<i32>(row, "version_num")? < 130_000 {
        Finding::advise(topic, Level::Warning, found, "upgrade: this PostgreSQL is no longer maintained")
    } else {
        Finding::fine(topic, found)
    })
}

/// They may have been replaced since this process began.
fn functions(found: Option<Functions>) -> Finding {
    let ours = Functions::known();
    let told = found.as_ref().map_or_else(|| "of an unknown Tenure".to_owned(), |found| format!("of Tenure {found}"));
    if found.as_ref() == Some(ours) {
        return Finding::fine("functions", told);
    }
    let advice = format!("end processes of other versions, then run `tenure migrate` of the latest; this is {ours}");
    Finding::advise("functions", Level::Wrong, told, advice)
}

/// As whom we are here, and what that role may do. Whoever got this far may call the verbs of workers.
fn role(row: &Row) -> Result<Finding> {
    let (role, login) = (text(row, "role")?, text(row, "login")?);
    let name = if role == login { role } else { format!("{role}, logged in as {login}") };
    let has = |column| get::<bool>(row, column);
    Ok(if has("superuser")? {
        let advice = "works; for programs, `tenure migrate --print-roles` sets up roles that can do less";
        Finding::advise("role", Level::Note, format!("{name}: a superuser, who may do everything"), advice)
    } else if has("owner")? {
        let advice = "works; programs that only work or enqueue need less (`tenure migrate --print-roles`)";
        Finding::advise("role", Level::Note, format!("{name}: owns the schema, and may do everything in it"), advice)
    } else if has("writes")? {
        Finding::fine("role", format!("{name}: may call every verb, and read and write every table"))
    } else if has("reads")? {
        Finding::fine("role", format!("{name}: may call the verbs of workers and read every table; may not operate"))
    } else {
        Finding::fine("role", format!("{name}: may call the verbs of workers, and no table; may not operate"))
    })
}

fn settings(row: &Row) -> Result<Finding> {
    let isolation = text(row, "isolation")?;
    let found = format!("default isolation {isolation}");
    Ok(if isolation == "read committed" {
        Finding::fine("isolation", found)
    } else {
        let advice = "works, at two more statements a call: `alter role … set default_transaction_isolation to \
                      'read committed'` for Tenure's role saves them";
        Finding::advise("isolation", Level::Note, found, advice)
    })
}

fn vacuum(row: &Row) -> Result<Finding> {
    let (dead, live): (i64, i64) = (get(row, "dead_rows")?, get(row, "live_rows")?);
    let on = text(row, "autovacuum")? == "on";
    let found = format!("autovacuum {}, {dead} dead rows beside {live} living", if on { "on" } else { "off" });
    Ok(if !on {
        Finding::advise("vacuum", Level::Wrong, found, "set autovacuum = on: dead rows slow every claim")
    } else if dead > DEAD_ROWS && dead > live {
        let advice = "see what holds vacuum back (below), or run `vacuum` on the schema";
        Finding::advise("vacuum", Level::Warning, found, advice)
    } else {
        Finding::fine("vacuum", found)
    })
}

fn held_back(row: &Row) -> Result<Finding> {
    let topic = "long transactions";
    if let Some(slot) = get::<Option<String>>(row, "stale_slot")? {
        let found = format!("the unused replication slot {slot} holds vacuum back");
        return Ok(Finding::advise(topic, Level::Warning, found, "drop it, or bring its standby back"));
    }
    if let Some(age) = get::<Option<i64>>(row, "prepared_age_s")?.filter(|age| *age > OLD_TRANSACTION_S) {
        let found = format!("a prepared transaction has been waiting for {age} s");
        return Ok(Finding::advise(topic, Level::Warning, found, "commit or roll it back (pg_prepared_xacts)"));
    }
    let age: Option<i64> = get(row, "oldest_age_s")?;
    Ok(match age {
        Some(age) if age > OLD_TRANSACTION_S => {
            let (pid, name): (Option<i32>, Option<String>) = (get(row, "oldest_pid")?, get(row, "oldest_name")?);
            let state: Option<String> = get(row, "oldest_state")?;
            let found = format!(
                "process {} ({}, {}) has had a transaction open for {age} s and holds vacuum back",
                pid.unwrap_or(0),
                name.filter(|name| !name.is_empty()).as_deref().unwrap_or("without a name"),
                state.as_deref().unwrap_or("state unknown"),
            );
            Finding::advise(topic, Level::Warning, found, "end it (pg_terminate_backend), and keep transactions short")
        }
        _ => Finding::fine(topic, "none older than a minute"),
    })
}

fn connections(row: &Row) -> Result<Finding> {
    let (used, max): (i32, i32) = (get(row, "connections")?, get(row, "connections_max")?);
    let found = format!("{used} of {max} in use");
    Ok(if i64::from(used) * 10 > i64::from(max) * 9 {
        let advice = "nearly all are taken: put a pooler in front, or lower connections_max in the store addresses";
        Finding::advise("connections", Level::Warning, found, advice)
    } else {
        Finding::fine("connections", found)
    })
}

/// Behind a pooler in transaction mode, a connection that does nothing has no process of its own on the server: another
/// one is given the same.
async fn pooler(store: &PostgresStore) -> Result<Finding> {
    let one = store.database.connection().await?;
    let other = store.database.connection().await?;
    let failed = |error| crate::error::of(error, false);
    let pid = "select pg_backend_pid() as pid";
    let idle: i32 = get(&first(one.query_typed(pid, &[]).await.map_err(failed)?)?, "pid")?;
    other.batch_execute("begin").await.map_err(failed)?;
    let busy = other.query_typed(pid, &[]).await.map_err(failed).and_then(first);
    other.batch_execute("rollback").await.map_err(failed)?;
    let busy: i32 = get(&busy?, "pid")?;
    Ok(if idle == busy {
        let advice = "works as it is; where wake-ups should arrive at once, name the server itself in listen_url (else \
                      waiting workers look once a second)";
        Finding::advise("pooler", Level::Note, "one in transaction mode", advice)
    } else {
        Finding::fine("pooler", "none, or in session mode")
    })
}

/// How both kinds of connections are protected on their way.
async fn in_transit(store: &PostgresStore) -> Result<Finding> {
    let topic = "in transit";
    let calls = store.database.connection().await?.way();
    let ear = store.listening.ear(store.database.timeout()).await;
    let wake_ups = match ear {
        Ear::Unwanted => "not listened for".to_owned(),
        Ear::Deaf => "no connection".to_owned(),
        Ear::Open(way) => way.to_string(),
    };
    let found = format!("calls: {calls}; wake-ups: {wake_ups}");
    Ok(if calls == Way::Clear || ear == Ear::Open(Way::Clear) {
        let advice = "passwords and payloads can be read and changed on their way: say sslmode=require";
        Finding::advise(topic, Level::Warning, found, advice)
    } else if ear == Ear::Deaf {
        let advice = "claims that wait look once a second meanwhile: see that the server, or what listen_url names, can \
                      be reached and is protected as the address asks";
        Finding::advise(topic, Level::Warning, found, advice)
    } else {
        Finding::fine(topic, found)
    })
}
