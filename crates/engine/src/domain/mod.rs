//! Domains: exclusive, first-in first-out processing of numbered offsets for each key, under a fencing token.
//!
//! [`Tenure::domain`] is a handle on one of them, with the verbs of its document. [`DomainWorker`] is the orchestrator
//! that the document leaves outside: it feeds offsets, follows hints, waits between tries.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
//! use tenure::Tenure;
//! use tenure::domain::{Acquired, Succeeded};
//!
//! let tenure = Tenure::open("memory:").await?;
//! let account = tenure.domain("acct-42");
//! let Acquired::Acquired { token } = account.try_acquire(1).await? else { unreachable!("nothing is in flight") };
//! // Another offset of the same account waits its turn.
//! assert_eq!(account.try_acquire(2).await?, Acquired::Enqueued { expired_offset: None });
//! assert_eq!(account.succeed(token).await?, Succeeded::NextHint { offset: 2 });
//! // The hint is first; anything else is out of order, and says so.
//! assert_eq!(account.try_acquire(3).await.unwrap_err().code(), "backlog_ordering");
//! # Ok(()) }
//! ```

mod desk;
mod drive;
mod source;
mod worker;

use crate::error::only;
use crate::{Error, Result, Tenure};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::Page;
use tenure_core::bounds;
use tenure_core::changes::{Face, Subject};

pub use source::{Offsets, Source, offsets};
use tenure_core::Token;
pub use tenure_core::domain::{
    Acquire, Acquired, Advance, Advanced, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, LeaseInfo,
    OFFSET_MAX, RETRIES_MAX, Recovered, Refused, Settings, Skip, Skipped, State, Succeeded, Verb, What, token_of,
};
use tenure_core::domain::{check_acquires, check_advances, check_held, in_order};
pub use worker::{Act, DomainWorker, Domains, Drained, Ended, Offset, Work};

/// A handle on one domain. Cheap to make and to clone; the name is checked by each call.
#[derive(Clone, Debug)]
pub struct Domain {
    tenure: Tenure,
    name: Arc<str>,
    holder: Option<Arc<str>>,
    lease_ms: Option<u64>,
}

impl Domain {
    /// Names the caller: then only it is told the token of what it holds (D3).
    #[must_use]
    pub fn holder(mut self, holder: &str) -> Domain {
        self.holder = Some(holder.into());
        self
    }

    /// Lets leases run out unless they are renewed (D4). Without it they never do, as in the document.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Domain {
        self.lease_ms = Some(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for an offset. It is acquired if nothing is in flight and it is first in the backlog, or that is empty;
    /// behind another one it waits.
    pub async fn try_acquire(&self, offset: u64) -> Result<Acquired> {
        let (domain, holder) = (self.name.clone(), self.holder.clone());
        self.tenure.domain_try_acquire(Acquire { domain, offset, holder, lease_ms: self.lease_ms }).await
    }

    /// The offset in flight is done. Answers which one waits first; nothing is handed over.
    pub async fn succeed(&self, token: Token) -> Result<Succeeded> {
        only(self.tenure.store.domain_succeed(vec![self.held(token)?]).await?)?.map_err(Error::from)
    }

    /// A try failed: the lease stays for the next one, or it was the last.
    pub async fn fail(&self, token: Token) -> Result<Failed> {
        only(self.tenure.store.domain_fail(vec![self.held(token)?]).await?)?.map_err(Error::from)
    }

    /// Renews a lease that runs out.
    pub async fn heartbeat(&self, token: Token) -> Result<Beaten> {
        only(self.tenure.store.domain_heartbeat(vec![self.held(token)?]).await?)?.map_err(Error::from)
    }

    /// [`succeed`](Domain::succeed), and in the same step [`try_acquire`](Domain::try_acquire) of what comes next: the
    /// head of the backlog, or else `next`.
    pub async fn advance(&self, token: Token, next: Option<u64>) -> Result<Advanced> {
        let (domain, holder) = (self.name.clone(), self.holder.clone());
        let advance = Advance { domain, token, next, holder, lease_ms: self.lease_ms };
        advance.check()?;
        only(self.tenure.store.domain_advance(vec![advance]).await?)?.map_err(Error::from)
    }

    /// An operator's word: this offset fails for good, wherever it stands, and the others keep their order (D7).
    pub async fn skip(&self, offset: u64) -> Result<Skipped> {
        let skip = Skip { domain: self.name.clone(), offset };
        skip.check()?;
        only(self.tenure.store.domain_skip(vec![skip]).await?)
    }

    /// Changes settings; a domain that was never used is made.
    pub async fn change(&self, change: Change) -> Result<DomainInfo> {
        bounds::key("domain", &self.name)?;
        change.check()?;
        Ok(self.tenure.store.domain_change(&self.name, change).await?)
    }

    /// What it is and where it stands, if it was ever used.
    pub async fn show(&self) -> Result<Option<DomainInfo>> {
        bounds::key("domain", &self.name)?;
        Ok(self.tenure.store.domain(&self.name).await?)
    }

    /// What went otherwise than well, and what was changed, oldest first (L8); `None` if it was never used.
    pub async fn timeline(&self) -> Result<Option<Vec<Event>>> {
        if self.show().await?.is_none() {
            return Ok(None);
        }
        let mut events = self.tenure.store.domain_events(&self.name).await?;
        let changes = self.tenure.store.changes(Subject::new(Face::Domain, &*self.name)).await?;
        events.extend(changes.into_iter().map(Event::changed));
        Ok(Some(in_order(events)))
    }

    fn held(&self, token: Token) -> Result<Held> {
        let held = Held { domain: self.name.clone(), token };
        held.check()?;
        Ok(held)
    }
}

impl Tenure {
    /// The domain `name`.
    #[must_use]
    pub fn domain(&self, name: &str) -> Domain {
        Domain { tenure: self.clone(), name: name.into(), holder: None, lease_ms: None }
    }

    /// Domains by name, from after `after`, only those in `state` if one is named.
    pub async fn domains(&self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.domains(after, state, limit).await?)
    }

    /// Asks for an offset, as [`Domain::try_acquire`] does.
    pub async fn domain_try_acquire(&self, acquire: Acquire) -> Result<Acquired> {
        acquire.check()?;
        only(self.store.domain_acquire(vec![acquire]).await?)?.map_err(Error::from)
    }

    /// Asks for offsets of many domains at once, each answered on its own.
    pub async fn domain_acquire_all(&self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        check_acquires(&acquires)?;
        Ok(self.store.domain_acquire(acquires).await?)
    }

    /// Succeeds in many domains at once, each answered on its own.
    pub async fn domain_succeed_all(&self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        check_held(&writes)?;
        Ok(self.store.domain_succeed(writes).await?)
    }

    /// Fails tries in many domains at once, each answered on its own.
    pub async fn domain_fail_all(&self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        check_held(&writes)?;
        Ok(self.store.domain_fail(writes).await?)
    }

    /// Renews the leases of many domains at once, each answered on its own.
    pub async fn domain_heartbeat_all(&self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        check_held(&beats)?;
        Ok(self.store.domain_heartbeat(beats).await?)
    }

    /// Advances many domains at once, each answered on its own.
    pub async fn domain_advance_all(&self, advances: Vec<Advance>) -> Result<Vec<Answer<Advanced>>> {
        check_advances(&advances)?;
        Ok(self.store.domain_advance(advances).await?)
    }
}
