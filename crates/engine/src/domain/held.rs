//! An offset in the hands of whoever acquired it.

use super::{Acquired, Advance, AdvancedAnswer, Beaten, Failed, Held as HeldAt, Succeeded};
use crate::Result;
use crate::held::{Held, NotEnded, Unit};
use std::sync::Arc;
use tenure_core::Token;

/// An offset that is held.
pub type HeldOffset = Held<ClaimedOffset>;

/// An offset that was acquired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedOffset {
    /// Of this domain.
    pub domain: Arc<str>,
    /// This offset.
    pub offset: u64,
    /// The fencing token.
    pub token: Token,
    pub(super) lease_ms: Option<u64>,
}

impl Unit for ClaimedOffset {
    fn token(&self) -> Token {
        self.token
    }
}

/// What an acquire answered, with what is held by it.
#[derive(Clone, Debug)]
pub struct Acquisition {
    pub(super) answer: Acquired,
    pub(super) held: Option<HeldOffset>,
}

impl Acquisition {
    /// The answer, in the words of the document.
    #[must_use]
    pub fn answer(&self) -> Acquired {
        self.answer
    }

    /// What is held now, if it is.
    #[must_use]
    pub fn held(self) -> Option<HeldOffset> {
        self.held
    }
}

impl PartialEq<Acquired> for Acquisition {
    fn eq(&self, other: &Acquired) -> bool {
        self.answer == *other
    }
}

/// What became of an offset whose try failed.
#[derive(Clone, Debug)]
pub enum FailedTry {
    /// It is still held, for its next try.
    RetryScheduled {
        /// The same offset.
        held: HeldOffset,
        /// Tries that have failed.
        retry_count: u32,
    },
    /// That was its last try.
    GaveUp {
        /// The offset that waits first.
        next_hint: Option<u64>,
    },
}

/// What an advance did.
#[derive(Clone, Debug)]
pub struct Advanced {
    /// The offset that is done: which one waited first.
    pub succeeded: Succeeded,
    /// What was asked for next, and its answer.
    pub next: Option<(u64, std::result::Result<Acquisition, super::Refused>)>,
}

type Answer<T> = std::result::Result<T, NotEnded<ClaimedOffset>>;

impl HeldOffset {
    /// Renews a lease that runs out.
    pub async fn heartbeat(&self) -> Result<Beaten> {
        self.tenure.verbs().domain_heartbeat(self.at()).await
    }

    /// It is done. Answers which offset waits first; nothing is handed over.
    pub async fn complete(self) -> Answer<Succeeded> {
        let answer = self.tenure.verbs().domain_succeed(self.at()).await;
        self.ended(answer)
    }

    /// A try failed: it stays held for the next one, or it was the last.
    pub async fn fail(self) -> Answer<FailedTry> {
        match self.tenure.verbs().domain_fail(self.at()).await {
            Ok(Failed::RetryScheduled { retry_count }) => Ok(FailedTry::RetryScheduled { held: self, retry_count }),
            Ok(gave_up) => Ok(FailedTry::GaveUp { next_hint: gave_up.hint() }),
            Err(error) => self.ended(Err(error)),
        }
    }

    /// It is done, and in the same step what comes next is asked for: the head of the backlog, or else `next`.
    pub async fn advance(self, next: Option<u64>) -> Answer<Advanced> {
        let holder = Some(self.owner.clone()).filter(|name| !name.is_empty());
        let ClaimedOffset { domain, token, lease_ms, .. } = self.unit.clone();
        let advance = Advance { domain, token, next, holder, lease_ms };
        let answer = self.tenure.verbs().domain_advance(advance).await;
        let advanced = |AdvancedAnswer { succeeded, next }| {
            let acquired = |offset: u64, answer: Acquired| {
                let held = |token| Held { unit: ClaimedOffset { offset, token, ..self.unit.clone() }, ..self.clone() };
                Acquisition { answer, held: answer.token().map(held) }
            };
            let next = next.map(|(offset, answer)| (offset, answer.map(|answer| acquired(offset, answer))));
            Advanced { succeeded, next }
        };
        match answer {
            Ok(answer) => Ok(advanced(answer)),
            Err(error) => self.ended(Err(error)),
        }
    }

    fn at(&self) -> HeldAt {
        HeldAt { domain: self.unit.domain.clone(), token: self.unit.token }
    }
}
