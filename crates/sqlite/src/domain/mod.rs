//! The verbs of domains. Each is one step inside a transaction that was begun before: the row is read, [core's
//! rules](tenure_core::domain::rules) decide, asking the tables for what is not on it, and what changed is written.

mod books;
mod read;
mod row;

use crate::SqliteStore;
use crate::changes;
use crate::column::all;
use crate::fault::Done;
use crate::inbox::{Lane, Step};
use crate::savepoint::apart;
use crate::sql;
use crate::tokens;
use async_trait::async_trait;
use books::Tables;
use row::Row;
use std::convert::Infallible;
use tenure_core::changes::{Face, Subject};
use tenure_core::domain::rules::{self, Asker};
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Record, Recovered,
    Refused, Skip, Skipped, State, Succeeded,
};
use tenure_core::{Actor, Page, Time, Token};
use tenure_store::{DomainStore, Result};

#[async_trait]
impl DomainStore for SqliteStore {
    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        self.write(acquires.len(), move |step| acquire(step, &acquires)).await
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        self.write(writes.len(), move |step| held(step, &writes, rules::succeed)).await
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        self.write(writes.len(), move |step| held(step, &writes, rules::fail)).await
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        self.writes.ask(Lane::Urgent, beats.len(), move |step| held(step, &beats, rules::heartbeat)).await
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        self.write(advances.len(), move |step| advance(step, &advances)).await
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        let by = self.actor.clone();
        self.write(skips.len(), move |step| skip(step, &skips, &by)).await
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        let (name, by) = (name.to_owned(), self.actor.clone());
        self.write(1, move |step| set(step, &name, &change, &by)).await
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        self.write(max as usize, move |step| recover(step, max)).await
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        let name = name.to_owned();
        self.read(move |step| read::domain(step, &name)).await
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        let after = after.map(str::to_owned);
        self.read(move |step| read::domains(step, after.as_deref(), state, limit)).await
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        let name = name.to_owned();
        self.read(move |step| read::events(step, &name)).await
    }
}

fn acquire(step: &Step<'_>, acquires: &[Acquire]) -> Done<Vec<Answer<Acquired>>> {
    let base = tokens::epoch(step)?.base;
    let one = |it: &Acquire| {
        let asker = Asker { holder: it.holder.as_ref(), lease_ms: it.lease_ms, base };
        Row::made(step, &it.domain)?
            .with(step, |record, books| rules::acquire(record, books, it.offset, asker, step.now))
    };
    acquires.iter().map(one).collect()
}

/// A write that names the token of the lease, in each of these domains.
fn held<'s, T>(
    step: &Step<'s>,
    writes: &[Held],
    verb: fn(&mut Record, &mut Tables<'s>, Token, Time) -> Done<Answer<T>>,
) -> Done<Vec<Answer<T>>> {
    let one = |held: &Held| {
        let Some(row) = Row::find(step, &held.domain)? else { return Ok(Err(Refused::LeaseNotFound)) };
        row.with(step, |record, books| verb(record, books, held.token, step.now))
    };
    writes.iter().map(one).collect()
}

fn advance(step: &Step<'_>, advances: &[Advance]) -> Done<Vec<Answer<Advanced>>> {
    let base = tokens::epoch(step)?.base;
    let one = |it: &Advance| {
        let Some(row) = Row::find(step, &it.domain)? else { return Ok(Err(Refused::LeaseNotFound)) };
        let asker = Asker { holder: it.holder.as_ref(), lease_ms: it.lease_ms, base };
        row.with(step, |record, books| rules::advance(record, books, it.token, it.next, asker, step.now))
    };
    advances.iter().map(one).collect()
}

fn skip(step: &Step<'_>, skips: &[Skip], by: &Actor) -> Done<Vec<Skipped>> {
    let one = |it: &Skip| {
        Row::made(step, &it.domain)?.with(step, |record, books| rules::skip(record, books, it.offset, by, step.now))
    };
    skips.iter().map(one).collect()
}

fn set(step: &Step<'_>, name: &str, change: &Change, by: &Actor) -> Done<DomainInfo> {
    Row::made(step, name)?.with(step, |record, _| {
        let before = record.settings;
        record.settings = before.changed(change);
        changes::changed(step, &Subject::new(Face::Domain, name), by, before.differences(&record.settings))
    })?;
    read::domain(step, name)?.ok_or_else(|| crate::Fault::broken(format!("the domain {name} is gone after a change")))
}

/// Tells leases that ran out (L7). One that cannot be told is left to its next acquire, and never stops the others.
fn recover(step: &Step<'_>, max: u32) -> Done<Recovered> {
    let mut recovered = Recovered::default();
    for name in all(step.conn, sql::DOMAIN_EXPIRED, (step.now.0, max), |row| row.get::<_, String>(0))? {
        let told = apart(step.conn, || {
            let Some(row) = Row::find(step, &name)? else { return Ok(Ok(false)) };
            row.with(step, |record, books| rules::expire(record, books, step.now)).map(Ok::<bool, Infallible>)
        });
        match told {
            Ok(Ok(failed)) => {
                recovered.expired += 1;
                recovered.failed += u32::from(failed);
            }
            Ok(Err(never)) => match never {},
            // Some faults end the transaction, and with it everything before.
            Err(fault) if step.conn.is_autocommit() => return Err(fault),
            Err(fault) => tracing::warn!(domain = name, ?fault, "an expired lease could not be told"),
        }
    }
    Ok(recovered)
}
