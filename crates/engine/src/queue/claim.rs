//! Claiming jobs by hand: what a worker does by itself.

use super::HeldJob;
use crate::held::Held;
use crate::worker::{ms, worker_name};
use crate::{Result, Tenure};
use std::time::Duration;
use tenure_core::queue::{Claim, Claims};

/// A claim of jobs, to be set up and then asked for [one](ClaimJobs::one) or [several](ClaimJobs::up_to). Made by
/// [`QueueHandle::claim`](super::QueueHandle::claim).
#[must_use = "nothing is claimed before `one` or `up_to`"]
#[derive(Clone, Debug)]
pub struct ClaimJobs {
    tenure: Tenure,
    claim: Claim,
    wait: Duration,
}

impl ClaimJobs {
    pub(super) fn new(tenure: &Tenure, queue: &str) -> ClaimJobs {
        ClaimJobs { tenure: tenure.clone(), claim: Claim::new(queue, worker_name()), wait: Duration::ZERO }
    }

    /// Under this name; [`worker_name`](crate::worker_name) unless said otherwise.
    pub fn worker(mut self, name: impl Into<String>) -> ClaimJobs {
        self.claim.owner = name.into();
        self
    }

    /// For so long, unless renewed by a heartbeat; 30 s unless said otherwise.
    pub fn lease(mut self, lease: Duration) -> ClaimJobs {
        self.claim.lease_ms = ms(lease);
        self
    }

    /// Only jobs of these kinds.
    pub fn kinds<S: Into<String>>(mut self, kinds: impl IntoIterator<Item = S>) -> ClaimJobs {
        self.claim = self.claim.kinds(kinds);
        self
    }

    /// From this queue too.
    pub fn also(mut self, queue: impl Into<String>) -> ClaimJobs {
        self.claim = self.claim.also(queue);
        self
    }

    /// Waits up to so long for the first job; not at all unless said otherwise. No connection is held meanwhile.
    pub fn wait(mut self, wait: Duration) -> ClaimJobs {
        self.wait = wait;
        self
    }

    /// The first job that is due, if there is one.
    pub async fn one(self) -> Result<Option<HeldJob>> {
        Ok(self.up_to(1).await?.pop())
    }

    /// At most `max` jobs that are due, each under a lease of its own.
    pub async fn up_to(self, max: u32) -> Result<Vec<HeldJob>> {
        let ClaimJobs { tenure, claim, wait } = self;
        let owner = claim.owner.clone();
        let Claims { jobs, .. } = tenure.verbs().claim_within(claim.max(max), wait).await?;
        Ok(jobs.into_iter().map(|job| Held::new(&tenure, &owner, job)).collect())
    }
}
