//! Tokens (L2): one counter for all units of the file, in the transaction of whoever draws.

use crate::changes;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use tenure_core::changes::{Difference, Subject};
use tenure_core::{Actor, Epoch, Token, Tokens};

/// Draws `n` tokens, which grow.
pub(crate) fn draw(step: &Step<'_>, n: usize) -> Done<impl Iterator<Item = Token> + use<>> {
    let n = n as i64;
    let last: i64 = step.conn.prepare_cached(sql::DRAW_TOKENS)?.query_row([n], |row| row.get(0))?;
    Ok((last + 1 - n..=last).map(Token))
}

/// The epoch in force.
pub(crate) fn epoch(step: &Step<'_>) -> Done<Epoch> {
    Ok(tokens(step)?.epoch)
}

/// Moves the counter ahead. `None` if no tokens would be left.
pub(crate) fn raise(step: &Step<'_>, by: &Actor) -> Done<Option<Epoch>> {
    let mut tokens = tokens(step)?;
    let before = tokens.epoch;
    let Some(raised) = tokens.raise(step.now) else { return Ok(None) };
    step.conn.prepare_cached(sql::RAISE)?.execute((tokens.last.0, raised.count, raised.base.0))?;
    changes::changed(step, &Subject::store(), by, Difference::epoch(before.count, raised.count))?;
    Ok(Some(raised))
}

fn tokens(step: &Step<'_>) -> Done<Tokens> {
    let mut find = step.conn.prepare_cached(sql::TOKENS)?;
    Ok(find.query_row([], |row| {
        let epoch = Epoch { count: row.get(1)?, base: Token(row.get(2)?) };
        Ok(Tokens { last: Token(row.get(0)?), epoch })
    })?)
}
