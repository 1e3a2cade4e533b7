//! The document read plainly: sets, a list, a lease. Written apart from core, to judge answers by itself.
//!
//! What it says first is the rule that was broken: the six invariants by number, D3, D4, D7, L2, L7.

use super::Met;
use super::run::refused_as;
use crate::conformance::walk::{Report, Wrong};
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

#[derive(Debug, Default)]
struct One {
    lease: Option<Lease>,
    last_token: i64,
    processed: BTreeSet<u64>,
    failed: BTreeSet<u64>,
    backlog: Vec<u64>,
    max_retries: Option<u32>,
    takeovers_max: Option<u32>,
}

#[derive(Clone, Debug)]
struct Lease {
    offset: u64,
    token: i64,
    retries: u32,
    takeovers: u32,
    holder: Option<String>,
    /// Span and deadline.
    expiry: Option<(u64, Time)>,
    told: bool,
}

impl Lease {
    fn expired(&self, now: Time) -> bool {
        self.expiry.is_some_and(|(_, at)| at <= now)
    }
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

    fn one(&mut self, name: &str) -> &mut One {
        self.all.entry(name.to_owned()).or_default()
    }

    pub(super) fn acquired(&mut self, it: &Acquire, answer: Answer<Acquired>, now: Time) -> Result<(), Wrong> {
        let base = self.base;
        let one = self.one(&it.domain);
        let offset = it.offset;
        let ended = one.processed.contains(&offset) || one.failed.contains(&offset);
        let expired = one.lease.as_ref().filter(|lease| lease.expired(now)).map(|lease| lease.offset);
        match answer {
            Ok(Acquired::AlreadyProcessed) => {
                if !one.processed.contains(&offset) {
                    return broken("invariant 4", (offset, "was not processed"));
                }
                self.meet(Met::AlreadyProcessed);
            }
            Ok(Acquired::AlreadyFailed) => {
                let spent = one
                    .takeovers_max
                    .zip(one.lease.as_ref())
                    .is_some_and(|(max, lease)| lease.offset == offset && lease.expired(now) && lease.takeovers >= max);
                if spent {
                    one.failed.insert(offset);
                    one.lease = None;
                    self.meet(Met::TakeoversSpent);
                } else if !one.failed.contains(&offset) {
                    return broken("invariant 4", (offset, "had not failed"));
                }
                self.meet(Met::AlreadyFailed);
            }
            _ if ended => return broken("invariant 4", (offset, "has ended", answer)),
            Ok(Acquired::Acquired { token }) => {
                if token.0 <= one.last_token || token < base {
                    return broken("L2", (token, "after", one.last_token, "from", base));
                }
                let (retries, takeovers, met) = match &one.lease {
                    Some(lease) if lease.offset != offset => return broken("invariant 1", (lease, answer)),
                    Some(lease) if !lease.expired(now) => return broken("D3", (lease, "is live", answer)),
                    Some(lease) => {
                        if one.takeovers_max.is_some_and(|max| lease.takeovers >= max) {
                            return broken("D4", (lease, "had no takeover left"));
                        }
                        (lease.retries, lease.takeovers + 1, Met::TakenOver)
                    }
                    None if one.backlog.is_empty() => (0, 0, Met::Acquired),
                    None => {
                        if one.backlog.remove(0) != offset {
                            return broken("invariant 3", (offset, "was not the head", &one.backlog));
                        }
                        (0, 0, Met::HeadAcquired)
                    }
                };
                one.last_token = token.0;
                let expiry = it.lease_ms.map(|ms| (ms, now.plus_ms(ms)));
                let holder = it.holder.as_deref().map(str::to_owned);
                one.lease = Some(Lease { offset, token: token.0, retries, takeovers, holder, expiry, told: false });
                self.meet(met);
            }
            Ok(Acquired::Enqueued { expired_offset }) => {
                let Some(lease) = &one.lease else { return broken("invariant 3", (offset, "waits for nothing")) };
                if lease.offset == offset {
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
                let named = it.holder.as_deref();
                let Some(lease) = one.lease.as_ref().filter(|lease| lease.offset == offset && !lease.expired(now))
                else {
                    return broken("invariant 1", (offset, "is not in flight"));
                };
                if lease.holder.is_some() && lease.holder.as_deref() != named {
                    return broken("D3", (named, "was told the token of", &lease.holder));
                }
                if lease.token != token.0 {
                    return broken("invariant 5", (token, "is not", lease.token));
                }
                self.meet(Met::AlreadyAcquired);
            }
            Ok(Acquired::HeldByOther) => {
                let lease = one.lease.as_ref().filter(|lease| lease.offset == offset && !lease.expired(now));
                if lease.is_none_or(|lease| lease.holder.is_none() || lease.holder.as_deref() == it.holder.as_deref()) {
                    return broken("D3", (offset, "is not held by another", &one.lease));
                }
                self.meet(Met::HeldByOther);
            }
            Err(Refused::BacklogOrdering { expected, got }) => {
                if one.lease.is_some() || one.backlog.first() != Some(&expected) || got != offset || got == expected {
                    return broken("invariant 3", (&one.lease, &one.backlog, answer));
                }
                self.meet(Met::BacklogOrdering);
            }
            Err(refused) => return broken("D1", refused),
        }
        Ok(())
    }

    /// Whether a write under `token` counts, by the order of the document's checks; and that it was answered so.
    fn judged<T: Copy + std::fmt::Debug>(&mut self, held: &Held, answer: &Answer<T>, now: Time) -> Result<bool, Wrong> {
        let lease = self.all.get(&*held.domain).and_then(|one| one.lease.as_ref());
        let (code, met) = match lease {
            None => ("lease_not_found", Met::LeaseNotFound),
            Some(lease) if lease.token != held.token.0 => ("token_mismatch", Met::TokenMismatch),
            Some(lease) if lease.expired(now) => ("lease_lost", Met::LeaseLost),
            Some(_) => {
                return if answer.is_ok() { Ok(true) } else { broken("invariant 5", ("held", answer)).map(|()| true) };
            }
        };
        if !refused_as(answer, code) {
            return broken("invariant 5", (held.token, "must be", code, answer)).map(|()| false);
        }
        self.meet(met);
        Ok(false)
    }

    pub(super) fn succeeded(&mut self, held: &Held, answer: Answer<Succeeded>, now: Time) -> Result<(), Wrong> {
        if !self.judged(held, &answer, now)? {
            return Ok(());
        }
        let one = self.one(&held.domain);
        one.processed.extend(one.lease.take().map(|lease| lease.offset));
        let hint = answer.ok().and_then(|succeeded| succeeded.hint());
        if hint != one.backlog.first().copied() {
            return broken("invariant 3", ("the hint is", hint, &one.backlog));
        }
        self.meet(if hint.is_some() { Met::NextHint } else { Met::NoBacklog });
        Ok(())
    }

    pub(super) fn failed(&mut self, held: &Held, answer: Answer<Failed>, now: Time) -> Result<(), Wrong> {
        if !self.judged(held, &answer, now)? {
            return Ok(());
        }
        let one = self.one(&held.domain);
        let max_retries = one.max_retries.unwrap_or(3);
        let Some(lease) = &mut one.lease else { return Ok(()) };
        let met = if lease.retries >= max_retries {
            one.failed.insert(lease.offset);
            one.lease = None;
            let hint = one.backlog.first().copied();
            if answer != Ok(Failed::give_up(hint)) {
                return broken("D2", ("it was the last try", answer, &one.backlog));
            }
            if hint.is_some() { Met::GiveUpNextHint } else { Met::GiveUpNoBacklog }
        } else {
            lease.retries += 1;
            if answer != Ok(Failed::RetryScheduled { retry_count: lease.retries }) {
                return broken("D2", ("retries", lease.retries, answer));
            }
            Met::RetryScheduled
        };
        self.meet(met);
        Ok(())
    }

    pub(super) fn beaten(&mut self, held: &Held, answer: Answer<Beaten>, now: Time) -> Result<(), Wrong> {
        if !self.judged(held, &answer, now)? {
            return Ok(());
        }
        let one = self.one(&held.domain);
        let Some(lease) = &mut one.lease else { return Ok(()) };
        lease.expiry = lease.expiry.map(|(ms, at)| (ms, at.max(now.plus_ms(ms))));
        let lease_expires_at = lease.expiry.map(|(_, at)| at);
        if answer != Ok(Beaten { lease_expires_at }) {
            return broken("D4", ("renewed until", lease_expires_at, answer));
        }
        self.meet(Met::Renewed);
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

    pub(super) fn skipped(&mut self, skip: &Skip, answer: Skipped) -> Result<(), Wrong> {
        let one = self.one(&skip.domain);
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
            let met = if one.lease.take_if(|lease| lease.offset == offset).is_some() {
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

    pub(super) fn changed(&mut self, name: &str, change: &Change) {
        let one = self.one(name);
        if let Some(max_retries) = change.max_retries {
            one.max_retries = max_retries;
        }
        if let Some(takeovers_max) = change.takeovers_max {
            one.takeovers_max = takeovers_max;
        }
    }

    pub(super) fn recovered(&mut self, max: u32, answer: Recovered, now: Time) -> Result<(), Wrong> {
        let due = |one: &One| {
            let lease = one.lease.as_ref().filter(|lease| lease.expired(now) && !lease.told)?;
            lease.expiry.map(|(_, at)| at)
        };
        let mut expired: Vec<(Time, String)> =
            self.all.iter().filter_map(|(name, one)| Some((due(one)?, name.clone()))).collect();
        expired.sort();
        expired.truncate(max as usize);
        let mut expected = Recovered::default();
        for (_, name) in expired {
            expected.expired += 1;
            let one = self.one(&name);
            let Some(lease) = &mut one.lease else { continue };
            lease.told = true;
            if one.takeovers_max.is_some_and(|max| lease.takeovers >= max) {
                expected.failed += 1;
                one.failed.insert(lease.offset);
                one.lease = None;
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
