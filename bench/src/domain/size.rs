//! What a domain costs, and what a call costs beside much of everything (D6).

use super::pairs::Stopwatch;
use super::place::{Backend, Place};
use super::{Settings, Table};
use crate::queue::server::Server;
use anyhow::{Context, Result, ensure};
use std::sync::Arc;
use tenure::domain::{Acquire, Acquired, Advance, Held};
use tenure::{Tenure, Token};

/// Waiting offsets of the long backlog.
const WAITING: u64 = 1_000_000;
/// The same in a database, where they are put in through the library, call by call.
const WAITING_IN_DATABASE: u64 = 100_000;
const CALL: usize = 1_000;

pub(super) async fn measure(
    settings: &Settings,
    backend: Backend,
    server: Option<&Server>,
    first: bool,
    table: &mut Table,
) -> Result<()> {
    let column = backend.to_string();
    let place = Place::make(backend, server).await?;
    let before = bytes(&place, backend).await?;
    let made = settings.domains;
    idle_domains(&place.tenure, made).await?;
    let each = bytes(&place, backend).await?.saturating_sub(before) as f64 / made as f64;
    if first || backend != Backend::Memory {
        table.add(&format!("an idle domain, one of {made}"), "B ↓", &column, each);
    }
    let short = one_domain(&place.tenure, backend, "short", 0).await?;
    table.add("advance in one domain, nothing waits", "µs ↓", &column, short);
    let waiting = if backend == Backend::Memory { WAITING } else { WAITING_IN_DATABASE };
    let long = one_domain(&place.tenure, backend, "long", waiting).await?;
    table.add(&format!("advance in one domain, {waiting} wait"), "µs ↓", &column, long);
    let ragged = ragged(&place.tenure, backend, waiting / 10).await?;
    table.add(&format!("advance in one domain, {} ranges ended", waiting / 10), "µs ↓", &column, ragged);
    place.remove().await
}

/// Domains that did one offset each, and have nothing to do.
async fn idle_domains(tenure: &Tenure, count: u64) -> Result<()> {
    let names: Vec<Arc<str>> = (0..count).map(|n| format!("customer-{n:012}").into()).collect();
    for call in names.chunks(CALL) {
        let acquires = call.iter().map(|name| Acquire::new(name.clone(), 1)).collect();
        let answers = tenure.verbs().domain_acquire_all(acquires).await?;
        let writes = call.iter().zip(answers).map(|(name, answer)| Ok(Held::new(name.clone(), token(answer.ok())?)));
        let done = tenure.verbs().domain_succeed_all(writes.collect::<Result<_>>()?).await?;
        ensure!(done.iter().all(Result::is_ok), "a succeed was refused");
    }
    Ok(())
}

/// The time of one advance in a domain where `waiting` offsets wait, or each offset is named.
async fn one_domain(tenure: &Tenure, backend: Backend, name: &str, waiting: u64) -> Result<f64> {
    let domain = tenure.domain(name);
    let mut held = token(Some(domain.try_acquire(0).await?.answer()))?;
    // Many of one domain in one call are asked one after the other: the calls are short.
    for first in (1..=waiting).step_by(CALL) {
        let last = (first + CALL as u64 - 1).min(waiting);
        let acquires = (first..=last).map(|offset| Acquire::new(name, offset)).collect();
        let answers = tenure.verbs().domain_acquire_all(acquires).await?;
        ensure!(answers.iter().all(|answer| matches!(answer, Ok(Acquired::Enqueued { .. }))), "one does not wait");
    }
    let advances = advances(backend);
    let began = Stopwatch::start(backend);
    for offset in 1..=advances {
        let advance = vec![Advance::new(name, held).next(offset)];
        let advanced = tenure.verbs().domain_advance_all(advance).await?.remove(0)?;
        held = token(advanced.next.context("nothing came next")?.1.ok())?;
    }
    Ok(began.seconds() * 1e6 / advances as f64)
}

/// The time of one advance in a domain whose ended offsets leave a hole after each.
async fn ragged(tenure: &Tenure, backend: Backend, ranges: u64) -> Result<f64> {
    let domain = tenure.domain("ragged");
    let mut held = token(Some(domain.try_acquire(0).await?.answer()))?;
    let advances = advances(backend);
    let mut began = Stopwatch::start(backend);
    for n in 1..=ranges + advances {
        if n == ranges + 1 {
            began = Stopwatch::start(backend);
        }
        let advanced = tenure.verbs().domain_advance(Advance::new("ragged", held).next(2 * n)).await?;
        held = token(advanced.next.context("nothing came next")?.1.ok())?;
    }
    Ok(began.seconds() * 1e6 / advances as f64)
}

/// Advances that are timed in one domain: in memory enough for a meter of hundredths of a second.
fn advances(backend: Backend) -> u64 {
    if backend == Backend::Memory { 500_000 } else { 1_000 }
}

/// Bytes in use: of the process, of the file with its log, of the tables with their indexes.
async fn bytes(place: &Place, backend: Backend) -> Result<u64> {
    match backend {
        Backend::Memory => {
            let status = std::fs::read_to_string("/proc/self/status").context("the size of this process")?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
            Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1_024)
        }
        Backend::Sqlite => {
            // Reads ask for the file as it is; the log is as large as its last checkpoint left it, so it is not counted.
            let folder = place.folder.as_ref().context("a folder")?.path();
            place.tenure.describe().await?;
            Ok(std::fs::metadata(folder.join("domains.db"))?.len())
        }
        Backend::Postgres => {
            let database = place.database.as_ref().context("a database")?;
            let (client, connection) = tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            let sql = "select pg_total_relation_size('tenure.domain')";
            Ok(client.query_one(sql, &[]).await?.get::<_, i64>(0) as u64)
        }
    }
}

fn token(acquired: Option<Acquired>) -> Result<Token> {
    match acquired {
        Some(Acquired::Acquired { token }) => Ok(token),
        other => anyhow::bail!("an offset was not acquired: {other:?}"),
    }
}
