//! Applies operations to a store and to core at the same instant, and compares.

use super::op::{Ask, DOMAINS, HOLDERS, Move, Op, Pick, Which, Write};
use super::plain::Plain;
use super::{Met, Report};
use crate::conformance::domain::DomainHarness;
use crate::conformance::domain::tools::START;
use crate::{DomainStore, StoreError};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenure_core::domain::{Acquire, Advance, Answer, Domains, Held, OFFSET_MAX, Skip};
use tenure_core::{Actor, Time, Token};

/// What was wrong.
pub(super) type Wrong = String;

/// Runs a list; the step that was wrong, and how.
pub(super) async fn run<H: DomainHarness>(
    ops: Vec<Op>,
    every: usize,
    at: Arc<AtomicUsize>,
) -> Result<Report, (usize, Wrong)> {
    let mut runner = Runner::<H>::open().await;
    for (i, op) in ops.iter().enumerate() {
        at.store(i, Ordering::Relaxed);
        runner.step(op).await.map_err(|wrong| (i, wrong))?;
        if i % every == every - 1 || i + 1 == ops.len() {
            runner.compare_all().await.map_err(|wrong| (i, wrong))?;
        }
    }
    Ok(Report { steps: ops.len() as u64, met: runner.plain.met })
}

struct Runner<H> {
    harness: H,
    handles: [Arc<dyn DomainStore>; 2],
    core: Domains,
    plain: Plain,
    now: Time,
    /// Tokens that were told, by domain.
    told: [Vec<Token>; DOMAINS.len()],
    /// The largest offset named so far, by domain.
    largest: [u64; DOMAINS.len()],
}

impl<H: DomainHarness> Runner<H> {
    async fn open() -> Runner<H> {
        let harness = H::open_domains(START).await;
        let handles = [harness.domain_store(), harness.another_domain_store().await];
        let base = harness.epoch().await.base;
        Runner {
            harness,
            handles,
            core: Domains::new(base),
            plain: Plain::new(base),
            now: START,
            told: Default::default(),
            largest: [0; DOMAINS.len()],
        }
    }

    async fn step(&mut self, op: &Op) -> Result<(), Wrong> {
        match op {
            Op::Acquire(asks) => self.acquire(asks).await,
            Op::Succeed(writes) => self.succeed(writes).await,
            Op::Fail(writes) => self.fail(writes).await,
            Op::Beat(writes) => self.beat(writes).await,
            Op::Advance(items) => self.advance(items).await,
            Op::Skip(items) => self.skip(items).await,
            Op::Change(domain, change) => {
                let name = DOMAINS[*domain];
                let theirs = self.handles[0].domain_change(name, *change).await.map_err(unwell)?;
                self.plain.changed(name, change);
                same("change", &theirs, &self.core.change(&name.into(), change, self.now))
            }
            Op::Recover(max) => {
                let theirs = self.handles[1].domain_recover(*max).await.map_err(unwell)?;
                self.plain.recovered(*max, theirs, self.now)?;
                same("recover", &theirs, &self.core.recover(*max as usize, self.now))
            }
            Op::Clock(by) => self.clock(*by).await,
            Op::NewEpoch => {
                let base = self.harness.raise_epoch().await.base;
                self.core.set_base(base);
                self.plain.raised(base);
                Ok(())
            }
            Op::Look(domain) => self.compare(DOMAINS[*domain]).await,
            Op::List { after, state, limit } => {
                let after = after.map(|i| DOMAINS[i]);
                let theirs = self.handles[0].domains(after, *state, *limit).await.map_err(unwell)?;
                same("domains", &theirs, &self.core.domains(after, *state, *limit as usize, self.now))
            }
        }
    }

    async fn acquire(&mut self, asks: &[Ask]) -> Result<(), Wrong> {
        let sent: Vec<(usize, Acquire)> = asks.iter().filter_map(|ask| self.asked(ask)).collect();
        let Some(first) = asks.first().filter(|_| !sent.is_empty()) else { return Ok(()) };
        self.meet_twice(sent.iter().map(|(domain, _)| *domain));
        let handle = &self.handles[usize::from(first.second_handle)];
        let batch = sent.iter().map(|(_, acquire)| acquire.clone()).collect();
        let theirs = whole("acquire", handle.domain_acquire(batch).await, sent.len())?;
        for ((domain, acquire), theirs) in sent.iter().zip(theirs) {
            self.plain.acquired(acquire, theirs, self.now)?;
            same("acquire", &theirs, &self.core.acquire(acquire, self.now))?;
            self.told[*domain].extend(theirs.ok().and_then(|acquired| acquired.token()));
        }
        Ok(())
    }

    async fn succeed(&mut self, writes: &[Write]) -> Result<(), Wrong> {
        let sent = self.sent(writes);
        let Some(handle) = self.handle(writes) else { return Ok(()) };
        let theirs = whole("succeed", handle.domain_succeed(sent.clone()).await, sent.len())?;
        for (held, theirs) in sent.iter().zip(theirs) {
            self.plain.succeeded(held, theirs, self.now)?;
            same("succeed", &theirs, &self.core.succeed(held, self.now))?;
        }
        Ok(())
    }

    async fn fail(&mut self, writes: &[Write]) -> Result<(), Wrong> {
        let sent = self.sent(writes);
        let Some(handle) = self.handle(writes) else { return Ok(()) };
        let theirs = whole("fail", handle.domain_fail(sent.clone()).await, sent.len())?;
        for (held, theirs) in sent.iter().zip(theirs) {
            self.plain.failed(held, theirs, self.now)?;
            same("fail", &theirs, &self.core.fail(held, self.now))?;
        }
        Ok(())
    }

    async fn beat(&mut self, writes: &[Write]) -> Result<(), Wrong> {
        let sent = self.sent(writes);
        let Some(handle) = self.handle(writes) else { return Ok(()) };
        let theirs = whole("heartbeat", handle.domain_heartbeat(sent.clone()).await, sent.len())?;
        for (held, theirs) in sent.iter().zip(theirs) {
            self.plain.beaten(held, theirs, self.now)?;
            same("heartbeat", &theirs, &self.core.heartbeat(held, self.now))?;
        }
        Ok(())
    }

    async fn advance(&mut self, items: &[(Write, Ask)]) -> Result<(), Wrong> {
        let mut sent: Vec<(usize, Advance)> = Vec::new();
        for (write, ask) in items {
            let held = self.held(write);
            let named = self.asked(&Ask { domain: write.domain, ..ask.clone() });
            let holder = ask.holder.map(|i| HOLDERS[i].into());
            let Held { domain, token } = held;
            let next = named.map(|(_, acquire)| acquire.offset);
            sent.push((write.domain, Advance { domain, token, next, holder, lease_ms: ask.lease_ms }));
        }
        let Some((first, _)) = items.first() else { return Ok(()) };
        self.meet_twice(sent.iter().map(|(domain, _)| *domain));
        let handle = &self.handles[usize::from(first.second_handle)];
        let batch = sent.iter().map(|(_, advance)| advance.clone()).collect();
        let theirs = whole("advance", handle.domain_advance(batch).await, sent.len())?;
        for ((domain, advance), theirs) in sent.iter().zip(theirs) {
            self.plain.advanced(advance, theirs, self.now)?;
            same("advance", &theirs, &self.core.advance(advance, self.now))?;
            let next = theirs.ok().and_then(|advanced| advanced.next).and_then(|(_, answer)| answer.ok());
            self.told[*domain].extend(next.and_then(|acquired| acquired.token()));
        }
        Ok(())
    }

    async fn skip(&mut self, items: &[(usize, Which)]) -> Result<(), Wrong> {
        let resolved = items.iter().map(|(domain, which)| (*domain, self.offset(*domain, *which)));
        let sent: Vec<Skip> =
            resolved.filter_map(|(domain, offset)| Some(Skip::new(DOMAINS[domain], offset?))).collect();
        if sent.is_empty() {
            return Ok(());
        }
        let theirs = whole("skip", self.handles[0].domain_skip(sent.clone()).await, sent.len())?;
        for (skip, theirs) in sent.iter().zip(theirs) {
            self.plain.skipped(skip, theirs)?;
            same("skip", &theirs, &self.core.skip(skip, &Actor::default(), self.now))?;
        }
        Ok(())
    }

    async fn clock(&mut self, by: Move) -> Result<(), Wrong> {
        let to = match by {
            Move::Micros(micros) => Some(Time(self.now.0 + micros)),
            Move::ToDeadline(domain, off) => self
                .core
                .get(DOMAINS[domain])
                .and_then(|domain| domain.record.lease.as_ref()?.expiry)
                .map(|expiry| Time(expiry.at.0 + off)),
        };
        if let Some(to) = to.filter(|to| *to > self.now) {
            self.now = to;
            self.harness.set_domain_clock(to).await;
        }
        Ok(())
    }

    async fn compare(&self, name: &str) -> Result<(), Wrong> {
        let theirs = self.handles[0].domain(name).await.map_err(unwell)?;
        same("domain", &theirs, &self.core.domain(name, self.now))?;
        let theirs = self.handles[1].domain_events(name).await.map_err(unwell)?;
        same("events", &theirs, &self.core.events(name))
    }

    async fn compare_all(&self) -> Result<(), Wrong> {
        for name in DOMAINS {
            self.compare(name).await?;
            if let Some(broken) = self.core.get(name).and_then(|domain| domain.broken_invariant()) {
                return Err(format!("core itself: {broken}"));
            }
        }
        let theirs = self.handles[0].domains(None, None, 100).await.map_err(unwell)?;
        same("domains", &theirs, &self.core.domains(None, None, 100, self.now))
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
            Which::InFlight => known.and_then(|known| known.record.lease.as_ref()).map_or(0, |lease| lease.offset),
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

    fn handle(&self, writes: &[Write]) -> Option<Arc<dyn DomainStore>> {
        writes.first().map(|write| self.handles[usize::from(write.second_handle)].clone())
    }

    fn sent(&mut self, writes: &[Write]) -> Vec<Held> {
        self.meet_twice(writes.iter().map(|write| write.domain));
        writes.iter().map(|write| self.held(write)).collect()
    }

    fn held(&self, write: &Write) -> Held {
        let name = DOMAINS[write.domain];
        let held = self.core.get(name).and_then(|known| known.record.lease.as_ref()).map(|lease| lease.token);
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
            self.plain.meet(Met::DomainTwice);
        }
    }
}

fn whole<T>(verb: &str, answers: crate::Result<Vec<T>>, count: usize) -> Result<Vec<T>, Wrong> {
    let answers = answers.map_err(unwell)?;
    if answers.len() == count { Ok(answers) } else { Err(format!("{verb}: {} answers for {count}", answers.len())) }
}

fn unwell(error: StoreError) -> Wrong {
    format!("the store failed: {error}")
}

fn same<T: PartialEq + Debug>(what: &str, theirs: &T, ours: &T) -> Result<(), Wrong> {
    if theirs == ours { Ok(()) } else { Err(format!("{what}: the store says {theirs:?}, core {ours:?}")) }
}

/// An answer that was refused for `code`.
pub(super) fn refused_as<T>(answer: &Answer<T>, code: &str) -> bool {
    answer.as_ref().err().is_some_and(|refused| refused.code() == code)
}
