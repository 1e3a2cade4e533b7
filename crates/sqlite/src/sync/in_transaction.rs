//! A chunk completed in the caller's own transaction, with the rows it stands for.

use super::finish;
use crate::in_transaction::{here, whole};
use rusqlite::Connection;
use tenure_core::lease::Presented;
use tenure_core::sync::{Act, ClaimedChunk, Denied, Ended, Ending, Unit};
use tenure_core::{LostReason, Token};
use tenure_store::{Clock, Place, TransactionError as Error};

/// Completes a held chunk, with its rows, or rolled back with them; refused if the lease is not held (L3).
pub fn complete_chunk(
    tx: &Connection,
    chunk: &Unit,
    owner: &str,
    token: Token,
    row_count: Option<u64>,
    cursor: Option<&str>,
) -> Result<Ended, Error> {
    let act = Act::Complete { row_count, cursor: cursor.map(str::to_owned) };
    complete(tx, &Clock::system(), Ending { unit: chunk.clone(), owner: owner.to_owned(), token, act })
}

/// As [`complete_chunk`], for the store at `place`.
pub fn complete_chunk_at(
    tx: &Connection,
    place: &Place,
    chunk: &ClaimedChunk,
    owner: &str,
    row_count: Option<u64>,
    cursor: Option<&str>,
) -> Result<(), Error> {
    let act = Act::Complete { row_count, cursor: cursor.map(str::to_owned) };
    let unit = Unit::chunk(chunk.sync, &chunk.chunk_hash);
    complete(tx, here(tx, place)?, Ending { unit, owner: owner.to_owned(), token: chunk.token, act }).map(drop)
}

/// Refuses unless the lease of a chunk is held at this moment; then nobody else can take it before the transaction ends.
pub fn chunk_held(tx: &Connection, chunk: &Unit, owner: &str, token: Token) -> Result<(), Error> {
    held(tx, &Clock::system(), chunk, owner, token)
}

/// As [`chunk_held`], for the store at `place`.
pub fn chunk_held_at(tx: &Connection, place: &Place, chunk: &ClaimedChunk, owner: &str) -> Result<(), Error> {
    held(tx, here(tx, place)?, &Unit::chunk(chunk.sync, &chunk.chunk_hash), owner, chunk.token)
}

fn complete(tx: &Connection, clock: &Clock, mut ending: Ending) -> Result<Ended, Error> {
    ending.check().map_err(Error::Invalid)?;
    let answer = whole(tx, clock, |step| Ok(Ok(finish::finish(step, &ending)?)))?;
    // Only the completion of a whole sync can be refused otherwise.
    answer.map_err(|denied| match denied {
        Denied::Lost(reason) => Error::LeaseLost(reason),
        Denied::Refused(_) => Error::LeaseLost(LostReason::Unknown),
    })
}

fn held(tx: &Connection, clock: &Clock, chunk: &Unit, owner: &str, token: Token) -> Result<(), Error> {
    whole(tx, clock, |step| {
        let (judgement, _) = finish::judge(step, chunk, Presented { owner, token, verb: None })?;
        Ok(judgement.or_lost().map(drop).map_err(Error::LeaseLost))
    })
}
