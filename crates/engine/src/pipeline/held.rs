//! A stage or a segment in the hands of whoever claimed it.

use super::{Act, Beat, Beaten, Claim, ClaimedUnit, Ended, Ending, NewSegment, Record};
use crate::held::{Held, NotEnded, Unit};
use crate::queue::{from_json, to_json, to_json_kept};
use crate::worker::{ms, worker_name};
use crate::{Result, Tenure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::time::Duration;
use tenure_core::Token;

/// A stage or a segment that is held.
pub type HeldStage = Held<ClaimedUnit>;

impl Unit for ClaimedUnit {
    fn token(&self) -> Token {
        self.token
    }
}

/// A claim of stages and segments. Made by [`PipelineHandle::claim`](super::PipelineHandle::claim).
#[must_use = "nothing is claimed before `one` or `up_to`"]
#[derive(Clone, Debug)]
pub struct ClaimStages {
    tenure: Tenure,
    claim: Claim,
    wait: Duration,
}

impl ClaimStages {
    pub(super) fn new(tenure: &Tenure, pipeline: &str, stages: Vec<String>) -> ClaimStages {
        let (pipeline, owner) = (pipeline.to_owned(), worker_name());
        let claim = Claim { pipeline, stages, owner, max: 1, lease_ms: None };
        ClaimStages { tenure: tenure.clone(), claim, wait: Duration::ZERO }
    }

    /// Under this name; [`worker_name`](crate::worker_name) unless said otherwise.
    pub fn worker(mut self, name: impl Into<String>) -> ClaimStages {
        self.claim.owner = name.into();
        self
    }

    /// For so long, unless renewed by a heartbeat; what each stage says unless said otherwise.
    pub fn lease(mut self, lease: Duration) -> ClaimStages {
        self.claim.lease_ms = Some(ms(lease));
        self
    }

    /// Waits up to so long for the first; not at all unless said otherwise. No connection is held meanwhile.
    pub fn wait(mut self, wait: Duration) -> ClaimStages {
        self.wait = wait;
        self
    }

    /// The first that is `READY`, if there is one.
    pub async fn one(self) -> Result<Option<HeldStage>> {
        Ok(self.up_to(1).await?.pop())
    }

    /// At most `max` that are `READY`.
    pub async fn up_to(self, max: u32) -> Result<Vec<HeldStage>> {
        let ClaimStages { tenure, claim, wait } = self;
        let owner = claim.owner.clone();
        let claims = tenure.stage_worker().claim_within(claim.max(max), wait).await?;
        Ok(claims.units.into_iter().map(|unit| Held::new(&tenure, &owner, unit)).collect())
    }
}

type Answer = std::result::Result<Ended, NotEnded<ClaimedUnit>>;

impl HeldStage {
    /// What it works on, as a type.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
        from_json("input", &self.unit.input)
    }

    /// Renews the lease.
    pub async fn heartbeat(&self) -> Result<Beaten> {
        self.beat(None, None).await
    }

    /// Renews the lease, and tells people how far the work is.
    pub async fn progress<T: Serialize + ?Sized>(&self, progress: &T) -> Result<Beaten> {
        self.beat(Some(to_json("progress", progress)?), None).await
    }

    /// Renews the lease, and records what was made so far (P7).
    pub async fn record(&self, record: Record) -> Result<Beaten> {
        self.beat(None, Some(record)).await
    }

    async fn beat(&self, progress: Option<String>, record: Option<Record>) -> Result<Beaten> {
        let beat = Beat { progress, record, ..Beat::new(self.unit.key(), &*self.owner, self.unit.token) };
        self.tenure.stage_worker().heartbeat(beat).await
    }

    /// Done, with an output for the stages that need it; `&()` is none.
    pub async fn complete<T: Serialize + ?Sized>(self, output: &T) -> Answer {
        match to_json_kept("output", output) {
            Ok(output) => self.end(Act::Complete { output, record: None }).await,
            Err(error) => self.ended(Err(error)),
        }
    }

    /// Went wrong: tried again after the stage's backoff, while it has attempts.
    pub async fn fail(self, error: impl Display) -> Answer {
        let act = Act::Fail { error: error.to_string(), retry: self.tenure.around.by_policy() };
        self.end(act).await
    }

    /// Given back for somebody else, without counting the attempt.
    pub async fn release(self) -> Answer {
        self.end(Act::Release).await
    }

    /// Cut into segments (P6).
    pub async fn split(self, segments: Vec<NewSegment>) -> Answer {
        self.end(Act::Split { segments }).await
    }

    /// Ends it in whichever way.
    pub async fn end(self, act: Act) -> Answer {
        let (owner, token) = (self.owner.as_ref().to_owned(), self.unit.token);
        let ending = Ending { unit: self.unit.key(), owner, token, act };
        let answer = self.tenure.stage_worker().finish(ending).await;
        self.ended(answer)
    }
}
