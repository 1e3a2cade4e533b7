//! The leases of jobs, as the heart keeps them: one over all the jobs of a claim.

use crate::heart::Leases;
use std::sync::Arc;
use tenure_core::Token;
use tenure_core::queue::{Beat, JobId};
use tenure_store::{Fenced, Store, StoreError};

pub(super) struct Jobs;

impl Leases for Jobs {
    type Key = Token;
    type Part = JobId;

    async fn beat(
        store: Arc<dyn Store>,
        owner: String,
        tokens: Vec<Token>,
    ) -> Result<Vec<Fenced<Vec<JobId>>>, StoreError> {
        let beats = tokens.into_iter().map(|token| Beat::shared(owner.clone(), token)).collect();
        let answers = store.heartbeat(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|beaten| beaten.cancel_requested)).collect())
    }
}
