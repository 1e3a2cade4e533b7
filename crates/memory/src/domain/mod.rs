//! Domains in memory, by the locking rules of their document.
//!
//! Always true:
//! - a domain is made once, under one lock for makers (looked for again under it), and its monitor is never replaced;
//! - everything about a domain is read and written under its own monitor, and nothing waits while it is held;
//! - two domains share no lock on the way to their monitors but a shard's, and that only to read it.
//!
//! Lock order: making, shard; monitor, watch or changes. Never a monitor inside another, nor inside a shard's lock.

mod store;
mod watch;

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tenure_core::Page;
use tenure_core::changes::Difference;
use tenure_core::domain::rules::Asker;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, Domain, DomainInfo, Event, Failed, Held, Recovered,
    Refused, Skip, Skipped, State, Succeeded,
};
use tenure_core::{Actor, Time, Token};
use tenure_store::Clock;
use watch::Watch;

/// Enough that as many threads as a machine has rarely meet in one.
const SHARDS: usize = 64;

/// All domains of one process.
#[derive(Debug)]
pub struct MemoryDomains {
    shards: Box<[RwLock<Shard>]>,
    /// Makers take turns here; also the names in order, for lists.
    names: RwLock<BTreeSet<Arc<str>>>,
    watch: Watch,
    /// The base of the epoch (L2).
    base: AtomicI64,
    clock: Clock,
}

type Shard = HashMap<Arc<str>, Arc<Monitor>>;

/// One domain behind its lock.
#[derive(Debug)]
struct Monitor {
    name: Arc<str>,
    inside: Mutex<Inside>,
}

#[derive(Debug)]
struct Inside {
    domain: Domain,
    /// The deadline under which [`Watch`] has this domain, no later than that of its lease.
    watched: Option<Time>,
}

impl Default for MemoryDomains {
    fn default() -> MemoryDomains {
        MemoryDomains::new(Clock::system())
    }
}

impl MemoryDomains {
    pub(crate) fn new(clock: Clock) -> MemoryDomains {
        MemoryDomains {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            names: RwLock::default(),
            watch: Watch::default(),
            base: AtomicI64::new(0),
            clock,
        }
    }

    pub(crate) fn set_base(&self, base: Token) {
        self.base.fetch_max(base.0, Ordering::SeqCst);
    }

    /// `tryAcquire`.
    pub fn acquire(&self, it: &Acquire) -> Answer<Acquired> {
        let asker = self.asker(it.holder.as_ref(), it.lease_ms);
        self.made(&it.domain).with(self, |domain, now| domain.acquire(it.offset, asker, now))
    }

    /// `succeed`.
    pub fn succeed(&self, held: &Held) -> Answer<Succeeded> {
        self.held(held, Domain::succeed)
    }

    /// `fail`.
    pub fn fail(&self, held: &Held) -> Answer<Failed> {
        self.held(held, Domain::fail)
    }

    /// Renews a lease (D4).
    pub fn heartbeat(&self, held: &Held) -> Answer<Beaten> {
        self.held(held, Domain::heartbeat)
    }

    /// `succeed`, then `tryAcquire` of what comes next.
    pub fn advance(&self, it: &Advance) -> Answer<Advanced> {
        let asker = self.asker(it.holder.as_ref(), it.lease_ms);
        let monitor = self.known(&it.domain).ok_or(Refused::LeaseNotFound)?;
        monitor.with(self, |domain, now| domain.advance(it.token, it.next, asker, now))
    }

    /// An operator's skip (D7).
    pub fn skip(&self, skip: &Skip, by: &Actor) -> Skipped {
        self.made(&skip.domain).with(self, |domain, now| domain.skip(skip.offset, by, now))
    }

    /// Changes settings; a domain that is not there yet is made.
    pub fn change(&self, name: &str, change: &Change) -> DomainInfo {
        self.change_and(name, change, |_, _| {})
    }

    /// The same; `note` is told what it changes, and when, under the domain's monitor.
    pub(crate) fn change_and(
        &self,
        name: &str,
        change: &Change,
        note: impl FnOnce(Vec<Difference>, Time),
    ) -> DomainInfo {
        let monitor = self.made(&name.into());
        monitor.with(self, |domain, now| {
            let before = domain.record.settings;
            domain.record.settings = before.changed(change);
            note(before.differences(&domain.record.settings), now);
            DomainInfo::of(monitor.name.clone(), &domain.record, &domain.book, now)
        })
    }

    /// Tells leases that ran out, the longest ago first (L7).
    pub fn recover(&self, max: u32) -> Recovered {
        let mut recovered = Recovered::default();
        while recovered.expired < max {
            let Some((at, name)) = self.watch.take_before(self.clock.now()) else { break };
            let Some(monitor) = self.known(&name) else { continue };
            let mut inside = monitor.locked();
            // Someone may have been here between the two locks.
            if inside.watched != Some(at) {
                continue;
            }
            inside.watched = None;
            // A lease that was renewed, or granted anew, since it was watched takes its turn by its own deadline.
            if inside.domain.untold_expiry() == Some(at) {
                recovered.expired += 1;
                recovered.failed += u32::from(inside.domain.expire(self.clock.now()));
            }
            inside.keep_watched(&monitor.name, &self.watch);
        }
        recovered
    }

    /// One domain, if it was ever used.
    #[must_use]
    pub fn domain(&self, name: &str) -> Option<DomainInfo> {
        let monitor = self.known(name)?;
        Some(monitor.info(self.clock.now()))
    }

    /// Domains by name, from after `after`, only those in `state` if one is named.
    #[must_use]
    pub fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Page<DomainInfo> {
        let limit = limit as usize;
        let mut items: Vec<DomainInfo> = Vec::new();
        let mut last: Option<Arc<str>> = after.map(Into::into);
        // The names are left alone while monitors are looked at: a page never holds up a maker for long.
        while items.len() <= limit {
            let names: Vec<Arc<str>> = {
                let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
                let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                names.range::<str, _>((from, Bound::Unbounded)).take(limit + 1).cloned().collect()
            };
            let Some(end) = names.last().cloned() else { break };
            let infos = names.iter().filter_map(|name| self.domain(name));
            items.extend(infos.filter(|info| state.is_none_or(|state| info.is(state))));
            last = Some(end);
        }
        let more = items.len() > limit;
        items.truncate(limit);
        Page { items, more }
    }

    /// The events of a domain, oldest first (L8).
    #[must_use]
    pub fn events(&self, name: &str) -> Vec<Event> {
        self.known(name).map_or_else(Vec::new, |monitor| monitor.locked().domain.events())
    }

    fn asker<'a>(&self, holder: Option<&'a Arc<str>>, lease_ms: Option<u64>) -> Asker<'a> {
        Asker { holder, lease_ms, base: Token(self.base.load(Ordering::SeqCst)) }
    }

    fn held<T>(&self, held: &Held, verb: fn(&mut Domain, tenure_core::Token, Time) -> Answer<T>) -> Answer<T> {
        let monitor = self.known(&held.domain).ok_or(Refused::LeaseNotFound)?;
        monitor.with(self, |domain, now| verb(domain, held.token, now))
    }

    fn shard(&self, name: &str) -> &RwLock<Shard> {
        // Which shard is no secret and need not be even: the map inside it hashes with a key of its own.
        let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        &self.shards[sum as usize % SHARDS]
    }

    fn known(&self, name: &str) -> Option<Arc<Monitor>> {
        self.shard(name).read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The monitor of `name`, made if it is not there.
    fn made(&self, name: &Arc<str>) -> Arc<Monitor> {
        if let Some(monitor) = self.known(name) {
            return monitor;
        }
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        // Looked for again: another maker may have been first.
        if let Some(monitor) = self.known(name) {
            return monitor;
        }
        let domain = Domain::new(self.clock.now());
        let inside = Mutex::new(Inside { domain, watched: None });
        let monitor = Arc::new(Monitor { name: name.clone(), inside });
        self.shard(name).write().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), monitor.clone());
        names.insert(name.clone());
        monitor
    }
}

impl Monitor {
    fn locked(&self) -> MutexGuard<'_, Inside> {
        // A step of core either happens or panics before it changes anything a reader relies on.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `verb` under the monitor, at an instant read after it was locked (L5).
    fn with<T>(&self, all: &MemoryDomains, verb: impl FnOnce(&mut Domain, Time) -> T) -> T {
        let mut inside = self.locked();
        let answer = verb(&mut inside.domain, all.clock.now());
        inside.keep_watched(&self.name, &all.watch);
        answer
    }

    fn info(&self, now: Time) -> DomainInfo {
        let Inside { domain, .. } = &*self.locked();
        DomainInfo::of(self.name.clone(), &domain.record, &domain.book, now)
    }
}

impl Inside {
    /// Sees to it that the lease is watched no later than it runs out. An earlier watch is left: it costs one look,
    /// and heartbeats then touch nothing outside their domain.
    fn keep_watched(&mut self, name: &Arc<str>, watch: &Watch) {
        let Some(expiry) = self.domain.untold_expiry() else { return };
        if self.watched.is_none_or(|watched| watched > expiry) {
            watch.replace(self.watched, expiry, name);
            self.watched = Some(expiry);
        }
    }
}
