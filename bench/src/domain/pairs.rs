//! Pairs a second: an acquire and a succeed, offsets in order, over a few thousand domains.

use super::place::{Backend, Place};
use super::{Settings, Table};
use crate::queue::machine;
use crate::queue::server::Server;
use anyhow::{Context, Result, ensure};
use std::sync::Arc;
use std::time::Instant;
use tenure::domain::{Acquire, Acquired, Advance, Held};
use tenure::{Tenure, Token};
use tenure_memory::MemoryStore;

/// Domains that take turns.
const DOMAINS: usize = 5_000;

pub(super) async fn measure(
    settings: &Settings,
    backend: Backend,
    server: Option<&Server>,
    table: &mut Table,
) -> Result<()> {
    let column = backend.to_string();
    let names: Vec<Arc<str>> = (0..DOMAINS).map(|n| format!("acct-{n}").into()).collect();
    let pairs = if backend == Backend::Memory { settings.pairs * 20 } else { settings.pairs };
    if backend == Backend::Memory {
        table.add("pairs, straight to the monitor, one core", "pairs/s", &column, directly(&names, pairs)?);
    }
    for batch in [1, 100, 1_000] {
        // One by one a database answers after each commit: fewer will do.
        let pairs = if batch == 1 && backend != Backend::Memory { pairs / 20 } else { pairs };
        let place = Place::make(backend, server).await?;
        let took = in_calls(&place.tenure, backend, &names, pairs, batch).await?;
        table.add(&format!("pairs, calls of {batch}"), "pairs/s", &column, pairs as f64 / took);
        place.remove().await?;
        let place = Place::make(backend, server).await?;
        let took = advancing(&place.tenure, backend, &names, pairs, batch).await?;
        table.add(&format!("the same by advance, calls of {batch}"), "pairs/s", &column, pairs as f64 / took);
        place.remove().await?;
    }
    Ok(())
}

/// Seconds: of this process's processor in memory, of the clock where a database does its part.
pub(super) struct Stopwatch {
    began: Instant,
    processor_ms: Option<u64>,
}

impl Stopwatch {
    pub(super) fn start(backend: Backend) -> Stopwatch {
        let processor_ms = (backend == Backend::Memory).then(machine::own_ms);
        Stopwatch { began: Instant::now(), processor_ms }
    }

    pub(super) fn seconds(&self) -> f64 {
        match self.processor_ms {
            Some(before) => (machine::own_ms() - before).max(1) as f64 / 1e3,
            None => self.began.elapsed().as_secs_f64(),
        }
    }
}

/// No future, no list: the monitor alone.
fn directly(names: &[Arc<str>], pairs: u64) -> Result<f64> {
    let store = MemoryStore::new();
    let domains = store.domain_table();
    let began = Stopwatch::start(Backend::Memory);
    for n in 0..pairs {
        let name = &names[n as usize % names.len()];
        let acquire = Acquire { domain: name.clone(), offset: n / names.len() as u64, holder: None, lease_ms: None };
        let token = token(domains.acquire(&acquire).ok())?;
        ensure!(domains.succeed(&Held { domain: acquire.domain, token }).is_ok(), "a succeed was refused");
    }
    Ok(pairs as f64 / began.seconds())
}

async fn in_calls(tenure: &Tenure, backend: Backend, names: &[Arc<str>], pairs: u64, batch: u64) -> Result<f64> {
    let began = Stopwatch::start(backend);
    let mut n = 0;
    while n < pairs {
        let turn = n..(n + batch).min(pairs);
        let acquires = turn.clone().map(|n| acquire(names, n)).collect();
        let answers = tenure.verbs().domain_acquire_all(acquires).await?;
        let writes = turn.clone().zip(answers).map(|(n, answer)| {
            Ok(Held { domain: names[n as usize % names.len()].clone(), token: token(answer.ok())? })
        });
        let answers = tenure.verbs().domain_succeed_all(writes.collect::<Result<_>>()?).await?;
        ensure!(answers.iter().all(Result::is_ok), "a succeed was refused");
        n = turn.end;
    }
    Ok(began.seconds())
}

/// Each call ends what the last one acquired, and acquires the next.
async fn advancing(tenure: &Tenure, backend: Backend, names: &[Arc<str>], pairs: u64, batch: u64) -> Result<f64> {
    let names = &names[..names.len().min(batch as usize)];
    let first = (0..names.len() as u64).map(|n| acquire(names, n)).collect();
    let answers = tenure.verbs().domain_acquire_all(first).await?;
    let mut tokens: Vec<Token> = answers.into_iter().map(|answer| token(answer.ok())).collect::<Result<_>>()?;
    let began = Stopwatch::start(backend);
    for round in 1..=pairs.div_ceil(names.len() as u64) {
        let advances = names.iter().zip(&tokens).map(|(name, token)| Advance::new(name.clone(), *token).next(round));
        let answers = tenure.verbs().domain_advance_all(advances.collect()).await?;
        let next = answers.into_iter().map(|answer| {
            let next = answer.ok().context("an advance was refused")?.next.context("nothing came next")?;
            token(next.1.ok())
        });
        tokens = next.collect::<Result<_>>()?;
    }
    Ok(began.seconds())
}

fn acquire(names: &[Arc<str>], n: u64) -> Acquire {
    let domain = names[n as usize % names.len()].clone();
    Acquire { domain, offset: n / names.len() as u64, holder: None, lease_ms: None }
}

fn token(acquired: Option<Acquired>) -> Result<Token> {
    match acquired {
        Some(Acquired::Acquired { token }) => Ok(token),
        other => anyhow::bail!("an offset was not acquired: {other:?}"),
    }
}
