//! The verbs: what is asked of each domain goes out, words come back. What a call asks of one domain more than once happens in the order of the call.

use super::look;
use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{at_opt, get, some_word};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Failed, Held, Recovered, Refused, Skip,
    Skipped, Succeeded,
};
use tenure_core::{LostReason, Token};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

pub(super) async fn acquire(store: &PostgresStore, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
    let mut answers = Answers::new(acquires.len());
    let mut rounds = rounds(acquires, |it| it.domain.clone()).into_iter();
    let first = rounds.next().unwrap_or_default();
    // What a call asks of a domain after its first goes one by one: it mostly waits.
    let mut again: Vec<(usize, Acquire)> = rounds.flatten().collect();
    again.sort_by_key(|(i, _)| *i);
    let quick = "select ord, word, told, fact from tenure.domain_acquire($1)";
    let in_turn = "select ord, word, told, fact from tenure.domain_in_turn('acquire', $1)";
    for (sql, round) in [(quick, first), (in_turn, again)] {
        let asked = asked(
            &round,
            |it| json!({"name": *it.domain, "at_offset": it.offset, "holder": it.holder.as_deref(), "lease_ms": it.lease_ms}),
        );
        if let Some(asked) = asked {
            let rows = store.database.write_patiently(sql, &[(&asked, Type::JSONB)]).await?;
            answers.take(&round, &rows, |it, row| acquired(it.offset, row, get(row, "word")?, "told", "fact"))?;
        }
    }
    answers.all()
}

/// One answer to an acquire. `told` and `fact` are columns.
fn acquired(offset: u64, row: &Row, word: &str, told: &str, fact: &str) -> Result<Answer<Acquired>> {
    let token = || get::<i64>(row, told).map(Token);
    Ok(Ok(match word {
        "ACQUIRED" => Acquired::Acquired { token: token()? },
        "ENQUEUED" => Acquired::Enqueued { expired_offset: number(row, fact)? },
        "ALREADY_ACQUIRED" => Acquired::AlreadyAcquired { token: token()? },
        "HELD_BY_OTHER" => Acquired::HeldByOther,
        "ALREADY_PROCESSED" => Acquired::AlreadyProcessed,
        "ALREADY_FAILED" => Acquired::AlreadyFailed,
        "backlog_ordering" => {
            let expected = number(row, fact)?.ok_or_else(|| StoreError::broken("an order without a head"))?;
            return Ok(Err(Refused::BacklogOrdering { expected, got: offset }));
        }
        word => return refused(word).map(Err),
    }))
}

fn refused(word: &str) -> Result<Refused> {
    match word {
        "token_mismatch" => Ok(Refused::TokenMismatch),
        "lease_not_found" => Ok(Refused::LeaseNotFound),
        "lease_lost" => Ok(Refused::LeaseLost(LostReason::Expired)),
        word => Err(StoreError::broken(format!("`{word}` is no answer of a domain"))),
    }
}

fn number(row: &Row, column: &str) -> Result<Option<u64>> {
    Ok(get::<Option<i64>>(row, column)?.map(|n| n as u64))
}

fn succeeded(row: &Row) -> Result<Answer<Succeeded>> {
    match get::<&str>(row, "word")? {
        "NO_BACKLOG" | "NEXT_HINT" => Ok(Ok(Succeeded::of(number(row, "hint")?))),
        word => refused(word).map(Err),
    }
}

pub(super) async fn succeed(store: &PostgresStore, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
    let mut answers = Answers::new(writes.len());
    for round in rounds(writes, |held| held.domain.clone()) {
        let sql = "select ord, word, hint from tenure.domain_succeed($1)";
        let rows = store.database.write_patiently(sql, &[(&asked(&round, held), Type::JSONB)]).await?;
        answers.take(&round, &rows, |_, row| succeeded(row))?;
    }
    answers.all()
}

pub(super) async fn advance(store: &PostgresStore, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
    let mut answers = Answers::new(advances.len());
    for round in rounds(advances, |it| it.domain.clone()) {
        let asked = asked(&round, |it| {
            let (holder, lease_ms) = (it.holder.as_deref(), it.lease_ms);
            json!({"name": *it.domain, "at_offset": it.next, "token": it.token.0, "holder": holder, "lease_ms": lease_ms})
        });
        let sql = "select ord, word, hint, next_offset, next_word, next_told from tenure.domain_succeed($1, true)";
        let rows = store.database.write_patiently(sql, &[(&asked, Type::JSONB)]).await?;
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
        let sql = "select ord, word, told, fact from tenure.domain_in_turn('fail', $1)";
        let rows = store.database.write_patiently(sql, &[(&asked, Type::JSONB)]).await?;
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
        let sql = "select ord, word, until from tenure.domain_heartbeat($1)";
        let rows = store.database.write(sql, &[(&asked(&round, held), Type::JSONB)]).await?;
        answers.take(&round, &rows, |_, row| match get::<&str>(row, "word")? {
            "RENEWED" => Ok(Ok(Beaten { lease_expires_at: at_opt(row, "until")? })),
            word => refused(word).map(Err),
        })?;
    }
    answers.all()
}

pub(super) async fn skip(store: &PostgresStore, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
    let mut answers = Answers::new(skips.len());
    let round: Vec<(usize, Skip)> = skips.into_iter().enumerate().collect();
    if let Some(asked) = asked(&round, |skip| json!({"name": *skip.domain, "at_offset": skip.offset})) {
        let sql = "select ord, word, told, fact from tenure.domain_each('skip', $1, $2)";
        let params = [(&asked as _, Type::JSONB), (&store.actor.as_str() as _, Type::TEXT)];
        let rows = store.database.write_patiently(sql, &params).await?;
        answers.take(&round, &rows, |_, row| some_word(row, "word", Skipped::parse))?;
    }
    answers.all()
}

pub(super) async fn change(store: &PostgresStore, name: &str, change: Change) -> Result<DomainInfo> {
    let sent = [("max_retries", change.max_retries.is_some()), ("takeovers_max", change.takeovers_max.is_some())];
    let names: Vec<&str> = sent.iter().filter(|(_, sent)| *sent).map(|(name, _)| *name).collect();
    let max_retries = change.max_retries.flatten().map(|max| max as i32);
    let takeovers_max = change.takeovers_max.flatten().map(|max| max as i32);
    let by = store.actor.as_str();
    let sql = "select tenure.domain_change($1, $2, $3, $4, $5)";
    let params = [
        (&name as _, Type::TEXT),
        (&names as _, Type::TEXT_ARRAY),
        (&max_retries as _, Type::INT4),
        (&takeovers_max as _, Type::INT4),
        (&by as _, Type::TEXT),
    ];
    store.database.write_patiently(sql, &params).await?;
    look::domain(store, name).await?.ok_or_else(|| StoreError::broken("the domain that was just changed is gone"))
}

pub(super) async fn recover(store: &PostgresStore, max: u32) -> Result<Recovered> {
    let max = max as i32;
    let sql = "select expired, failed from tenure.domain_recover($1)";
    let row = first(store.database.write(sql, &[(&max, Type::INT4)]).await?)?;
    let count = |column| get::<i32>(&row, column).map(|n| n as u32);
    Ok(Recovered { expired: count("expired")?, failed: count("failed")? })
}

fn held(held: &Held) -> Value {
    json!({"name": *held.domain, "token": held.token.0})
}

/// A round as the functions read it; `None` if it asks nothing.
fn asked<Q>(round: &[(usize, Q)], one: impl Fn(&Q) -> Value) -> Option<Value> {
    (!round.is_empty()).then(|| round.iter().map(|(_, question)| one(question)).collect())
}

/// The answers of all rounds, in the order of the questions.
struct Answers<T>(Vec<Option<T>>);

impl<T> Answers<T> {
    fn new(count: usize) -> Answers<T> {
        Answers((0..count).map(|_| None).collect())
    }

    /// The answers of one round; `ord` counts its questions from one.
    fn take<Q>(&mut self, round: &[(usize, Q)], rows: &[Row], read: impl Fn(&Q, &Row) -> Result<T>) -> Result<()> {
        for row in rows {
            let ord = get::<i64>(row, "ord")? as usize;
            let (i, question) = round.get(ord - 1).ok_or_else(|| StoreError::broken("an answer to no question"))?;
            self.0[*i] = Some(read(question, row)?);
        }
        Ok(())
    }

    fn all(self) -> Result<Vec<T>> {
        let whole: Option<Vec<T>> = self.0.into_iter().collect();
        whole.ok_or_else(|| StoreError::broken("a batch was not answered whole"))
    }
}

/// Splits a batch into rounds in which no domain appears twice.
fn rounds<Q>(questions: Vec<Q>, domain: impl Fn(&Q) -> Arc<str>) -> Vec<Vec<(usize, Q)>> {
    let mut seen: HashMap<Arc<str>, usize> = HashMap::with_capacity(questions.len());
    let mut rounds: Vec<Vec<(usize, Q)>> = Vec::new();
    for (i, question) in questions.into_iter().enumerate() {
        let round = seen.entry(domain(&question)).and_modify(|round| *round += 1).or_insert(0);
        if rounds.len() <= *round {
            rounds.push(Vec::new());
        }
        rounds[*round].push((i, question));
    }
    rounds
}
