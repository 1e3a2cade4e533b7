//! What the verbs of a domain do: the method contracts of the document (D1), with holder, expiry and skip (D3, D4, D7).
//!
//! Each verb is one step under the domain's lock. A verb that is refused changes nothing but the event that counts
//! refusals. Pure: `now` and the base of the epoch are arguments, and what is not on the [`Record`] is asked of the [`Books`].

use super::answer::{Acquired, Advanced, Answer, Beaten, Failed, Refused, Skipped, Succeeded};
use super::book::{Books, Terminal};
use super::event::{Event, Verb, What};
use super::record::{Expiry, Lease, Record};
use crate::actor::Actor;
use crate::lease::{LostReason, Token, renewed};
use crate::time::Time;
use std::sync::Arc;

/// What an acquire says of itself, apart from domain and offset.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The name of the caller (D3).
    pub holder: Option<&'a Arc<str>>,
    /// How long the lease lasts (D4).
    pub lease_ms: Option<u64>,
    /// The base of the store's epoch (L2).
    pub base: Token,
}

/// `tryAcquire`.
pub fn acquire<B: Books>(
    record: &mut Record,
    books: &mut B,
    offset: u64,
    asker: Asker<'_>,
    now: Time,
) -> Result<Answer<Acquired>, B::Error> {
    // 1. Terminal checks.
    match books.terminal(offset)? {
        Some(Terminal::Processed) => return Ok(Ok(Acquired::AlreadyProcessed)),
        Some(Terminal::Failed) => return Ok(Ok(Acquired::AlreadyFailed)),
        None => {}
    }
    // 2. A lease exists.
    if let Some(lease) = &record.lease {
        let expired = lease.expired(now);
        if lease.offset != offset {
            let expired_offset = expired.then_some(lease.offset);
            books.wait(offset, now)?;
            return Ok(Ok(Acquired::Enqueued { expired_offset }));
        }
        if expired {
            return take_over(record, books, asker, now).map(Ok);
        }
        // A lease without a name is anyone's, as in the document; one with a name is told to that name alone (D3).
        let told = lease.holder.is_none() || lease.holder.as_ref() == asker.holder;
        let already = Acquired::AlreadyAcquired { token: lease.token };
        return Ok(Ok(if told { already } else { Acquired::HeldByOther }));
    }
    // 3. No lease: only the head may go.
    if let Some(head) = books.head()? {
        if head != offset {
            return Ok(Err(Refused::BacklogOrdering { expected: head, got: offset }));
        }
        books.leave(offset)?;
    }
    let token = record.draw(asker.base);
    record.lease = Some(Lease {
        offset,
        token,
        acquired_at: now,
        retry_count: 0,
        takeovers: 0,
        holder: asker.holder.cloned(),
        expiry: expiry(asker.lease_ms, now),
    });
    Ok(Ok(Acquired::Acquired { token }))
}

/// The same offset, after its lease ran out (D4): a new token, the same place, age and count of retries.
fn take_over<B: Books>(record: &mut Record, books: &mut B, asker: Asker<'_>, now: Time) -> Result<Acquired, B::Error> {
    if expire(record, books, now)? {
        return Ok(Acquired::AlreadyFailed);
    }
    let token = record.draw(asker.base);
    if let Some(lease) = &mut record.lease {
        lease.token = token;
        lease.takeovers = lease.takeovers.saturating_add(1);
        lease.holder = asker.holder.cloned();
        lease.expiry = expiry(asker.lease_ms, now);
        books.tell(Event::of(now, What::TakenOver, lease.offset).by(token, asker.holder).nth(lease.takeovers))?;
    }
    Ok(Acquired::Acquired { token })
}

/// What happens to a lease that ran out, when someone meets it: it is told, once per token, and an offset whose
/// takeovers are spent fails for good. Whether it did. Recovery does no more than this (L7).
pub fn expire<B: Books>(record: &mut Record, books: &mut B, now: Time) -> Result<bool, B::Error> {
    let Some(lease) = record.lease.as_mut().filter(|lease| lease.expired(now)) else { return Ok(false) };
    let (offset, token, takeovers) = (lease.offset, lease.token, lease.takeovers);
    if let Some(expiry) = lease.expiry.as_mut().filter(|expiry| !expiry.told) {
        expiry.told = true;
        books.tell(Event::of(now, What::Expired, offset).by(token, lease.holder.as_ref()))?;
    }
    if record.settings.takeovers_max.is_none_or(|max| takeovers < max) {
        return Ok(false);
    }
    books.tell(Event::of(now, What::TakeoversSpent, offset).by(token, lease.holder.as_ref()).nth(takeovers))?;
    books.end(offset, Terminal::Failed)?;
    record.lease = None;
    Ok(true)
}

/// `succeed`.
pub fn succeed<B: Books>(
    record: &mut Record,
    books: &mut B,
    token: Token,
    now: Time,
) -> Result<Answer<Succeeded>, B::Error> {
    let offset = match held(record, books, token, Verb::Succeed, now)? {
        Ok(lease) => lease.offset,
        Err(refused) => return Ok(Err(refused)),
    };
    books.end(offset, Terminal::Processed)?;
    record.lease = None;
    Ok(Ok(Succeeded::of(books.head()?)))
}

/// `fail`. It does not renew a lease that runs out.
pub fn fail<B: Books>(record: &mut Record, books: &mut B, token: Token, now: Time) -> Result<Answer<Failed>, B::Error> {
    let max_retries = record.settings.max_retries;
    let lease = match held(record, books, token, Verb::Fail, now)? {
        Ok(lease) => lease,
        Err(refused) => return Ok(Err(refused)),
    };
    let (offset, event) = (lease.offset, |what| Event::of(now, what, lease.offset).by(token, lease.holder.as_ref()));
    if lease.retry_count >= max_retries {
        books.tell(event(What::GaveUp).nth(lease.retry_count))?;
        books.end(offset, Terminal::Failed)?;
        record.lease = None;
        return Ok(Ok(Failed::give_up(books.head()?)));
    }
    let retried = event(What::Retried);
    lease.retry_count += 1;
    let retry_count = lease.retry_count;
    books.tell(retried.nth(retry_count))?;
    Ok(Ok(Failed::RetryScheduled { retry_count }))
}

/// Renews the lease (D4). One that does not run out needs no heartbeat, and takes it well.
pub fn heartbeat<B: Books>(
    record: &mut Record,
    books: &mut B,
    token: Token,
    now: Time,
) -> Result<Answer<Beaten>, B::Error> {
    let lease = match held(record, books, token, Verb::Heartbeat, now)? {
        Ok(lease) => lease,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some(expiry) = &mut lease.expiry {
        expiry.at = renewed(Some(expiry.at), now, expiry.lease_ms);
    }
    Ok(Ok(Beaten { lease_expires_at: lease.expiry.map(|expiry| expiry.at) }))
}

/// `succeed`, and if that was accepted `tryAcquire` of what comes next: the head of the backlog, or else `next`.
pub fn advance<B: Books>(
    record: &mut Record,
    books: &mut B,
    token: Token,
    next: Option<u64>,
    asker: Asker<'_>,
    now: Time,
) -> Result<Answer<Advanced>, B::Error> {
    let succeeded = match succeed(record, books, token, now)? {
        Ok(succeeded) => succeeded,
        Err(refused) => return Ok(Err(refused)),
    };
    let next = match succeeded.hint().or(next) {
        Some(offset) => Some((offset, acquire(record, books, offset, asker, now)?)),
        None => None,
    };
    Ok(Ok(Advanced { succeeded, next }))
}

/// An operator's skip (D7): the offset fails for good wherever it stands, and the others keep their order.
pub fn skip<B: Books>(
    record: &mut Record,
    books: &mut B,
    offset: u64,
    by: &Actor,
    now: Time,
) -> Result<Skipped, B::Error> {
    match books.terminal(offset)? {
        Some(Terminal::Processed) => return Ok(Skipped::AlreadyProcessed),
        Some(Terminal::Failed) => return Ok(Skipped::AlreadyFailed),
        None => {}
    }
    let mut event = Event::of(now, What::Skipped, offset).acted(by);
    match record.lease.take_if(|lease| lease.offset == offset) {
        Some(lease) => event = event.by(lease.token, lease.holder.as_ref()),
        None => books.leave(offset)?,
    }
    books.end(offset, Terminal::Failed)?;
    books.tell(event)?;
    Ok(Skipped::Skipped)
}

/// The lease, if `token` is its token and it has not run out; else the document's error, counted into an event.
fn held<'r, B: Books>(
    record: &'r mut Record,
    books: &mut B,
    token: Token,
    verb: Verb,
    now: Time,
) -> Result<Answer<&'r mut Lease>, B::Error> {
    let refused = match &record.lease {
        None => Refused::LeaseNotFound,
        Some(lease) if lease.token != token => Refused::TokenMismatch,
        Some(lease) if lease.expired(now) => Refused::LeaseLost(LostReason::Expired),
        Some(_) => return Ok(record.lease.as_mut().ok_or(Refused::LeaseNotFound)),
    };
    books.tell(Event::refused(now, verb, token, refused))?;
    Ok(Err(refused))
}

fn expiry(lease_ms: Option<u64>, now: Time) -> Option<Expiry> {
    lease_ms.map(|lease_ms| Expiry { lease_ms, at: renewed(None, now, lease_ms), told: false })
}
