//! Looking: one domain, pages of them, what happened. Nothing is written.

use crate::column::{all, first, time, time_opt, token_opt, word};
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use rusqlite::Row;
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::domain::{DomainInfo, Event, LeaseInfo, Refused, Settings, State, Verb, What, in_order};

/// One domain, if it was ever used.
pub(super) fn domain(step: &Step<'_>, name: &str) -> Done<Option<DomainInfo>> {
    first(step.conn, sql::DOMAIN_SHOW, [name], |row| info(row, step.now))
}

/// Domains by name.
pub(super) fn domains(
    step: &Step<'_>,
    after: Option<&str>,
    state: Option<State>,
    limit: u32,
) -> Done<Page<DomainInfo>> {
    // No name is empty, so every name comes after it. One more than asked for tells whether there are more.
    let (after, ask) = (after.unwrap_or(""), limit + 1);
    let read = |row: &Row<'_>| info(row, step.now);
    let (conn, now) = (step.conn, step.now.0);
    let found = match state {
        None => all(conn, sql::DOMAIN_LIST, (after, ask), read)?,
        Some(State::Blocked) => all(conn, sql::DOMAIN_LIST_BLOCKED, (after, ask, now), read)?,
        Some(State::Expired) => all(conn, sql::DOMAIN_LIST_EXPIRED, (after, ask, now), read)?,
    };
    Ok(Page::cut(found, limit as usize))
}

/// The events of a domain, oldest first.
pub(super) fn events(step: &Step<'_>, name: &str) -> Done<Vec<Event>> {
    let mut events = all(step.conn, sql::DOMAIN_EVENTS, [name], |row| {
        Ok(Event {
            at: time(row, 0)?,
            first_at: None,
            what: word(row, 1, What::parse)?,
            offset: row.get(2)?,
            token: token_opt(row, 3)?,
            holder: row.get::<_, Option<String>>(4)?.map(Into::into),
            by: row.get::<_, Option<String>>(6)?.map(Into::into),
            difference: None,
            nth: row.get(5)?,
            verb: None,
            refused: None,
            count: 1,
        })
    })?;
    events.extend(all(step.conn, sql::DOMAIN_REFUSALS, [name], |row| {
        Ok(Event {
            at: time(row, 0)?,
            first_at: time_opt(row, 5)?,
            what: What::Refused,
            offset: None,
            token: token_opt(row, 2)?,
            holder: None,
            by: None,
            difference: None,
            nth: None,
            verb: Some(word(row, 1, Verb::parse)?),
            refused: Some(word(row, 3, Refused::code_of)?),
            count: row.get(4)?,
        })
    })?);
    Ok(in_order(events))
}

/// A row of `domain/show.sql`.
fn info(row: &Row<'_>, now: Time) -> rusqlite::Result<DomainInfo> {
    let lease_expires_at = time_opt(row, 10)?;
    let lease = match row.get::<_, Option<u64>>(4)? {
        None => None,
        Some(offset) => Some(LeaseInfo {
            offset,
            holder: row.get::<_, Option<String>>(5)?.map(Into::into),
            acquired_at: time(row, 6)?,
            retry_count: row.get(7)?,
            takeovers: row.get(8)?,
            lease_ms: row.get(9)?,
            lease_expires_at,
            expired: lease_expires_at.is_some_and(|at| !tenure_core::lease::live(at, now)),
        }),
    };
    Ok(DomainInfo {
        name: row.get::<_, String>(0)?.into(),
        created_at: time(row, 1)?,
        settings: Settings { max_retries: row.get(2)?, takeovers_max: row.get(3)? },
        lease,
        backlog_len: row.get(11)?,
        backlog_head: row.get(12)?,
        backlog_oldest_at: time_opt(row, 13)?,
    })
}
