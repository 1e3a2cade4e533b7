//! Looking: one domain, pages of them, what happened.

use super::row;
use crate::PostgresStore;
use crate::value::page;
use tenure_core::Page;
use tenure_core::domain::{DomainInfo, Event, State, in_order};
use tenure_store::Result;

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
        .read("select * from tenure.list_domains($1, $2, $3, $4)", &[&only, &after, &ask, &state])
        .await?;
    page(&rows, limit, row::info)
}

pub(super) async fn events(store: &PostgresStore, name: &str) -> Result<Vec<Event>> {
    let rows = store.database.read(include_str!("../../queries/domain/events.sql"), &[&name]).await?;
    Ok(in_order(rows.iter().map(row::event).collect::<Result<_>>()?))
}
