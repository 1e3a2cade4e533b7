//! What the verbs of a domain do: the method contracts of the document (D1), with holder, expiry and skip (D3, D4, D7).
//!
//! Each verb is one step under the domain's lock. A verb that is refused changes nothing but the event that counts
//! refusals. Pure: `now` and the base of the epoch are arguments, and what is not on the [`Record`] is asked of the [`Books`].

use super::answer::{Acquired, Advanced, Answer, Beaten, Failed, Refused, Skipped, Succeeded};
use super::book::{Books, Terminal};
use super::event::{Event, Verb, What};
use super::record::{InFlight, Record};
use crate::actor::Actor;
use crate::lease::{self, Lease, Presented, Token, crashed_out};
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

impl Asker<'_> {
    /// A lease for it, under a new token.
    fn grant(&self, record: &mut Record, now: Time) -> Lease {
        record.last_token = record.last_token.next(self.base);
        let (owner, span) = (self.holder.map_or("", |holder| holder), self.lease_ms.unwrap_or(Lease::ENDLESS));
        Lease::grant(owner, record.last_token, span, now)
    }
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
    if let Some(flight) = &record.in_flight {
        let expired = !flight.lease.live(now);
        if flight.offset != offset {
            let expired_offset = expired.then_some(flight.offset);
            books.wait(offset, now)?;
            return Ok(Ok(Acquired::Enqueued { expired_offset }));
        }
        if expired {
            return take_over(record, books, asker, now).map(Ok);
        }
        // A lease without a name is anyone's, as in the document; one with a name is told to that name alone (D3).
        let told = flight.holder().is_none_or(|holder| asker.holder.is_some_and(|asker| **asker == *holder));
        let already = Acquired::AlreadyAcquired { token: flight.lease.token };
        return Ok(Ok(if told { already } else { Acquired::HeldByOther }));
    }
    // 3. No lease: only the head may go.
    if let Some(head) = books.head()? {
        if head != offset {
            return Ok(Err(Refused::BacklogOrdering { expected: head, got: offset }));
        }
        books.leave(offset)?;
    }
    let lease = asker.grant(record, now);
    let token = lease.token;
    record.in_flight =
        Some(InFlight { offset, lease, acquired_at: now, retry_count: 0, takeovers: 0, expiry_told: false });
    Ok(Ok(Acquired::Acquired { token }))
}

/// The same offset, after its lease ran out (D4): a new token, the same place, age and count of retries.
fn take_over<B: Books>(record: &mut Record, books: &mut B, asker: Asker<'_>, now: Time) -> Result<Acquired, B::Error> {
    if expire(record, books, now)? {
        return Ok(Acquired::AlreadyFailed);
    }
    let lease = asker.grant(record, now);
    let token = lease.token;
    if let Some(flight) = &mut record.in_flight {
        flight.lease = lease;
        flight.expiry_told = false;
        flight.takeovers = flight.takeovers.saturating_add(1);
        books.tell(Event::under(now, What::TakenOver, flight).nth(flight.takeovers))?;
    }
    Ok(Acquired::Acquired { token })
}

/// What happens to a lease that ran out, when someone meets it: it is told, once per token, and an offset whose
/// takeovers are spent fails for good. Whether it did. Recovery does no more than this (L7).
pub fn expire<B: Books>(record: &mut Record, books: &mut B, now: Time) -> Result<bool, B::Error> {
    let Some(flight) = record.in_flight.as_mut().filter(|flight| !flight.lease.live(now)) else { return Ok(false) };
    if !flight.expiry_told {
        flight.expiry_told = true;
        books.tell(Event::under(now, What::Expired, flight))?;
    }
    if record.settings.takeovers_max.is_none_or(|max| !crashed_out(flight.takeovers, max)) {
        return Ok(false);
    }
    books.tell(Event::under(now, What::TakeoversSpent, flight).nth(flight.takeovers))?;
    books.end(flight.offset, Terminal::Failed)?;
    record.in_flight = None;
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
        Ok(flight) => flight.offset,
        Err(refused) => return Ok(Err(refused)),
    };
    books.end(offset, Terminal::Processed)?;
    record.in_flight = None;
    Ok(Ok(Succeeded::of(books.head()?)))
}

/// `fail`. It does not renew a lease that runs out.
pub fn fail<B: Books>(record: &mut Record, books: &mut B, token: Token, now: Time) -> Result<Answer<Failed>, B::Error> {
    let max_retries = record.settings.max_retries;
    let flight = match held(record, books, token, Verb::Fail, now)? {
        Ok(flight) => flight,
        Err(refused) => return Ok(Err(refused)),
    };
    if flight.retry_count >= max_retries {
        books.tell(Event::under(now, What::GaveUp, flight).nth(flight.retry_count))?;
        books.end(flight.offset, Terminal::Failed)?;
        record.in_flight = None;
        return Ok(Ok(Failed::give_up(books.head()?)));
    }
    flight.retry_count += 1;
    let retry_count = flight.retry_count;
    books.tell(Event::under(now, What::Retried, flight).nth(retry_count))?;
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
        Ok(flight) => &mut flight.lease,
        Err(refused) => return Ok(Err(refused)),
    };
    lease.renew(now);
    Ok(Ok(Beaten { lease_expires_at: lease.deadline() }))
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
    let event = match record.in_flight.take_if(|flight| flight.offset == offset) {
        Some(flight) => Event::under(now, What::Skipped, &flight),
        None => {
            books.leave(offset)?;
            Event::of(now, What::Skipped, offset)
        }
    };
    books.end(offset, Terminal::Failed)?;
    books.tell(event.acted(by))?;
    Ok(Skipped::Skipped)
}

/// The offset in flight, if its lease is held under `token`; else the document's error, counted into an event. The document
/// guards by the token alone: whoever presents it is its holder.
fn held<'r, B: Books>(
    record: &'r mut Record,
    books: &mut B,
    token: Token,
    verb: Verb,
    now: Time,
) -> Result<Answer<&'r mut InFlight>, B::Error> {
    let lease = record.in_flight.as_ref().map(|flight| &flight.lease);
    let presented = Presented { owner: lease.map_or("", |lease| &lease.owner), token, verb: None::<Verb> };
    let judged = lease::judge::<_, ()>(presented, None, Some(record.last_token), lease, now).or_lost();
    let refused = match (judged, &mut record.in_flight) {
        (Ok(_), Some(flight)) => return Ok(Ok(flight)),
        (Ok(_), None) => Refused::LeaseNotFound,
        (Err(reason), in_flight) => Refused::lost_by(reason, in_flight.is_some()),
    };
    books.tell(Event::refused(now, verb, token, refused))?;
    Ok(Err(refused))
}
