//! Domains behind one lock, with one mistake.

use super::Bug;
use super::support::Wrongly;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tenure_core::Page;
use tenure_core::domain::rules::Asker;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Book, Books, Change, Domain, DomainInfo, Event, Failed, Held,
    Ranges, Recovered, Refused, Skip, Skipped, State, Succeeded, Told, What,
};
use tenure_core::{Actor, Epoch, Time, Token, Tokens};
use tenure_memory::MemoryStore;
use tenure_store::{Clock, Result};

pub(super) struct Wrong {
    /// For what is not about domains.
    right: MemoryStore,
    bug: Bug,
    clock: Clock,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    domains: BTreeMap<Arc<str>, Domain>,
    tokens: Tokens,
}

impl Wrong {
    fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    /// Does a verb on a domain: under the lock, unless that is the mistake.
    fn with<T>(&self, name: &Arc<str>, make: bool, verb: impl FnOnce(&mut Domain, Token, Time) -> T) -> Option<T> {
        let now = self.clock.now();
        let mut all = self.all.lock().expect("no panic");
        let base = if self.is(Bug::EpochIgnored) { Token(0) } else { all.tokens.epoch.base };
        if make && !all.domains.contains_key(name) {
            all.domains.insert(name.clone(), Domain::new(now));
        }
        if !self.is(Bug::Racy) {
            return all.domains.get_mut(name).map(|domain| verb(domain, base, now));
        }
        let mut copy = all.domains.get(name)?.clone();
        drop(all);
        std::thread::yield_now();
        let answer = verb(&mut copy, base, now);
        std::thread::yield_now();
        self.all.lock().expect("no panic").domains.insert(name.clone(), copy);
        Some(answer)
    }

    fn held<T>(
        &self,
        held: &Held,
        unfenced: Bug,
        verb: impl FnOnce(&mut Domain, Token, Time) -> Answer<T>,
    ) -> Answer<T> {
        let done = self.with(&held.domain, false, |domain, _, now| {
            let current = domain.record.in_flight.as_ref().map(|flight| flight.lease.token);
            let token = if self.is(unfenced) { current.unwrap_or(held.token) } else { held.token };
            let refusals = domain.book.told.clone();
            let answer = verb(domain, token, now);
            if self.is(Bug::RefusalsUncounted) && answer.is_err() {
                domain.book.told = refusals;
            }
            answer
        });
        done.unwrap_or(Err(Refused::LeaseNotFound))
    }

    fn acquire(&self, domain: &mut Domain, offset: u64, asker: Asker<'_>, now: Time) -> Answer<Acquired> {
        let before = domain.clone();
        let flight = before.record.in_flight.as_ref();
        let expired = flight.filter(|flight| !flight.lease.live(now));
        match self.bug {
            Bug::ExpiredToTail if expired.is_some_and(|flight| flight.offset != offset) => {
                let old = domain.record.in_flight.take().expect("it expired").offset;
                done(domain.book.wait(old, now));
                return domain.acquire(offset, asker, now);
            }
            Bug::TakeoverOfLive
                if flight.is_some_and(|flight| flight.offset == offset && flight.lease.deadline().is_some()) =>
            {
                domain.record.in_flight.iter_mut().for_each(|flight| flight.lease.expires_at = now);
            }
            Bug::TakeoversUnlimited => domain.record.settings.takeovers_max = None,
            Bug::OrderIgnored if flight.is_none() => done(domain.book.leave(offset)),
            _ => {}
        }
        if self.is(Bug::OrderIgnored) && flight.is_none() {
            let waiting = domain.book.backlog.take();
            let answer = domain.acquire(offset, asker, now);
            domain.book.backlog = waiting;
            return answer;
        }
        let mut answer = domain.acquire(offset, asker, now);
        domain.record.settings = before.record.settings;
        if self.is(Bug::WaitsAtTheHead) && matches!(answer, Ok(Acquired::Enqueued { .. })) {
            let waiting = before.book.backlog.as_ref().map_or_else(Vec::new, |backlog| backlog.all());
            if !waiting.iter().any(|(waits, _)| *waits == offset) {
                domain.book.backlog = None;
                done(domain.book.wait(offset, now));
                waiting.iter().for_each(|(waits, since)| done(domain.book.wait(*waits, *since)));
            }
        }
        let current = flight.map(|flight| (flight.lease.token, flight.retry_count, flight.holder()));
        match (self.bug, &mut answer, current) {
            (Bug::TokenToAnyCaller, Ok(answer @ Acquired::HeldByOther), Some((token, ..))) => {
                *answer = Acquired::AlreadyAcquired { token };
            }
            (Bug::HolderRefused, Ok(answer @ Acquired::AlreadyAcquired { .. }), Some((_, _, Some(_)))) => {
                *answer = Acquired::HeldByOther;
            }
            (Bug::FailedSaidProcessed, Ok(answer @ Acquired::AlreadyFailed), _) => *answer = Acquired::AlreadyProcessed,
            (bug, Ok(Acquired::Acquired { token }), Some((old, retries, _))) => {
                let taken = domain.record.in_flight.as_mut().expect("it was just acquired");
                match bug {
                    Bug::AgeChangedOnTakeover => taken.acquired_at = now,
                    Bug::RetriesForgottenOnTakeover if retries > 0 => taken.retry_count = 0,
                    Bug::TokenKeptOnTakeover => (taken.lease.token, *token) = (old, old),
                    _ => {}
                }
            }
            _ => {}
        }
        answer
    }

    fn succeed(&self, domain: &mut Domain, token: Token, now: Time) -> Answer<Succeeded> {
        let offset = domain.record.in_flight.as_ref().map(|flight| flight.offset);
        if self.is(Bug::ExpiredSucceeds) {
            domain.record.in_flight.iter_mut().for_each(|flight| {
                if flight.lease.token == token {
                    flight.lease.expires_at = Time::MAX;
                }
            });
        }
        let answer = domain.succeed(token, now);
        if let (Ok(succeeded), Some(offset)) = (answer, offset) {
            match (self.bug, succeeded.hint()) {
                (Bug::HeadPoppedBySucceed, Some(hint)) => done(domain.book.leave(hint)),
                (Bug::EndedForgotten, _) if offset % 5 == 3 => {
                    let kept = domain.book.ended.all();
                    domain.book.ended = Ranges::default();
                    let all = kept.iter().filter(|(from, to)| to - from < 1_000).flat_map(|(from, to)| *from..=*to);
                    all.filter(|kept| *kept != offset).for_each(|kept| domain.book.ended.insert(kept));
                }
                (Bug::GapSwallowed, _) if domain.book.ended.contains(offset + 2) => {
                    domain.book.ended.insert(offset + 1)
                }
                _ => {}
            }
        }
        answer
    }

    fn fail(&self, domain: &mut Domain, token: Token, now: Time) -> Answer<Failed> {
        let settings = domain.record.settings;
        if self.is(Bug::OneRetryMore) {
            domain.record.settings.max_retries += 1;
        }
        let answer = domain.fail(token, now);
        domain.record.settings = settings;
        match (self.bug, answer) {
            (Bug::HeadPoppedByGivingUp, Ok(Failed::GiveUpNextHint { offset })) => done(domain.book.leave(offset)),
            (Bug::RetryDropsLease, Ok(Failed::RetryScheduled { retry_count: 2 })) => domain.record.in_flight = None,
            (Bug::FailRenews, Ok(Failed::RetryScheduled { .. })) => drop(domain.heartbeat(token, now).is_ok()),
            _ => {}
        }
        answer
    }

    fn heartbeat(&self, domain: &mut Domain, token: Token, now: Time) -> Answer<Beaten> {
        let before = domain.record.in_flight.clone();
        if self.is(Bug::ZombieHeartbeat)
            && let Some(flight) = domain.record.in_flight.as_mut().filter(|flight| flight.lease.token == token)
        {
            flight.lease.expires_at = flight.lease.expires_at.max(now.plus_ms(1));
        }
        let end = before.as_ref().and_then(|flight| flight.lease.deadline()).map(|at| Time(at.0 - 1));
        let from = end.filter(|end| self.is(Bug::RenewedFromItsEnd) && *end > now).unwrap_or(now);
        let answer = domain.heartbeat(token, from);
        if self.is(Bug::HeartbeatIdle) {
            domain.record.in_flight = before;
        }
        answer
    }

    fn skip(&self, domain: &mut Domain, offset: u64, now: Time) -> Skipped {
        let before = domain.record.in_flight.clone().filter(|flight| flight.offset == offset);
        let answer = domain.skip(offset, &Actor::default(), now);
        if self.is(Bug::SkipLeavesLease) && answer == Skipped::Skipped && before.is_some() {
            domain.record.in_flight = before;
        }
        if self.is(Bug::SkipMovesRest)
            && let Some((head, since)) = domain.book.backlog.as_ref().and_then(|backlog| backlog.head())
            && answer == Skipped::Skipped
        {
            done(domain.book.leave(head));
            done(domain.book.wait(head, since));
        }
        answer
    }

    fn each<A, T>(&self, mut items: Vec<A>, verb: impl Fn(&A) -> T) -> Vec<T> {
        if !self.is(Bug::BatchReversed) {
            return items.iter().map(verb).collect();
        }
        items.reverse();
        let mut answers: Vec<T> = items.iter().map(verb).collect();
        answers.reverse();
        answers
    }
}

fn done(done: std::result::Result<(), std::convert::Infallible>) {
    match done {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

#[async_trait]
impl Wrongly for Wrong {
    fn planted(bug: usize, clock: Clock) -> Wrong {
        let right = MemoryStore::with_clock(clock.clone());
        Wrong { right, bug: Bug::ALL[bug], clock, all: Mutex::default() }
    }

    fn right(&self) -> &MemoryStore {
        &self.right
    }

    async fn epoch(&self) -> Result<Epoch> {
        Ok(self.all.lock().expect("no panic").tokens.epoch)
    }

    async fn new_epoch(&self) -> Result<Epoch> {
        let mut all = self.all.lock().expect("no panic");
        Ok(all.tokens.raise(self.clock.now()).expect("tokens are left"))
    }

    async fn domain_acquire(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        Ok(self.each(acquires, |it| {
            let verb = |domain: &mut Domain, base, now| {
                let asker = Asker { holder: it.holder.as_ref(), lease_ms: it.lease_ms, base };
                self.acquire(domain, it.offset, asker, now)
            };
            self.with(&it.domain, true, verb).expect("it was made")
        }))
    }

    async fn domain_succeed(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        Ok(self.each(writes, |held| {
            self.held(held, Bug::SucceedUnfenced, |domain, token, now| self.succeed(domain, token, now))
        }))
    }

    async fn domain_fail(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        Ok(self.each(writes, |held| {
            self.held(held, Bug::FailUnfenced, |domain, token, now| self.fail(domain, token, now))
        }))
    }

    async fn domain_heartbeat(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        Ok(self.each(beats, |held| {
            self.held(held, Bug::HeartbeatUnfenced, |domain, token, now| self.heartbeat(domain, token, now))
        }))
    }

    async fn domain_advance(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        Ok(self.each(advances, |it| {
            let done = self.with(&it.domain, false, |domain, base, now| {
                let asker = Asker { holder: it.holder.as_ref(), lease_ms: it.lease_ms, base };
                domain.advance(it.token, it.next, asker, now)
            });
            done.unwrap_or(Err(Refused::LeaseNotFound))
        }))
    }

    async fn domain_skip(&self, skips: Vec<Skip>) -> Result<Vec<Skipped>> {
        let verb = |it: &Skip| self.with(&it.domain, true, |domain, _, now| self.skip(domain, it.offset, now));
        Ok(self.each(skips, |it| verb(it).expect("it was made")))
    }

    async fn domain_change(&self, name: &str, change: Change) -> Result<DomainInfo> {
        let name: Arc<str> = name.into();
        let verb = |domain: &mut Domain, _, now| {
            domain.record.settings = domain.record.settings.changed(&change);
            DomainInfo::of(name.clone(), &domain.record, &domain.book, now)
        };
        Ok(self.with(&name, true, verb).expect("it was made"))
    }

    async fn domain_recover(&self, max: u32) -> Result<Recovered> {
        let now = self.clock.now();
        let mut all = self.all.lock().expect("no panic");
        let due = |domain: &Domain| domain.untold_expiry().filter(|at| *at <= now);
        let mut expired: Vec<(Time, Arc<str>)> =
            all.domains.iter().filter_map(|(name, domain)| Some((due(domain)?, name.clone()))).collect();
        expired.sort();
        if !self.is(Bug::RecoveryUnbounded) {
            expired.truncate(max as usize);
        }
        let mut recovered = Recovered::default();
        for (_, name) in expired {
            let domain = all.domains.get_mut(&name).expect("it was just seen");
            recovered.expired += 1;
            recovered.failed += u32::from(domain.expire(now));
            match self.bug {
                Bug::RecoveryClears => domain.record.in_flight = None,
                Bug::RecoveryRepeats => {
                    domain.record.in_flight.iter_mut().for_each(|flight| flight.expiry_told = false);
                }
                _ => {}
            }
        }
        Ok(recovered)
    }

    async fn domain(&self, name: &str) -> Result<Option<DomainInfo>> {
        let now = self.clock.now();
        let all = self.all.lock().expect("no panic");
        let known = all.domains.get_key_value(name);
        Ok(known.map(|(name, domain)| DomainInfo::of(name.clone(), &domain.record, &domain.book, now)))
    }

    async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        let now = self.clock.now();
        let all = self.all.lock().expect("no panic");
        let infos =
            all.domains.iter().map(|(name, domain)| DomainInfo::of(name.clone(), &domain.record, &domain.book, now));
        let overlap = self.is(Bug::PagesOverlap);
        let follows = |name: &str| after.is_none_or(|after| name > after || overlap && name == after);
        let matching = infos.filter(|info| follows(&info.name) && state.is_none_or(|state| info.is(state)));
        let mut items: Vec<DomainInfo> = matching.take(limit as usize + 1).collect();
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        Ok(Page { items, more })
    }

    async fn domain_events(&self, name: &str) -> Result<Vec<Event>> {
        let all = self.all.lock().expect("no panic");
        let book: Option<&Book> = all.domains.get(name).map(|domain| &domain.book);
        let told: Vec<Event> = book.and_then(|book| book.told.as_deref()).map_or_else(Vec::new, Told::all);
        debug_assert!(told.iter().all(|event| event.count == 1 || event.what == What::Refused));
        Ok(told)
    }
}
