//! Skips, settings, and recovery.

use super::read;
use super::row::{Ask, asked};
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{Answers, get, some_word};
use tenure_core::domain::{Change, DomainInfo, Recovered, Skip, Skipped};
use tenure_store::{Result, StoreError};

pub(super) async fn skip(store: &PostgresStore, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
    let mut answers = Answers::new(skips.len());
    let round: Vec<(usize, Skip)> = skips.into_iter().enumerate().collect();
    if let Some(asked) = asked(&round, ask) {
        let sql = "select ord, word, told, fact from tenure.domain_each('skip', $1::text::tenure.domain_ask[], $2)";
        let rows = store.database.write_patiently(sql, &[&asked, &store.actor.as_str()]).await?;
        answers.take(&round, &rows, |_, row| some_word(row, "word", Skipped::parse))?;
    }
    answers.all()
}

fn ask(skip: &Skip) -> Ask<'_> {
    Ask { name: &skip.domain, at_offset: Some(skip.offset), ..Ask::default() }
}

pub(super) async fn change(store: &PostgresStore, name: &str, change: Change) -> Result<DomainInfo> {
    let sent = [("max_retries", change.max_retries.is_some()), ("takeovers_max", change.takeovers_max.is_some())];
    let names: Vec<&str> = sent.iter().filter(|(_, sent)| *sent).map(|(name, _)| *name).collect();
    let max_retries = change.max_retries.flatten().map(|max| max as i32);
    let takeovers_max = change.takeovers_max.flatten().map(|max| max as i32);
    let by = store.actor.as_str();
    let sql = "select tenure.domain_change($1, $2, $3, $4, $5)";
    store.database.write_patiently(sql, &[&name, &names, &max_retries, &takeovers_max, &by]).await?;
    read::domain(store, name).await?.ok_or_else(|| StoreError::broken("the domain that was just changed is gone"))
}

pub(super) async fn recover(store: &PostgresStore, max: u32) -> Result<Recovered> {
    let max = max as i32;
    let sql = "select expired, failed from tenure.domain_recover($1)";
    let row = first(store.database.write(sql, &[&max]).await?)?;
    let count = |column| get::<i32>(&row, column).map(|n| n as u32);
    Ok(Recovered { expired: count("expired")?, failed: count("failed")? })
}
