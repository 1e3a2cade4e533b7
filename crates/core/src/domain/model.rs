//! A domain in memory, and all of them as one value: the oracle that every backend is compared with.

use super::answer::{Acquired, Advanced, Answer, Beaten, Failed, Refused, Skipped, Succeeded};
use super::book::Book;
use super::event::Event;
use super::record::Record;
use super::request::{Acquire, Advance, Change, DomainInfo, Held, Recovered, Skip, State};
use super::rules::{self, Asker};
use crate::actor::Actor;
use crate::lease::Token;
use crate::page::Page;
use crate::time::Time;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound;
use std::sync::Arc;

/// One domain. The memory store keeps each behind a lock of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Lease, last token, settings.
    pub record: Record,
    /// What ended, what waits, what happened.
    pub book: Book,
}

/// Books in memory never fail.
fn sure<T>(done: Result<T, Infallible>) -> T {
    match done {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

impl Domain {
    /// A domain that was never used.
    #[must_use]
    pub fn new(now: Time) -> Domain {
        Domain { record: Record::new(now), book: Book::default() }
    }

    /// `tryAcquire`.
    pub fn acquire(&mut self, offset: u64, asker: Asker<'_>, now: Time) -> Answer<Acquired> {
        sure(rules::acquire(&mut self.record, &mut self.book, offset, asker, now))
    }

    /// `succeed`.
    pub fn succeed(&mut self, token: Token, now: Time) -> Answer<Succeeded> {
        sure(rules::succeed(&mut self.record, &mut self.book, token, now))
    }

    /// `fail`.
    pub fn fail(&mut self, token: Token, now: Time) -> Answer<Failed> {
        sure(rules::fail(&mut self.record, &mut self.book, token, now))
    }

    /// Renews the lease.
    pub fn heartbeat(&mut self, token: Token, now: Time) -> Answer<Beaten> {
        sure(rules::heartbeat(&mut self.record, &mut self.book, token, now))
    }

    /// `succeed`, then `tryAcquire` of what comes next.
    pub fn advance(&mut self, token: Token, next: Option<u64>, asker: Asker<'_>, now: Time) -> Answer<Advanced> {
        sure(rules::advance(&mut self.record, &mut self.book, token, next, asker, now))
    }

    /// An operator's skip.
    pub fn skip(&mut self, offset: u64, by: &Actor, now: Time) -> Skipped {
        sure(rules::skip(&mut self.record, &mut self.book, offset, by, now))
    }

    /// Tells a lease that ran out. Whether the offset failed for good.
    pub fn expire(&mut self, now: Time) -> bool {
        sure(rules::expire(&mut self.record, &mut self.book, now))
    }

    /// When the lease runs out, if it does and has not been told.
    #[must_use]
    pub fn untold_expiry(&self) -> Option<Time> {
        self.record.in_flight.as_ref().filter(|flight| !flight.expiry_told)?.lease.deadline()
    }

    /// Its events, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.book.told.as_ref().map_or_else(Vec::new, |told| told.all())
    }

    /// The invariants of the document that can be read off one state; the one that is broken, if one is.
    #[must_use]
    pub fn broken_invariant(&self) -> Option<String> {
        let (ended, backlog) = (&self.book.ended, self.book.backlog.as_ref().map_or_else(Vec::new, |it| it.all()));
        if let Some(flight) = &self.record.in_flight {
            if ended.contains(flight.offset) {
                return Some(format!("disjointness: {} is in flight and terminal", flight.offset));
            }
            if backlog.iter().any(|(offset, _)| *offset == flight.offset) {
                return Some(format!("disjointness: {} is in flight and waits", flight.offset));
            }
            if flight.lease.token != self.record.last_token {
                return Some(format!("token fencing: the lease has token {}, not the last one", flight.lease.token));
            }
            if flight.retry_count > 1_000 {
                return Some(format!("{} retries", flight.retry_count));
            }
        }
        let mut seen: Vec<u64> = backlog.iter().map(|(offset, _)| *offset).collect();
        seen.sort_unstable();
        if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            return Some(format!("FIFO: {} waits twice", twice[0]));
        }
        if let Some(offset) = seen.iter().find(|offset| ended.contains(**offset)) {
            return Some(format!("disjointness: {offset} waits and is terminal"));
        }
        let failed = self.book.failed.as_ref().map_or_else(Vec::new, |failed| failed.all());
        let outside = failed.iter().find(|(from, to)| !ended.contains(*from) || !ended.contains(*to));
        outside.map(|range| format!("the failed offsets {range:?} have not ended"))
    }
}

/// All domains.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    all: BTreeMap<Arc<str>, Domain>,
    base: Token,
}

impl Domains {
    /// None yet, in the epoch with this base.
    #[must_use]
    pub fn new(base: Token) -> Domains {
        Domains { all: BTreeMap::new(), base }
    }

    /// Tokens drawn from now on are at least `base` (L2).
    pub fn set_base(&mut self, base: Token) {
        self.base = base;
    }

    /// One domain, if it was ever used.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Domain> {
        self.all.get(name)
    }

    fn made(&mut self, name: &Arc<str>, now: Time) -> &mut Domain {
        self.all.entry(name.clone()).or_insert_with(|| Domain::new(now))
    }

    fn known<T>(&mut self, held: &Held, verb: impl FnOnce(&mut Domain) -> Answer<T>) -> Answer<T> {
        self.all.get_mut(&held.domain).map_or(Err(Refused::LeaseNotFound), verb)
    }

    /// `tryAcquire`.
    pub fn acquire(&mut self, it: &Acquire, now: Time) -> Answer<Acquired> {
        let asker = Asker { holder: it.holder.as_ref(), lease_ms: it.lease_ms, base: self.base };
        self.made(&it.domain, now).acquire(it.offset, asker, now)
    }

    /// `succeed`.
    pub fn succeed(&mut self, held: &Held, now: Time) -> Answer<Succeeded> {
        self.known(held, |domain| domain.succeed(held.token, now))
    }

    /// `fail`.
    pub fn fail(&mut self, held: &Held, now: Time) -> Answer<Failed> {
        self.known(held, |domain| domain.fail(held.token, now))
    }

    /// Renews a lease.
    pub fn heartbeat(&mut self, held: &Held, now: Time) -> Answer<Beaten> {
        self.known(held, |domain| domain.heartbeat(held.token, now))
    }

    /// `succeed`, then `tryAcquire` of what comes next.
    pub fn advance(&mut self, it: &Advance, now: Time) -> Answer<Advanced> {
        let asker = Asker { holder: it.holder.as_ref(), lease_ms: it.lease_ms, base: self.base };
        let domain = self.all.get_mut(&it.domain).ok_or(Refused::LeaseNotFound)?;
        domain.advance(it.token, it.next, asker, now)
    }

    /// An operator's skip.
    pub fn skip(&mut self, skip: &Skip, by: &Actor, now: Time) -> Skipped {
        self.made(&skip.domain, now).skip(skip.offset, by, now)
    }

    /// Changes settings; a domain that is not there yet is made.
    pub fn change(&mut self, name: &Arc<str>, change: &Change, now: Time) -> DomainInfo {
        let domain = self.made(name, now);
        domain.record.settings = domain.record.settings.changed(change);
        DomainInfo::of(name.clone(), &domain.record, &domain.book, now)
    }

    /// Tells at most `max` leases that ran out, the longest ago first.
    pub fn recover(&mut self, max: usize, now: Time) -> Recovered {
        let due = |domain: &Domain| domain.untold_expiry().filter(|at| *at <= now);
        let mut expired: Vec<(Time, Arc<str>)> =
            self.all.iter().filter_map(|(name, domain)| Some((due(domain)?, name.clone()))).collect();
        expired.sort();
        expired.truncate(max);
        let mut recovered = Recovered::default();
        for (_, name) in expired {
            let Some(domain) = self.all.get_mut(&name) else { continue };
            recovered.expired += 1;
            recovered.failed += u32::from(domain.expire(now));
        }
        recovered
    }

    /// One domain, if it was ever used.
    #[must_use]
    pub fn domain(&self, name: &str, now: Time) -> Option<DomainInfo> {
        let (name, domain) = self.all.get_key_value(name)?;
        Some(DomainInfo::of(name.clone(), &domain.record, &domain.book, now))
    }

    /// Domains by name, from after `after`, only those in `state` if one is named.
    #[must_use]
    pub fn domains(&self, after: Option<&str>, state: Option<State>, limit: usize, now: Time) -> Page<DomainInfo> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let all = self.all.range::<str, _>((from, Bound::Unbounded));
        let infos = all.map(|(name, domain)| DomainInfo::of(name.clone(), &domain.record, &domain.book, now));
        let mut items: Vec<DomainInfo> =
            infos.filter(|info| state.is_none_or(|state| info.is(state))).take(limit + 1).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        Page { items, more }
    }

    /// The events of a domain, oldest first.
    #[must_use]
    pub fn events(&self, name: &str) -> Vec<Event> {
        self.all.get(name).map_or_else(Vec::new, Domain::events)
    }
}
