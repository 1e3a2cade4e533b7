//! The worker's verbs: claim a stage or a segment, keep it, end it (P2, P3).

use super::{Act, Beat, Beaten, Claim, Claims, Ended, Ending, NewSegment, Record, Refusal, UnitKey};
use crate::error::{Refused, only};
use crate::rest::look_within;
use crate::{Error, Result, Tenure};
use std::time::Duration;
use tenure_core::Token;
use tenure_store::wake_of_pipeline;

/// Claims units and ends them under its lease. It cannot make anything `READY`:
///
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure) -> tenure::Result<()> {
/// tenure.stage_worker().advance(1).await?;
/// # Ok(()) }
/// ```
/// ```compile_fail,E0599
/// # async fn wrong(tenure: tenure::Tenure) -> tenure::Result<()> {
/// tenure.stage_worker().recover(1).await?;
/// # Ok(()) }
/// ```
/// ```
/// # async fn right(tenure: tenure::Tenure, claim: tenure::pipeline::Claim) -> tenure::Result<()> {
/// tenure.stage_worker().claim(claim).await?;
/// # Ok(()) }
/// # async fn complete(tenure: tenure::Tenure, unit: tenure::pipeline::UnitKey) -> tenure::Result<()> {
/// tenure.stage_worker().complete(unit, "me", tenure::Token(1), None, None).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct StageWorker {
    tenure: Tenure,
}

impl Tenure {
    /// The worker's verbs on this store; [`stages`](Tenure::stages) is a worker with handlers.
    #[must_use]
    pub fn stage_worker(&self) -> StageWorker {
        StageWorker { tenure: self.clone() }
    }
}

impl StageWorker {
    /// Takes units that are `READY`.
    pub async fn claim(&self, claim: Claim) -> Result<Claims> {
        claim.check()?;
        let absent = || Error::NotFound(format!("stage {} of pipeline {}", claim.stages.join(", "), claim.pipeline));
        self.tenure.store.claim_units(claim.clone()).await?.ok_or_else(absent)
    }

    /// Takes units that are `READY`, waiting up to `wait` for the first. No connection is held while waiting.
    pub async fn claim_within(&self, claim: Claim, wait: Duration) -> Result<Claims> {
        let mut listener = self.tenure.store.signals().listen(vec![wake_of_pipeline(&claim.pipeline)]);
        let nothing = |claims: &Claims| claims.units.is_empty().then_some(None);
        look_within(wait, &mut listener, || self.claim(claim.clone()), nothing).await
    }

    /// Renews a lease; carries progress, and what was recorded of the outputs (P7).
    pub async fn heartbeat(&self, beat: Beat) -> Result<Beaten> {
        beat.check()?;
        Ok(only(self.tenure.store.beat_units(vec![beat]).await?)??)
    }

    /// Ends a claim as done.
    pub async fn complete(
        &self,
        unit: UnitKey,
        owner: &str,
        token: Token,
        output: Option<String>,
        record: Option<Record>,
    ) -> Result<Ended> {
        self.finish(Ending { unit, owner: owner.to_owned(), token, act: Act::Complete { output, record } }).await
    }

    /// Ends a claim as failed, to be tried again by the stage's backoff while it has attempts.
    pub async fn fail(&self, unit: UnitKey, owner: &str, token: Token, error: &str) -> Result<Ended> {
        let act = Act::Fail { error: error.to_owned(), retry: self.tenure.around.by_policy() };
        self.finish(Ending { unit, owner: owner.to_owned(), token, act }).await
    }

    /// Gives a unit back, without counting the attempt.
    pub async fn release(&self, unit: UnitKey, owner: &str, token: Token) -> Result<Ended> {
        self.finish(Ending { unit, owner: owner.to_owned(), token, act: Act::Release }).await
    }

    /// Cuts a stage into segments (P6).
    pub async fn split(&self, unit: UnitKey, owner: &str, token: Token, segments: Vec<NewSegment>) -> Result<Ended> {
        self.finish(Ending { unit, owner: owner.to_owned(), token, act: Act::Split { segments } }).await
    }

    /// Ends a claim. The same ending sent again is answered as the first time, with `already` (L12).
    pub async fn finish(&self, mut ending: Ending) -> Result<Ended> {
        ending.check()?;
        self.tenure.store.finish_unit(ending).await?.map_err(|refusal| match refusal {
            Refusal::Lost(reason) => Error::LeaseLost(reason),
            Refusal::NotSegmented => Refused::CannotSplit("only a stage declared `segmented` can be split").into(),
            Refusal::AlreadySplit => Refused::CannotSplit("the stage was split already; this is its join").into(),
        })
    }
}
