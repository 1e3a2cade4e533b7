//! A chunk completed in the caller's own transaction, with the rows it stands for.

use super::finish;
use crate::in_transaction::{Error, whole};
use rusqlite::Transaction;
use tenure_core::sync::rules::{Judgement, Presented};
use tenure_core::sync::{Denied, Ended, Ending, Unit};
use tenure_core::{LostReason, Token};

/// Completes a held chunk, with its rows, or rolled back with them; refused if the lease is not held (L3).
pub fn complete_chunk(
    tx: &Transaction<'_>,
    chunk: &Unit,
    owner: &str,
    token: Token,
    row_count: Option<u64>,
    cursor: Option<&str>,
) -> Result<Ended, Error> {
    let act = tenure_core::sync::Act::Complete { row_count, cursor: cursor.map(str::to_owned) };
    let mut ending = Ending { unit: chunk.clone(), owner: owner.to_owned(), token, act };
    ending.check().map_err(Error::Invalid)?;
    let answer = whole(tx, |step| Ok(Ok(finish::finish(step, &ending)?)))?;
    // Only the completion of a whole sync can be refused otherwise.
    answer.map_err(|denied| match denied {
        Denied::Lost(reason) => Error::LeaseLost(reason),
        Denied::Refused(_) => Error::LeaseLost(LostReason::Unknown),
    })
}

/// Refuses unless the lease of a chunk is held at this moment; then nobody else can take it before the transaction ends.
pub fn chunk_held(tx: &Transaction<'_>, chunk: &Unit, owner: &str, token: Token) -> Result<(), Error> {
    whole(tx, |step| {
        let (judgement, _) = finish::judge(step, chunk, Presented { owner, token, verb: None })?;
        Ok(match judgement {
            Judgement::Held => Ok(()),
            Judgement::Already(_) => Err(Error::LeaseLost(LostReason::Finished)),
            Judgement::Lost(reason) => Err(Error::LeaseLost(reason)),
        })
    })
}
