//! Applies operations to a store and to core at the same instant, and compares.

use super::Met;
use super::op::{Ask, DOMAINS, HOLDERS, Move, Op, Pick, Which, Write, op};
use super::plain::Plain;
use crate::Store;
use crate::conformance::walk::{Bench, Chance, Report, Walk, Wrong, same, unwell, whole};
use async_trait::async_trait;
use std::fmt::Debug;
use tenure_core::domain::{Acquire, Advance, Answer, Domains, Held, OFFSET_MAX, Skip};
use tenure_core::{Actor, Time, Token};

/// A store and core, domain by domain.
pub struct DomainWalk {
    bench: Bench,
    core: Domains,
    plain: Plain,
    /// Tokens that were told, by domain.
    told: [Vec<Token>; DOMAINS.len()],
    /// The largest offset named so far, by domain.
    largest: [u64; DOMAINS.len()],
}

#[async_trait]
impl Walk for DomainWalk {
    type Op = Op;
    type Met = Met;
    const WORTH_MEETING: &'static [Met] = Met::ALL;
    const LONG: u64 = 8_000;
    const SHORT: usize = 300;

    fn draw(chance: &mut Chance) -> Op {
        op(chance)
    }

    fn thinner(op: &Op) -> Vec<Op> {
        op.thinner()
    }

    async fn open(bench: Bench) -> DomainWalk {
        let base = bench.handles[0].epoch().await.expect("the epoch").base;
        let (core, plain) = (Domains::new(base), Plain::new(base));
        DomainWalk { bench, core, plain, told: Default::default(), largest: [0; DOMAINS.len()] }
    }

    async fn compare(&mut self) -> Result<(), Wrong> {
        for name in DOMAINS {
            self.compare_one(name).await?;
            if let Some(broken) = self.core.get(name).and_then(|domain| domain.broken_invariant()) {
                return Err(format!("core itself: {broken}"));
            }
        }
        let theirs = self.bench.handles[0].domains(None, None, 100).await.map_err(unwell)?;
        same("domains", &theirs, &self.core.domains(None, None, 100, self.bench.now))
    }

    fn report(&mut self) -> &mut Report<Met> {
        &mut self.plain.report
    }

    async fn apply(&mut self, op: &Op, store: &dyn Store) -> Result<(), Wrong> {
        match op {
            Op::Acquire(asks) => self.acquire(store, asks).await,
            Op::Succeed(writes) => {
                let sent = self.sent(writes);
                let theirs = store.domain_succeed(sent.clone()).await;
                self.written("succeed", &sent, theirs, Plain::succeeded, Domains::succeed)
            }
            Op::Fail(writes) => {
                let sent = self.sent(writes);
                let theirs = store.domain_fail(sent.clone()).await;
                self.written("fail", &sent, theirs, Plain::failed, Domains::fail)
            }
            Op::Beat(writes) => {
                let sent = self.sent(writes);
                let theirs = store.domain_heartbeat(sent.clone()).await;
                self.written("heartbeat", &sent, theirs, Plain::beaten, Domains::heartbeat)
            }
            Op::Advance(items) => self.advance(store, items).await,
            Op::Skip(items) => self.skip_offsets(store, items).await,
            Op::Change(domain, change) => {
                let name = DOMAINS[*domain];
                let theirs = store.domain_change(name, *change).await.map_err(unwell)?;
                self.plain.changed(name, change, self.bench.now);
                same("change", &theirs, &self.core.change(&name.into(), change, self.bench.now))
            }
            Op::Recover(max) => {
                let theirs = store.domain_recover(*max).await.map_err(unwell)?;
                self.plain.recovered(*max, theirs, self.bench.now)?;
                same("recover", &theirs, &self.core.recover(*max as usize, self.bench.now))
            }
            Op::Clock(by) => self.clock(*by).await,
            Op::NewEpoch => {
                let base = store.new_epoch().await.map_err(unwell)?.base;
                self.core.set_base(base);
                self.plain.raised(base);
                Ok(())
            }
            Op::Look(domain) => self.compare_one(DOMAINS[*domain]).await,
            Op::List { after, state, limit } => {
                let after = after.map(|i| DOMAINS[i]);
                let theirs = store.domains(after, *state, *limit).await.map_err(unwell)?;
                same("domains", &theirs, &self.core.domains(after, *state, *limit as usize, self.bench.now))
            }
        }
    }
}

impl DomainWalk {
    async fn acquire(&mut self, store: &dyn Store, asks: &[Ask]) -> Result<(), Wrong> {
        let sent: Vec<(usize, Acquire)> = asks.iter().filter_map(|ask| self.asked(ask)).collect();
        if sent.is_empty() {
            return self.skip();
        }
        self.meet_twice(sent.iter().map(|(domain, _)| *domain));
        let batch = sent.iter().map(|(_, acquire)| acquire.clone()).collect();
        let theirs = whole("acquire", store.domain_acquire(batch).await, sent.len())?;
        for ((domain, acquire), theirs) in sent.iter().zip(theirs) {
            self.plain.acquired(acquire, theirs, self.bench.now)?;
            same("acquire", &theirs, &self.core.acquire(acquire, self.bench.now))?;
            self.told[*domain].extend(theirs.ok().and_then(|acquired| acquired.token()));
        }
        Ok(())
    }

    /// The answers to writes under tokens, judged and compared.
    fn written<T: Copy + Debug + PartialEq>(
        &mut self,
        verb: &str,
        sent: &[Held],
        answers: crate::Result<Vec<Answer<T>>>,
        judge: fn(&mut Plain, &Held, Answer<T>, Time) -> Result<(), Wrong>,
        core: fn(&mut Domains, &Held, Time) -> Answer<T>,
    ) -> Result<(), Wrong> {
        for (held, theirs) in sent.iter().zip(whole(verb, answers, sent.len())?) {
            judge(&mut self.plain, held, theirs, self.bench.now)?;
            same(verb, &theirs, &core(&mut self.core, held, self.bench.now))?;
        }
        Ok(())
    }

    async fn advance(&mut self, store: &dyn Store, items: &[(Write, Ask)]) -> Result<(), Wrong> {
        let mut sent: Vec<(usize, Advance)> = Vec::new();
        for (write, ask) in items {
            let held = self.held(write);
            let named = self.asked(&Ask { domain: write.domain, ..ask.clone() });
            let holder = ask.holder.map(|i| HOLDERS[i].into());
            let Held { domain, token } = held;
            let next = named.map(|(_, acquire)| acquire.offset);
            sent.push((write.domain, Advance { domain, token, next, holder, lease_ms: ask.lease_ms }));
        }
        self.meet_twice(sent.iter().map(|(domain, _)| *domain));
        let batch = sent.iter().map(|(_, advance)| advance.clone()).collect();
        let theirs = whole("advance", store.domain_advance(batch).await, sent.len())?;
        for ((domain, advance), theirs) in sent.iter().zip(theirs) {
            self.plain.advanced(advance, theirs, self.bench.now)?;
            same("advance", &theirs, &self.core.advance(advance, self.bench.now))?;
            let next = theirs.ok().and_then(|advanced| advanced.next).and_then(|(_, answer)| answer.ok());
            self.told[*domain].extend(next.and_then(|acquired| acquired.token()));
        }
        Ok(())
    }

    async fn skip_offsets(&mut self, store: &dyn Store, items: &[(usize, Which)]) -> Result<(), Wrong> {
        let resolved = items.iter().map(|(domain, which)| (*domain, self.offset(*domain, *which)));
        let sent: Vec<Skip> =
            resolved.filter_map(|(domain, offset)| Some(Skip::new(DOMAINS[domain], offset?))).collect();
        if sent.is_empty() {
            return self.skip();
        }
        let theirs = whole("skip", store.domain_skip(sent.clone()).await, sent.len())?;
        for (skip, theirs) in sent.iter().zip(theirs) {
            self.plain.skipped(skip, theirs, self.bench.now)?;
            same("skip", &theirs, &self.core.skip(skip, &Actor::default(), self.bench.now))?;
        }
        Ok(())
    }

    async fn clock(&mut self, by: Move) -> Result<(), Wrong> {
        let to = match by {
            Move::Micros(micros) => Some(Time(self.bench.now.0 + micros)),
            Move::ToDeadline(domain, off) => self
                .core
                .get(DOMAINS[domain])
                .and_then(|domain| domain.record.in_flight.as_ref()?.lease.deadline())
                .map(|at| Time(at.0 + off)),
        };
        let Some(to) = to.filter(|to| *to > self.bench.now) else { return self.skip() };
        self.bench.set_clock(to).await;
        Ok(())
    }

    async fn compare_one(&self, name: &str) -> Result<(), Wrong> {
        let theirs = self.bench.handles[0].domain(name).await.map_err(unwell)?;
        same("domain", &theirs, &self.core.domain(name, self.bench.now))?;
        let theirs = self.bench.handles[1].domain_events(name).await.map_err(unwell)?;
        same("events", &theirs, &self.core.events(name))
    }

    fn asked(&mut self, ask: &Ask) -> Option<(usize, Acquire)> {
        let offset = self.offset(ask.domain, ask.offset)?;
        let holder = ask.holder.map(|i| HOLDERS[i].into());
        let domain = DOMAINS[ask.domain].into();
        Some((ask.domain, Acquire { domain, offset, holder, lease_ms: ask.lease_ms }))
    }

    fn offset(&mut self, domain: usize, which: Which) -> Option<u64> {
        let known = self.core.get(DOMAINS[domain]);
        let head = known.and_then(|known| known.book.backlog.as_ref()?.head());
        let offset = match which {
            Which::Nothing => return None,
            Which::Head => head.map_or(self.largest[domain] + 1, |(offset, _)| offset),
            Which::InFlight => {
                known.and_then(|known| known.record.in_flight.as_ref()).map_or(0, |flight| flight.offset)
            }
            Which::Fresh => self.largest[domain] + 1,
            // Both ends of what is allowed, now and then.
            Which::Any(29) => OFFSET_MAX,
            Which::Any(28) => OFFSET_MAX - 1,
            Which::Any(offset) => offset,
        };
        if offset < OFFSET_MAX - 1 {
            self.largest[domain] = self.largest[domain].max(offset);
        }
        Some(offset)
    }

    fn sent(&mut self, writes: &[Write]) -> Vec<Held> {
        self.meet_twice(writes.iter().map(|write| write.domain));
        writes.iter().map(|write| self.held(write)).collect()
    }

    fn held(&self, write: &Write) -> Held {
        let name = DOMAINS[write.domain];
        let held =
            self.core.get(name).and_then(|known| known.record.in_flight.as_ref()).map(|flight| flight.lease.token);
        let told = &self.told[write.domain];
        let token = match write.token {
            Pick::Held => held,
            Pick::Earlier(n) => told.len().checked_sub(n + 1).map(|i| told[i]),
            Pick::MadeUp(token) => Some(Token(token)),
        };
        Held::new(name, token.unwrap_or(Token(3)))
    }

    fn meet_twice(&mut self, domains: impl Iterator<Item = usize>) {
        let mut domains: Vec<usize> = domains.collect();
        let count = domains.len();
        domains.sort_unstable();
        domains.dedup();
        if domains.len() < count {
            self.plain.report.meet(Met::DomainTwice);
        }
    }
}

/// An answer that was refused for `code`.
pub(super) fn refused_as<T>(answer: &Answer<T>, code: &str) -> bool {
    answer.as_ref().err().is_some_and(|refused| refused.code() == code)
}
