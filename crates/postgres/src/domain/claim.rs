//! Acquires. What a call asks of one domain more than once happens in the order of the call.

use super::row::{Ask, asked, number, refused};
use crate::PostgresStore;
use crate::value::{Answers, get, rounds};
use tenure_core::Token;
use tenure_core::domain::{Acquire, Acquired, Answer, Refused};
use tenure_store::{Result, StoreError};
use tokio_postgres::Row;

pub(super) async fn acquire(store: &PostgresStore, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
    let mut answers = Answers::new(acquires.len());
    let mut rounds = rounds(acquires, |it| it.domain.clone()).into_iter();
    let first = rounds.next().unwrap_or_default();
    // From the first domain that is asked of twice on they go one by one: those mostly wait.
    let again: Vec<(usize, Acquire)> = rounds.flatten().collect();
    let quick = "select ord, word, told, fact from tenure.domain_acquire($1::text::tenure.domain_ask[])";
    let in_turn = "select ord, word, told, fact from tenure.domain_in_turn('acquire', $1::text::tenure.domain_ask[])";
    for (sql, round) in [(quick, first), (in_turn, again)] {
        let asked = asked(&round, |it| {
            let (name, holder, lease_ms) = (&*it.domain, it.holder.as_deref(), it.lease_ms);
            Ask { name, at_offset: Some(it.offset), holder, lease_ms, ..Ask::default() }
        });
        if let Some(asked) = asked {
            let rows = store.database.write_patiently(sql, &[&asked]).await?;
            answers.take(&round, &rows, |it, row| acquired(it.offset, row, get(row, "word")?, "told", "fact"))?;
        }
    }
    answers.all()
}

/// One answer to an acquire. `told` and `fact` are columns.
pub(super) fn acquired(offset: u64, row: &Row, word: &str, told: &str, fact: &str) -> Result<Answer<Acquired>> {
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
