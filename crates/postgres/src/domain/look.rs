//! Looking: one domain, pages of them, what happened.

use crate::PostgresStore;
use crate::value::{at, at_opt, get, page};
use tenure_core::Page;
use tenure_core::Token;
use tenure_core::domain::{DomainInfo, Event, LeaseInfo, Refused, Settings, State, Verb, What, in_order};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

pub(super) async fn domain(store: &PostgresStore, name: &str) -> Result<Option<DomainInfo>> {
    Ok(list(store, Some(name), None, None, 1).await?.items.into_iter().next())
}

pub(super) async fn domains(
    store: &PostgresStore,
    after: Option<&str>,
    state: Option<State>,
    limit: u32,
) -> Result<Page<DomainInfo>> {
    list(store, None, after, state, limit).await
}

async fn list(
    store: &PostgresStore,
    only: Option<&str>,
    after: Option<&str>,
    state: Option<State>,
    limit: u32,
) -> Result<Page<DomainInfo>> {
    // One more than asked for tells whether there are more.
    let (ask, state) = (i64::from(limit) + 1, state.map(State::as_str));
    let rows = store
        .database
        .read(
            "select * from tenure.list_domains($1, $2, $3, $4)",
            &[(&only, Type::TEXT), (&after, Type::TEXT), (&ask, Type::INT8), (&state, Type::TEXT)],
        )
        .await?;
    page(&rows, limit, info)
}

pub(super) async fn events(store: &PostgresStore, name: &str) -> Result<Vec<Event>> {
    let rows = store.database.read(include_str!("../../queries/domain/events.sql"), &[(&name, Type::TEXT)]).await?;
    Ok(in_order(rows.iter().map(event).collect::<Result<_>>()?))
}

fn info(row: &Row) -> Result<DomainInfo> {
    let number = |column| get::<Option<i64>>(row, column).map(|n| n.map(|n| n as u64));
    let count = |column| get::<i32>(row, column).map(|n| n as u32);
    let lease = match number("current_offset")? {
        None => None,
        Some(offset) => Some(LeaseInfo {
            offset,
            holder: get::<Option<&str>>(row, "holder")?.map(Into::into),
            acquired_at: at(row, "acquired_at")?,
            retry_count: count("retry_count")?,
            takeovers: count("takeovers")?,
            lease_ms: number("lease_ms")?,
            lease_expires_at: at_opt(row, "expires_at")?,
            expired: get(row, "expired")?,
        }),
    };
    Ok(DomainInfo {
        name: get::<&str>(row, "name")?.into(),
        created_at: at(row, "created_at")?,
        settings: Settings {
            max_retries: count("max_retries")?,
            takeovers_max: get::<Option<i32>>(row, "takeovers_max")?.map(|max| max as u32),
        },
        lease,
        backlog_len: get::<i64>(row, "backlog_len")? as u64,
        backlog_head: number("head")?,
        backlog_oldest_at: at_opt(row, "since")?,
    })
}

fn event(row: &Row) -> Result<Event> {
    let unknown = |column: &str| StoreError::broken(format!("column {column} of an event holds an unknown word"));
    let verb = get::<Option<&str>>(row, "verb")?;
    let code = get::<Option<&str>>(row, "code")?;
    Ok(Event {
        at: at(row, "at")?,
        first_at: at_opt(row, "first_at")?,
        what: What::parse(get(row, "what")?).ok_or_else(|| unknown("what"))?,
        offset: get::<Option<i64>>(row, "event_offset")?.map(|offset| offset as u64),
        token: get::<Option<i64>>(row, "token")?.map(Token),
        holder: get::<Option<&str>>(row, "holder")?.map(Into::into),
        by: get::<Option<&str>>(row, "by")?.map(Into::into),
        difference: None,
        nth: get::<Option<i32>>(row, "nth")?.map(|nth| nth as u32),
        verb: verb.map(|verb| Verb::parse(verb).ok_or_else(|| unknown("verb"))).transpose()?,
        refused: code.map(|code| Refused::code_of(code).ok_or_else(|| unknown("code"))).transpose()?,
        count: get::<i64>(row, "count")? as u64,
    })
}
