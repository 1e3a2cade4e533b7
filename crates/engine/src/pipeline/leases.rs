//! The leases of stages and segments, as the heart keeps them.

use super::{Beat, UnitKey};
use crate::heart::Leases;
use std::sync::Arc;
use tenure_core::Token;
use tenure_store::{Fenced, Store, StoreError};

pub(super) struct Units;

impl Leases for Units {
    type Key = (UnitKey, Token);
    type Part = ();

    async fn beat(
        store: Arc<dyn Store>,
        owner: String,
        keys: Vec<(UnitKey, Token)>,
    ) -> Result<Vec<Fenced<Vec<()>>>, StoreError> {
        let beats = keys.into_iter().map(|(unit, token)| Beat::new(unit, &owner, token)).collect();
        let answers = store.beat_units(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|_| Vec::new())).collect())
    }
}
