//! The verbs of domains, as plain data.

use super::{
    Acquire, Acquired, Advance, AdvancedAnswer, Answer, Beaten, Change, DomainInfo, Event, Failed, Held, Skip, Skipped,
    State, Succeeded,
};
use crate::error::only;
use crate::{Error, Result, Verbs};
use tenure_core::Page;
use tenure_core::bounds;
use tenure_core::changes::{Face, Subject};
use tenure_core::domain::{check_acquires, check_advances, check_held, in_order};

impl Verbs<'_> {
    /// Changes settings; a domain that was never used is made.
    pub async fn domain_change(self, name: &str, change: Change) -> Result<DomainInfo> {
        bounds::key("domain", name)?;
        change.check()?;
        Ok(self.tenure.store.domain_change(name, change).await?)
    }

    /// Fails offsets for good, wherever they stand, by an operator's word (D7).
    pub async fn domain_skip(self, skip: Skip) -> Result<Skipped> {
        skip.check()?;
        only(self.tenure.store.domain_skip(vec![skip]).await?)
    }

    /// What it is and where it stands, if it was ever used.
    pub async fn domain(self, name: &str) -> Result<Option<DomainInfo>> {
        bounds::key("domain", name)?;
        Ok(self.tenure.store.domain(name).await?)
    }

    /// What went otherwise than well, and what was changed, oldest first (L8); `None` if it was never used.
    pub async fn domain_timeline(self, name: &str) -> Result<Option<Vec<Event>>> {
        if self.domain(name).await?.is_none() {
            return Ok(None);
        }
        let mut events = self.tenure.store.domain_events(name).await?;
        let changes = self.tenure.store.changes(Subject::new(Face::Domain, name)).await?;
        events.extend(changes.into_iter().map(Event::changed));
        Ok(Some(in_order(events)))
    }

    /// Domains by name, from after `after`, only those in `state` if one is named.
    pub async fn domains(self, after: Option<&str>, state: Option<State>, limit: u32) -> Result<Page<DomainInfo>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.domains(after, state, limit).await?)
    }

    /// Asks for an offset, as [`DomainHandle::try_acquire`](super::DomainHandle::try_acquire) does.
    pub async fn domain_try_acquire(self, acquire: Acquire) -> Result<Acquired> {
        acquire.check()?;
        only(self.tenure.store.domain_acquire(vec![acquire]).await?)?.map_err(Error::from)
    }

    /// The offset in flight is done. Answers which one waits first; nothing is handed over.
    pub async fn domain_succeed(self, held: Held) -> Result<Succeeded> {
        held.check()?;
        only(self.tenure.store.domain_succeed(vec![held]).await?)?.map_err(Error::from)
    }

    /// A try failed: the lease stays for the next one, or it was the last.
    pub async fn domain_fail(self, held: Held) -> Result<Failed> {
        held.check()?;
        only(self.tenure.store.domain_fail(vec![held]).await?)?.map_err(Error::from)
    }

    /// Renews a lease that runs out.
    pub async fn domain_heartbeat(self, held: Held) -> Result<Beaten> {
        held.check()?;
        only(self.tenure.store.domain_heartbeat(vec![held]).await?)?.map_err(Error::from)
    }

    /// Succeeds, and in the same step asks for what comes next: the head of the backlog, or else what is named.
    pub async fn domain_advance(self, advance: Advance) -> Result<AdvancedAnswer> {
        advance.check()?;
        only(self.tenure.store.domain_advance(vec![advance]).await?)?.map_err(Error::from)
    }

    /// Asks for offsets of many domains at once, each answered on its own.
    pub async fn domain_acquire_all(self, acquires: Vec<Acquire>) -> Result<Vec<Answer<Acquired>>> {
        check_acquires(&acquires)?;
        Ok(self.tenure.store.domain_acquire(acquires).await?)
    }

    /// Succeeds in many domains at once, each answered on its own.
    pub async fn domain_succeed_all(self, writes: Vec<Held>) -> Result<Vec<Answer<Succeeded>>> {
        check_held(&writes)?;
        Ok(self.tenure.store.domain_succeed(writes).await?)
    }

    /// Fails tries in many domains at once, each answered on its own.
    pub async fn domain_fail_all(self, writes: Vec<Held>) -> Result<Vec<Answer<Failed>>> {
        check_held(&writes)?;
        Ok(self.tenure.store.domain_fail(writes).await?)
    }

    /// Renews the leases of many domains at once, each answered on its own.
    pub async fn domain_heartbeat_all(self, beats: Vec<Held>) -> Result<Vec<Answer<Beaten>>> {
        check_held(&beats)?;
        Ok(self.tenure.store.domain_heartbeat(beats).await?)
    }

    /// Advances many domains at once, each answered on its own.
    pub async fn domain_advance_all(self, advances: Vec<Advance>) -> Result<Vec<Answer<AdvancedAnswer>>> {
        check_advances(&advances)?;
        Ok(self.tenure.store.domain_advance(advances).await?)
    }
}
