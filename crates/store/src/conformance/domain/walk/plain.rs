//! The document read plainly: sets, a list, a lease. Written apart from core, to judge answers by itself.
//!
//! What it says first is the rule that was broken: what all faces share, the six invariants by number, D1 to D4, D7, L2, L7.

use super::Met;
use super::run::refused_as;
use crate::conformance::walk::{Grant, Ledger, Presented, Report, Wrong};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, Failed, Held, Recovered, Refused, Skip, Skipped,
    Succeeded,
};
use tenure_core::{Time, Token};

#[derive(Debug, Default)]
pub(super) struct Plain {
    all: BTreeMap<String, One>,
    base: Token,
    pub(super) report: Report<Met>,
}

#[derive(Debug)]
struct One {
    /// Offsets; tokens grow in each domain for itself (D5), and no ending is answered twice (D1).
    held: Ledger<u64, &'static str, &'static str>,
    flight: Flight,
    processed: BTreeSet<u64>,
    failed: BTreeSet<u64>,
    backlog: Vec<u64>,
    max_retries: Option<u32>,
    takeovers_max: Option<u32>,
}

/// What is known of the offset in flight beside who holds it.
#[derive(Debug, Default)]
struct Flight {
    retries: u32,
    takeovers: u32,
    told: bool,
}

impl One {
    fn new(now: Time) -> One {
        let (held, flight, backlog) = (Ledger::new(now), Flight::default(), Vec::new());
        let (processed, failed) = (BTreeSet::new(), BTreeSet::new());
        One { held, flight, processed, failed, backlog, max_retries: None, takeovers_max: None }
    }

    /// The offset in flight, and the claim it is under.
    fn lease(&self) -> Option<(u64, &Grant)> {
        self.held.claimed().next().map(|(offset, grant)| (*offset, grant))
    }

    fn expired(&self) -> Option<(u64, &Grant)> {
        self.lease().filter(|(_, grant)| grant.until <= self.held.now)
    }

    /// A takeover more would be too many.
    fn spent(&self) -> bool {
        self.takeovers_max.is_some_and(|max| self.flight.takeovers >= max)
    }

    /// What a token stands for: a write does not name its holder.
    fn presented(&self, token: Token) -> Presented<u64> {
        let lease = self.lease();
        let owner = lease.map_or(String::new(), |(_, grant)| grant.owner.clone());
        Presented { unit: lease.map(|(offset, _)| offset), owner, token }
    }

    /// The offset in flight ended.
    fn end(&mut self, well: bool) {
        let Some(offset) = self.lease().map(|(offset, _)| offset) else { return };
        self.held.free(&offset);
        if well {
            self.processed.insert(offset)
        } else {
            self.failed.insert(offset)
        };
    }
}

/// Nobody, among holders: a name is never empty.
fn name_of(holder: Option<&str>) -> &str {
    holder.unwrap_or_default()
}

fn broken(rule: &str, what: impl std::fmt::Debug) -> Result<(), Wrong> {
    Err(format!("{rule}: {what:?}"))
}

impl Plain {
    pub(super) fn new(base: Token) -> Plain {
        Plain { base, ..Plain::default() }
    }

    fn meet(&mut self, met: Met) {
        self.report.meet(met);
    }

    pub(super) fn raised(&mut self, base: Token) {
        self.base = base;
        self.meet(Met::EpochRaised);
    }

    fn one(&mut self, name: &str, now: Time) -> &mut One {
        let one = self.all.entry(name.to_owned()).or_insert_with(|| One::new(now));
        one.held.now = now;
        one
    }

    pub(super) fn acquired(&mut self, it: &Acquire, answer: Answer<Acquired>, now: Time) -> Result<(), Wrong> {
        let base = self.base;
        let one = self.one(&it.domain, now);
        let (offset, holder) = (it.offset, name_of(it.holder.as_deref()));
        let ended = one.processed.contains(&offset) || one.failed.contains(&offset);
        let expired = one.expired().map(|(offset, _)| offset);
        match answer {
            Ok(Acquired::AlreadyProcessed) => {
                if !one.processed.contains(&offset) {
                    return broken("invariant 4", (offset, "was not processed"));
                }
                self.meet(Met::AlreadyProcessed);
            }
            Ok(Acquired::AlreadyFailed) => {
                if expired == Some(offset) && one.spent() {
                    one.end(false);
                    self.meet(Met::TakeoversSpent);
                } else if !one.failed.contains(&offset) {
                    return broken("invariant 4", (offset, "had not failed"));
                }
                self.meet(Met::AlreadyFailed);
            }
            _ if ended => return broken("invariant 4", (offset, "has ended", answer)),
            Ok(Acquired::Acquired { token }) => {
                if token < base {
                    return broken("L2", (token, "from", base));
                }
                let (flight, met) = match one.lease() {
                    Some(lease) if lease.0 != offset => return broken("invariant 1", (lease, answer)),
                    Some(lease) if one.spent() => return broken("D4", (lease, "had no takeover left")),
                    Some(_) => {
                        let Flight { retries, takeovers, .. } = one.flight;
                        (Flight { retries, takeovers: takeovers + 1, told: false }, Met::TakenOver)
                    }
                    None if one.backlog.is_empty() => (Flight::default(), Met::Acquired),
                    None => {
                        if one.backlog.remove(0) != offset {
                            return broken("invariant 3", (offset, "was not the head", &one.backlog));
                        }
                        (Flight::default(), Met::HeadAcquired)
                    }
                };
                // Without a span it never runs out.
                let lease_ms = it.lease_ms.unwrap_or(u64::MAX);
                one.held.grant(offset, Grant::new(holder, token, now.plus_ms(lease_ms), lease_ms), false)?;
                one.flight = flight;
                self.meet(met);
            }
            Ok(Acquired::Enqueued { expired_offset }) => {
                let Some((in_flight, _)) = one.lease() else {
                    return broken("invariant 3", (offset, "waits for nothing"));
                };
                if in_flight == offset {
                    return broken("invariant 2", (offset, "is in flight and waits"));
                }
                if expired_offset != expired {
                    return broken("D4", (expired_offset, "expired, but", expired));
                }
                if !one.backlog.contains(&offset) {
                    one.backlog.push(offset);
                }
                self.meet(if expired.is_some() { Met::EnqueuedBehindExpired } else { Met::Enqueued });
            }
            Ok(Acquired::AlreadyAcquired { token }) => {
                let Some(grant) = one.held.holder(&offset) else {
                    return broken("invariant 1", (offset, "is not in flight"));
                };
                if !grant.owner.is_empty() && grant.owner != holder {
                    return broken("D3", (holder, "was told the token of", &grant.owner));
                }
                if grant.token != token {
                    return broken("invariant 5", (token, "is not", grant.token));
                }
                self.meet(Met::AlreadyAcquired);
            }
            Ok(Acquired::HeldByOther) => {
                let grant = one.held.holder(&offset);
                if grant.is_none_or(|grant| grant.owner.is_empty() || grant.owner == holder) {
                    return broken("D3", (offset, "is not held by another", grant));
                }
                self.meet(Met::HeldByOther);
            }
            Err(Refused::BacklogOrdering { expected, got }) => {
                if one.lease().is_some() || one.backlog.first() != Some(&expected) || got != offset || got == expected {
                    return broken("invariant 3", (one.lease(), &one.backlog, answer));
                }
                self.meet(Met::BacklogOrdering);
            }
            Err(refused) => return broken("D1", refused),
        }
        Ok(())
    }

    /// Whether a write counts, as it was answered; if not, by the order of the document's checks.
    fn written<T>(&mut self, held: &Held, verb: &'static str, answer: &Answer<T>, now: Time) -> Result<bool, Wrong> {
        let one = self.one(&held.domain, now);
        if one.held.written(&one.presented(held.token), verb, answer.is_ok())? {
            return Ok(true);
        }
        let (code, met) = match one.lease() {
            None => ("lease_not_found", Met::LeaseNotFound),
            Some((_, grant)) if grant.token != held.token => ("token_mismatch", Met::TokenMismatch),
            Some(_) => ("lease_lost", Met::LeaseLost),
        };
        if !refused_as(answer, code) {
            return broken("D1", (held.token, "must be", code)).map(|()| false);
        }
        self.meet(met);
        Ok(false)
    }

    pub(super) fn succeeded(&mut self, held: &Held, answer: Answer<Succeeded>, now: Time) -> Result<(), Wrong> {
        if !self.written(held, "succeed", &answer, now)? {
            return Ok(());
        }
        let one = self.one(&held.domain, now);
        one.end(true);
        let hint = answer.ok().and_then(|succeeded| succeeded.hint());
        if hint != one.backlog.first().copied() {
            return broken("invariant 3", ("the hint is", hint, &one.backlog));
        }
        self.meet(if hint.is_some() { Met::NextHint } else { Met::NoBacklog });
        Ok(())
    }

    pub(super) fn failed(&mut self, held: &Held, answer: Answer<Failed>, now: Time) -> Result<(), Wrong> {
        if !self.written(held, "fail", &answer, now)? {
            return Ok(());
        }
        let one = self.one(&held.domain, now);
        let met = if one.flight.retries >= one.max_retries.unwrap_or(3) {
            one.end(false);
            let hint = one.backlog.first().copied();
            if answer != Ok(Failed::give_up(hint)) {
                return broken("D2", ("it was the last try", answer, &one.backlog));
            }
            if hint.is_some() { Met::GiveUpNextHint } else { Met::GiveUpNoBacklog }
        } else {
            one.flight.retries += 1;
            if answer != Ok(Failed::RetryScheduled { retry_count: one.flight.retries }) {
                return broken("D2", ("retries", one.flight.retries, answer));
            }
            Met::RetryScheduled
        };
        self.meet(met);
        Ok(())
    }

    pub(super) fn beaten(&mut self, held: &Held, answer: Answer<Beaten>, now: Time) -> Result<(), Wrong> {
        let one = self.one(&held.domain, now);
        let until = answer.ok().map(|beaten| beaten.lease_expires_at.unwrap_or(Time::MAX));
        one.held.beaten(&one.presented(held.token), until)?;
        if self.written(held, "heartbeat", &answer, now)? {
            self.meet(Met::Renewed);
        }
        Ok(())
    }

    pub(super) fn advanced(&mut self, it: &Advance, answer: Answer<Advanced>, now: Time) -> Result<(), Wrong> {
        self.succeeded(&Held { domain: it.domain.clone(), token: it.token }, answer.map(|all| all.succeeded), now)?;
        let Ok(advanced) = answer else { return Ok(()) };
        let wanted = advanced.succeeded.hint().or(it.next);
        if advanced.next.map(|(offset, _)| offset) != wanted {
            return broken("D8", ("next is", wanted, answer));
        }
        let Some((offset, next)) = advanced.next else { return Ok(()) };
        let (domain, holder) = (it.domain.clone(), it.holder.clone());
        self.acquired(&Acquire { domain, offset, holder, lease_ms: it.lease_ms }, next, now)?;
        if matches!(next, Ok(Acquired::Acquired { .. })) {
            let hinted = advanced.succeeded.hint().is_some();
            self.meet(if hinted { Met::AdvancedToHint } else { Met::AdvancedToNext });
        }
        Ok(())
    }

    pub(super) fn skipped(&mut self, skip: &Skip, answer: Skipped, now: Time) -> Result<(), Wrong> {
        let one = self.one(&skip.domain, now);
        let offset = skip.offset;
        let expected = match (one.processed.contains(&offset), one.failed.contains(&offset)) {
            (true, _) => Skipped::AlreadyProcessed,
            (_, true) => Skipped::AlreadyFailed,
            _ => Skipped::Skipped,
        };
        if answer != expected {
            return broken("D7", (offset, expected, answer));
        }
        if answer == Skipped::Skipped {
            one.failed.insert(offset);
            let met = if one.lease().is_some_and(|(in_flight, _)| in_flight == offset) {
                one.end(false);
                Met::SkippedInFlight
            } else if let Some(i) = one.backlog.iter().position(|waiting| *waiting == offset) {
                one.backlog.remove(i);
                Met::SkippedWaiting
            } else {
                Met::SkippedUnknown
            };
            self.meet(met);
        }
        Ok(())
    }

    pub(super) fn changed(&mut self, name: &str, change: &Change, now: Time) {
        let one = self.one(name, now);
        if let Some(max_retries) = change.max_retries {
            one.max_retries = max_retries;
        }
        if let Some(takeovers_max) = change.takeovers_max {
            one.takeovers_max = takeovers_max;
        }
    }

    pub(super) fn recovered(&mut self, max: u32, answer: Recovered, now: Time) -> Result<(), Wrong> {
        self.all.values_mut().for_each(|one| one.held.now = now);
        let due = |one: &One| one.expired().filter(|_| !one.flight.told).map(|(_, grant)| grant.until);
        let mut expired: Vec<(Time, String)> =
            self.all.iter().filter_map(|(name, one)| Some((due(one)?, name.clone()))).collect();
        expired.sort();
        expired.truncate(max as usize);
        let mut expected = Recovered::default();
        for (_, name) in expired {
            expected.expired += 1;
            let one = self.one(&name, now);
            one.flight.told = true;
            if one.spent() {
                expected.failed += 1;
                one.end(false);
                self.meet(Met::FailedByRecovery);
            }
            self.meet(Met::ExpiryTold);
        }
        if answer != expected {
            return broken("L7", ("recovery", expected, answer));
        }
        Ok(())
    }
}
