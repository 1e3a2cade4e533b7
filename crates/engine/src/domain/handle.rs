//! Handles on one domain, and lists. Making one asks nobody.

use super::held::{Acquisition, ClaimedOffset, HeldOffset};
use super::{Acquire, Change, DomainInfo, Event, Skip, Skipped, State};
use crate::error::absent;
use crate::held::Held;
use crate::worker::ms;
use crate::{Result, Tenure};
use futures_util::future::BoxFuture;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{Page, Token};

/// One domain. Made by [`Tenure::domain`]; the name is checked by each call.
#[derive(Clone, Debug)]
pub struct DomainHandle {
    pub(super) tenure: Tenure,
    pub(super) name: Arc<str>,
    pub(super) holder: Option<Arc<str>>,
    pub(super) lease_ms: Option<u64>,
}

impl Tenure {
    /// The domain `name`.
    #[must_use]
    pub fn domain(&self, name: &str) -> DomainHandle {
        DomainHandle { tenure: self.clone(), name: name.into(), holder: None, lease_ms: None }
    }

    /// Domains by name.
    pub fn domains(&self) -> ListDomains {
        ListDomains { tenure: self.clone(), after: None, state: None }
    }
}

impl DomainHandle {
    /// Names the caller: then only it is told the token of what it holds (D3).
    #[must_use]
    pub fn worker(mut self, name: &str) -> DomainHandle {
        self.holder = Some(name.into());
        self
    }

    /// Lets leases run out unless they are renewed (D4). Without it they never do, as in the document.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> DomainHandle {
        self.lease_ms = Some(ms(lease));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for an offset. It is held if nothing is in flight and it is first in the backlog, or that is empty; behind
    /// another one it waits.
    pub async fn try_acquire(&self, offset: u64) -> Result<Acquisition> {
        let (domain, holder) = (self.name.clone(), self.holder.clone());
        let acquire = Acquire { domain, offset, holder, lease_ms: self.lease_ms };
        let answer = self.tenure.verbs().domain_try_acquire(acquire).await?;
        Ok(Acquisition { answer, held: answer.token().map(|token| self.held(offset, token)) })
    }

    /// What is held of it under this token, as another process or an earlier life of this one was told.
    #[must_use]
    pub fn held(&self, offset: u64, token: Token) -> HeldOffset {
        let (domain, lease_ms) = (self.name.clone(), self.lease_ms);
        let owner = self.holder.as_deref().unwrap_or_default();
        Held::new(&self.tenure, owner, ClaimedOffset { domain, offset, token, lease_ms })
    }

    /// An operator's word: this offset fails for good, wherever it stands, and the others keep their order (D7).
    pub async fn skip(&self, offset: u64) -> Result<Skipped> {
        self.tenure.verbs().domain_skip(Skip { domain: self.name.clone(), offset }).await
    }

    /// Changes settings; a domain that was never used is made.
    pub fn change(&self) -> ChangeDomain {
        ChangeDomain { domain: self.clone(), change: Change::default() }
    }

    /// What it is and where it stands; not found if it was never used.
    pub async fn info(&self) -> Result<DomainInfo> {
        self.tenure.verbs().domain(&self.name).await?.ok_or_else(|| absent("domain", &self.name))
    }

    /// What went otherwise than well, and what was changed, oldest first (L8).
    pub async fn timeline(&self) -> Result<Vec<Event>> {
        self.tenure.verbs().domain_timeline(&self.name).await?.ok_or_else(|| absent("domain", &self.name))
    }
}

/// Settings of a domain, changed once this is awaited. Made by [`DomainHandle::change`].
#[must_use = "nothing is changed before it is awaited"]
#[derive(Clone, Debug)]
pub struct ChangeDomain {
    domain: DomainHandle,
    change: Change,
}

impl ChangeDomain {
    /// Tries after the first that an offset may have; `None` is the default.
    pub fn max_retries(mut self, max: impl Into<Option<u32>>) -> ChangeDomain {
        self.change.max_retries = Some(max.into());
        self
    }

    /// Leases of an offset that may run out before it fails for good; `None` is no limit.
    pub fn takeovers_max(mut self, max: impl Into<Option<u32>>) -> ChangeDomain {
        self.change.takeovers_max = Some(max.into());
        self
    }
}

impl IntoFuture for ChangeDomain {
    type Output = Result<DomainInfo>;
    type IntoFuture = BoxFuture<'static, Result<DomainInfo>>;

    fn into_future(self) -> Self::IntoFuture {
        let ChangeDomain { domain, change } = self;
        Box::pin(async move { domain.tenure.verbs().domain_change(&domain.name, change).await })
    }
}

/// Domains by name. Made by [`Tenure::domains`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListDomains {
    tenure: Tenure,
    after: Option<String>,
    state: Option<State>,
}

impl ListDomains {
    /// Only in this state.
    pub fn state(mut self, state: State) -> ListDomains {
        self.state = Some(state);
        self
    }

    /// Only those after this name: the last of the page before.
    pub fn after(mut self, name: impl Into<String>) -> ListDomains {
        self.after = Some(name.into());
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<DomainInfo>> {
        self.tenure.verbs().domains(self.after.as_deref(), self.state, limit).await
    }
}
