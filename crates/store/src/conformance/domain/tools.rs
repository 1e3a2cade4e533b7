//! What the scenarios share: a store on a clock that stands still, and verbs short enough to read as sentences.

use super::Harness;
use crate::Store;
pub(super) use crate::conformance::START;
use std::sync::Arc;
use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, LeaseInfo, Skip,
    Skipped, Succeeded, What,
};
use tenure_core::{Time, Token};

/// The answer of an acquire behind a live lease.
pub(super) const ENQUEUED: Answer<Acquired> = Ok(Acquired::Enqueued { expired_offset: None });

/// A store and its clock. Most scenarios use the domain `a` alone.
pub(super) struct World<H> {
    pub(super) harness: H,
    pub(super) store: Arc<dyn Store>,
    pub(super) now: Time,
}

impl<H: Harness> World<H> {
    pub(super) async fn open() -> World<H> {
        let harness = H::open(START).await;
        let store = harness.store();
        World { harness, store, now: START }
    }

    pub(super) async fn pass_ms(&mut self, ms: u64) {
        self.set(self.now.plus_ms(ms)).await;
    }

    pub(super) async fn set(&mut self, now: Time) {
        self.now = now;
        self.harness.set_clock(now).await;
    }

    pub(super) async fn ask(&self, acquire: Acquire) -> Answer<Acquired> {
        acquire.check().expect("scenarios stay within bounds");
        only(self.store.domain_acquire(vec![acquire]).await.expect("acquire"))
    }

    pub(super) async fn acquire(&self, offset: u64) -> Answer<Acquired> {
        self.ask(Acquire::new("a", offset)).await
    }

    /// Acquires an offset that is free, and returns its token.
    pub(super) async fn hold(&self, offset: u64) -> Token {
        self.hold_as(Acquire::new("a", offset)).await
    }

    pub(super) async fn hold_as(&self, acquire: Acquire) -> Token {
        match self.ask(acquire).await {
            Ok(Acquired::Acquired { token }) => token,
            other => panic!("it was to be acquired: {other:?}"),
        }
    }

    /// Acquires under a lease of a second.
    pub(super) async fn hold_a_second(&self, offset: u64) -> Token {
        self.hold_as(Acquire::new("a", offset).lease_ms(1_000)).await
    }

    pub(super) async fn succeed(&self, token: Token) -> Answer<Succeeded> {
        only(self.store.domain_succeed(vec![Held::new("a", token)]).await.expect("succeed"))
    }

    pub(super) async fn fail(&self, token: Token) -> Answer<Failed> {
        only(self.store.domain_fail(vec![Held::new("a", token)]).await.expect("fail"))
    }

    pub(super) async fn beat(&self, token: Token) -> Answer<Beaten> {
        only(self.store.domain_heartbeat(vec![Held::new("a", token)]).await.expect("heartbeat"))
    }

    pub(super) async fn advance(&self, advance: Advance) -> Answer<Advanced> {
        advance.check().expect("scenarios stay within bounds");
        only(self.store.domain_advance(vec![advance]).await.expect("advance"))
    }

    pub(super) async fn skip(&self, offset: u64) -> Skipped {
        only(self.store.domain_skip(vec![Skip::new("a", offset)]).await.expect("skip"))
    }

    /// Acquires an offset and succeeds with it.
    pub(super) async fn process(&self, offset: u64) {
        let token = self.hold(offset).await;
        self.succeed(token).await.expect("it is held");
    }

    pub(super) async fn change(&self, change: Change) -> DomainInfo {
        change.check().expect("scenarios stay within bounds");
        self.store.domain_change("a", change).await.expect("change")
    }

    pub(super) async fn recover(&self, max: u32) -> (u32, u32) {
        let recovered = self.store.domain_recover(max).await.expect("recover");
        (recovered.expired, recovered.failed)
    }

    pub(super) async fn info(&self) -> DomainInfo {
        self.store.domain("a").await.expect("domain").expect("the domain is on record")
    }

    pub(super) async fn lease(&self) -> LeaseInfo {
        self.info().await.lease.expect("something is in flight")
    }

    pub(super) async fn events(&self) -> Vec<Event> {
        self.store.domain_events("a").await.expect("events")
    }

    pub(super) async fn whats(&self) -> Vec<What> {
        self.events().await.iter().map(|event| event.what).collect()
    }
}

pub(super) fn only<T>(mut answers: Vec<T>) -> T {
    assert_eq!(answers.len(), 1, "one answer for one item");
    answers.remove(0)
}

/// How often a try may fail.
pub(super) fn retries(max: u32) -> Change {
    Change { max_retries: Some(Some(max)), ..Change::default() }
}

/// How often an offset may be taken over.
pub(super) fn takeovers(max: u32) -> Change {
    Change { takeovers_max: Some(Some(max)), ..Change::default() }
}
