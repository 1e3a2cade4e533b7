//! A crowd: sixteen threads on a few domains at once, and every history explained (I21).
//!
//! The store's clock stands still while the crowd is at work, and moves between its rounds, so that leases run out.

use super::linear::{Call, Did, explain};
use super::{Harness, tools::START};
use crate::Store;
use crate::conformance::walk::{Chance, command, from_env};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tenure_core::domain::{Acquire, Advance, Held, Skip};
use tenure_core::{Time, Token};
use tokio::runtime::Handle;

const THREADS: u64 = 16;
const ROUNDS: u64 = 4;
const DOMAINS: [&str; 3] = ["a", "b", "c"];

/// What a crowd did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Calls, all of them explained.
    pub calls: usize,
    /// Calls that overlapped another on the same domain.
    pub overlapped: usize,
    /// Offsets that were acquired.
    pub acquired: usize,
}

/// What one domain's callers know together; chosen from without a lock on the store.
#[derive(Default)]
struct Seen {
    tokens: Mutex<Vec<Token>>,
    next: AtomicU64,
}

/// A crowd for each seed, or only for `TENURE_SEED` if it is set. Panics if a history cannot be explained, or if the
/// crowds never met.
pub async fn crowds<H: Harness>(seeds: Range<u64>, calls_each: u64) -> Crowd {
    let seeds = from_env("TENURE_SEED").map_or(seeds, |seed| seed..seed + 1);
    let mut total = Crowd::default();
    for seed in seeds {
        let crowd = crowd::<H>(seed, calls_each).await.unwrap_or_else(|wrong| {
            panic!("crowd {seed}: {wrong}\nagain: {}", command(&format!("TENURE_SEED={seed} ")));
        });
        total.calls += crowd.calls;
        total.overlapped += crowd.overlapped;
        total.acquired += crowd.acquired;
    }
    assert!(total.overlapped > total.calls / 50, "the callers hardly met: {total:?}");
    total
}

/// One crowd; what could not be explained, if something could not.
pub async fn crowd<H: Harness>(seed: u64, calls_each: u64) -> Result<Crowd, String> {
    let harness = H::open(START).await;
    let handles = [harness.store(), harness.another().await];
    let base = handles[0].epoch().await.map_err(|error| error.to_string())?.base;
    let line = Arc::new(AtomicU64::new(0));
    let seen: Arc<[Seen; DOMAINS.len()]> = Arc::default();
    let mut histories: [Vec<Call>; DOMAINS.len()] = Default::default();
    for round in 0..ROUNDS {
        let now = Time(START.0 + round as i64 * 1_000_000);
        harness.set_clock(now).await;
        let runtime = Handle::current();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (runtime, line, seen) = (runtime.clone(), line.clone(), seen.clone());
                let store = handles[(thread % 2) as usize].clone();
                let chance = Chance::new(seed * 10_007 + round * 101 + thread);
                std::thread::spawn(move || Member { store, runtime, line, seen, chance, now }.work(calls_each))
            })
            .collect();
        // Joined where it may wait.
        let done = tokio::task::spawn_blocking(move || {
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a caller panicked".to_owned())).collect()
        });
        let done: Result<Vec<Vec<(usize, Call)>>, String> = done.await.map_err(|error| error.to_string())?;
        done?.into_iter().flatten().for_each(|(domain, call)| histories[domain].push(call));
    }
    let mut crowd = Crowd::default();
    for (name, mut history) in DOMAINS.iter().zip(histories) {
        history.sort_by_key(|call| call.asked);
        let mut answered = 0;
        for call in &history {
            crowd.overlapped += usize::from(call.asked < answered);
            answered = answered.max(call.answered);
            crowd.acquired += usize::from(acquired(&call.did));
        }
        let calls = history.len();
        let done = explain(history, base).map_err(|(explained, stuck)| {
            format!("domain {name}: after {explained} of {calls} calls none of these can follow: {stuck:#?}")
        })?;
        crowd.calls += done.calls;
    }
    Ok(crowd)
}

fn acquired(did: &Did) -> bool {
    matches!(did, Did::Acquire(_, Ok(tenure_core::domain::Acquired::Acquired { .. })))
}

/// One of the crowd.
struct Member {
    store: Arc<dyn Store>,
    runtime: Handle,
    line: Arc<AtomicU64>,
    seen: Arc<[Seen; DOMAINS.len()]>,
    chance: Chance,
    now: Time,
}

impl Member {
    fn work(mut self, calls: u64) -> Vec<(usize, Call)> {
        (0..calls)
            .map(|_| {
                let domain = self.chance.below(DOMAINS.len());
                (domain, self.call(domain))
            })
            .collect()
    }

    fn call(&mut self, domain: usize) -> Call {
        let name = DOMAINS[domain];
        let seen = self.seen.clone();
        let seen = &seen[domain];
        let c = &mut self.chance;
        let token = {
            let tokens = seen.tokens.lock().expect("no panic");
            // Mostly the newest: the others are refused.
            let back = if c.below(5) == 0 { c.below(4) } else { 0 };
            tokens.len().checked_sub(back + 1).map_or(Token(1), |i| tokens[i])
        };
        let offset = match c.below(4) {
            0 => seen.next.fetch_add(1, Ordering::Relaxed),
            _ => seen.next.load(Ordering::Relaxed).saturating_sub(c.below(6) as u64),
        };
        let holder = (c.below(3) == 0).then(|| ["bob", "eve"][c.below(2)].into());
        let lease_ms = (c.below(2) == 0).then(|| [1_000, 60_000][c.below(2)]);
        let acquire = Acquire { domain: name.into(), offset, holder: holder.clone(), lease_ms };
        let held = Held::new(name, token);
        let verb = c.below(16);
        let next = (c.below(2) == 0).then_some(offset);
        let (store, runtime, line) = (&self.store, &self.runtime, &self.line);
        let asked = line.fetch_add(1, Ordering::SeqCst);
        let did = match verb {
            0..=6 => {
                let answer = runtime.block_on(store.domain_acquire(vec![acquire.clone()])).expect("acquire")[0];
                Did::Acquire(acquire, answer)
            }
            7..=10 => {
                let answer = runtime.block_on(store.domain_succeed(vec![held.clone()])).expect("succeed")[0];
                Did::Succeed(held, answer)
            }
            11 | 12 => {
                let answer = runtime.block_on(store.domain_fail(vec![held.clone()])).expect("fail")[0];
                Did::Fail(held, answer)
            }
            13 => {
                let answer = runtime.block_on(store.domain_heartbeat(vec![held.clone()])).expect("heartbeat")[0];
                Did::Beat(held, answer)
            }
            14 => {
                let advance = Advance { domain: name.into(), token, next, holder, lease_ms };
                let answer = runtime.block_on(store.domain_advance(vec![advance.clone()])).expect("advance")[0];
                Did::Advance(advance, answer)
            }
            _ => {
                let skip = Skip::new(name, offset);
                let answer = runtime.block_on(store.domain_skip(vec![skip.clone()])).expect("skip")[0];
                Did::Skip(skip, answer)
            }
        };
        let answered = line.fetch_add(1, Ordering::SeqCst);
        let told = match &did {
            Did::Acquire(_, answer) => answer.ok().and_then(|acquired| acquired.token()),
            Did::Advance(_, Ok(advanced)) => {
                advanced.next.and_then(|(_, answer)| answer.ok()).and_then(|acquired| acquired.token())
            }
            _ => None,
        };
        seen.tokens.lock().expect("no panic").extend(told);
        Call { asked, answered, now: self.now, did }
    }
}
