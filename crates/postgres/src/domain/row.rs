//! What is asked of domains, and rows of them and their events, as core knows them.

use crate::value::{at, at_opt, get, some_word, word};
use std::fmt::{Display, Write as _};
use tenure_core::domain::{DomainInfo, Event, LeaseInfo, Refused, Settings, Verb, What};
use tenure_core::{LostReason, Token};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

/// What is asked of one domain: the fields of a `tenure.domain_ask` that its verb has.
#[derive(Default)]
pub(super) struct Ask<'a> {
    pub(super) name: &'a str,
    pub(super) at_offset: Option<u64>,
    pub(super) token: Option<Token>,
    pub(super) holder: Option<&'a str>,
    pub(super) lease_ms: Option<u64>,
}

/// A round as the functions read it, the text of a `tenure.domain_ask[]`; `None` if it asks nothing. JSON took a tenth longer.
pub(super) fn asked<'a, Q>(round: &'a [(usize, Q)], one: impl Fn(&'a Q) -> Ask<'a>) -> Option<String> {
    let mut text = String::from("{");
    for (i, (_, question)) in round.iter().enumerate() {
        let Ask { name, at_offset, token, holder, lease_ms } = one(question);
        text.push_str(if i == 0 { "\"(" } else { ",\"(" });
        quote(&mut text, Some(name));
        number_or_null(&mut text, at_offset);
        number_or_null(&mut text, token.map(|token| token.0));
        text.push(',');
        quote(&mut text, holder);
        number_or_null(&mut text, lease_ms);
        text.push_str(")\"");
    }
    text.push('}');
    (!round.is_empty()).then_some(text)
}

/// A text within a row within an array: quoted, and escaped for both. Nothing at all is null.
fn quote(text: &mut String, value: Option<&str>) {
    let Some(value) = value else { return };
    text.push_str("\\\"");
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\"\\\""),
            '\\' => text.push_str("\\\\\\\\"),
            c => text.push(c),
        }
    }
    text.push_str("\\\"");
}

fn number_or_null(text: &mut String, value: Option<impl Display>) {
    text.push(',');
    if let Some(value) = value {
        // Writing to a text does not fail.
        let _ = write!(text, "{value}");
    }
}

pub(super) fn refused(word: &str) -> Result<Refused> {
    match word {
        "token_mismatch" => Ok(Refused::TokenMismatch),
        "lease_not_found" => Ok(Refused::LeaseNotFound),
        "lease_lost" => Ok(Refused::LeaseLost(LostReason::Expired)),
        word => Err(StoreError::broken(format!("`{word}` is no answer of a domain"))),
    }
}

pub(super) fn number(row: &Row, column: &str) -> Result<Option<u64>> {
    Ok(get::<Option<i64>>(row, column)?.map(|n| n as u64))
}

pub(super) fn info(row: &Row) -> Result<DomainInfo> {
    let count = |column| get::<i32>(row, column).map(|n| n as u32);
    let lease = match number(row, "current_offset")? {
        None => None,
        Some(offset) => Some(LeaseInfo {
            offset,
            holder: get::<Option<&str>>(row, "holder")?.map(Into::into),
            acquired_at: at(row, "acquired_at")?,
            retry_count: count("retry_count")?,
            takeovers: count("takeovers")?,
            lease_ms: number(row, "lease_ms")?,
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
        backlog_head: number(row, "head")?,
        backlog_oldest_at: at_opt(row, "since")?,
    })
}

pub(super) fn event(row: &Row) -> Result<Event> {
    Ok(Event {
        at: at(row, "at")?,
        first_at: at_opt(row, "first_at")?,
        what: some_word(row, "what", What::parse)?,
        offset: number(row, "event_offset")?,
        token: get::<Option<i64>>(row, "token")?.map(Token),
        holder: get::<Option<&str>>(row, "holder")?.map(Into::into),
        by: get::<Option<&str>>(row, "by")?.map(Into::into),
        difference: None,
        nth: get::<Option<i32>>(row, "nth")?.map(|nth| nth as u32),
        verb: word(row, "verb", Verb::parse)?,
        refused: word(row, "code", Refused::code_of)?,
        count: get::<i64>(row, "count")? as u64,
    })
}
