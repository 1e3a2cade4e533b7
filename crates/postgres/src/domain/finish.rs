//! What the holder of an offset writes: endings and heartbeats.

use super::claim::acquired;
use super::row::{Ask, asked, number, refused};
use crate::PostgresStore;
use crate::value::{Answers, at_opt, get, rounds};
use tenure_core::domain::{Advance, Advanced, Answer, Beaten, Failed, Held, Succeeded};
use tenure_store::Result;
use tokio_postgres::Row;

fn succeeded(row: &Row) -> Result<Answer<Succeeded>> {
    match get::<&str>(row, "word")? {
        "NO_BACKLOG" | "NEXT_HINT" => Ok(Ok(Succeeded::of(number(row, "hint")?))),
        word => refused(word).map(Err),
    }
}

pub(super) async fn succeed(store: &PostgresStore, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
    let mut answers = Answers::new(writes.len());
    for round in rounds(writes, |held| held.domain.clone()) {
        let sql = "select ord, word, hint from tenure.domain_succeed($1::text::tenure.domain_ask[])";
        let rows = store.database.write_patiently(sql, &[&asked(&round, held)]).await?;
        answers.take(&round, &rows, |_, row| succeeded(row))?;
    }
    answers.all()
}

pub(super) async fn advance(store: &PostgresStore, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
    let mut answers = Answers::new(advances.len());
    for round in rounds(advances, |it| it.domain.clone()) {
        let asked = asked(&round, |it| {
            let (holder, lease_ms) = (it.holder.as_deref(), it.lease_ms);
            Ask { name: &it.domain, at_offset: it.next, token: Some(it.token), holder, lease_ms }
        });
        let sql = "select ord, word, hint, next_offset, next_word, next_told from tenure.domain_succeed($1::text::tenure.domain_ask[], true)";
        let rows = store.database.write_patiently(sql, &[&asked]).await?;
        answers.take(&round, &rows, |_, row| {
            let succeeded = match succeeded(row)? {
                Ok(succeeded) => succeeded,
                Err(refused) => return Ok(Err(refused)),
            };
            let next = match (number(row, "next_offset")?, get::<Option<&str>>(row, "next_word")?) {
                (Some(offset), Some(word)) => Some((offset, acquired(offset, row, word, "next_told", "hint")?)),
                _ => None,
            };
            Ok(Ok(Advanced { succeeded, next }))
        })?;
    }
    answers.all()
}

pub(super) async fn fail(store: &PostgresStore, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
    let mut answers = Answers::new(writes.len());
    let round: Vec<(usize, Held)> = writes.into_iter().enumerate().collect();
    if let Some(asked) = asked(&round, held) {
        let sql = "select ord, word, told, fact from tenure.domain_in_turn('fail', $1::text::tenure.domain_ask[])";
        let rows = store.database.write_patiently(sql, &[&asked]).await?;
        answers.take(&round, &rows, |_, row| {
            let fact = number(row, "fact")?;
            Ok(Ok(match get::<&str>(row, "word")? {
                "RETRY_SCHEDULED" => Failed::RetryScheduled { retry_count: fact.unwrap_or(0) as u32 },
                "GIVE_UP_NO_BACKLOG" | "GIVE_UP_NEXT_HINT" => Failed::give_up(fact),
                word => return refused(word).map(Err),
            }))
        })?;
    }
    answers.all()
}

pub(super) async fn heartbeat(store: &PostgresStore, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
    let mut answers = Answers::new(beats.len());
    for round in rounds(beats, |held| held.domain.clone()) {
        let sql = "select ord, word, until from tenure.domain_heartbeat($1::text::tenure.domain_ask[])";
        let rows = store.database.write(sql, &[&asked(&round, held)]).await?;
        answers.take(&round, &rows, |_, row| match get::<&str>(row, "word")? {
            "RENEWED" => Ok(Ok(Beaten { lease_expires_at: at_opt(row, "until")? })),
            word => refused(word).map(Err),
        })?;
    }
    answers.all()
}

fn held(held: &Held) -> Ask<'_> {
    Ask { name: &held.domain, token: Some(held.token), ..Ask::default() }
}
