//! A job in the hands of whoever claimed it.

use super::job::{from_json, to_json, to_json_kept};
use crate::held::{Held, NotEnded, Unit};
use crate::worker::ms;
use crate::{CallerTransaction, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tenure_core::Token;
use tenure_core::queue::{Act, Beat, Beaten, ClaimedJob, Ended, Ending};

/// A job that is held.
pub type HeldJob = Held<ClaimedJob>;

type Answer = std::result::Result<Ended, NotEnded<ClaimedJob>>;

impl Unit for ClaimedJob {
    fn token(&self) -> Token {
        self.token
    }
}

impl HeldJob {
    /// Its payload, as the type it was enqueued as.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        from_json("payload", &self.unit.payload)
    }

    /// What the last attempt saved, if it saved anything.
    pub fn last_checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.unit.checkpoint.as_deref().map(|text| from_json("checkpoint", text)).transpose()
    }

    /// Renews the lease.
    pub async fn heartbeat(&self) -> Result<Beaten> {
        self.beat(|beat| beat).await
    }

    /// Renews the lease, and tells people how far the work is.
    pub async fn progress<T: Serialize + ?Sized>(&self, progress: &T) -> Result<Beaten> {
        let progress = to_json("progress", progress)?;
        self.beat(|beat| beat.progress(progress)).await
    }

    /// Renews the lease, and saves where this attempt has got to; the next one finds it by
    /// [`last_checkpoint`](HeldJob::last_checkpoint).
    pub async fn checkpoint<T: Serialize + ?Sized>(&self, state: &T) -> Result<Beaten> {
        let state = to_json("checkpoint", state)?;
        self.beat(|beat| beat.checkpoint(state)).await
    }

    async fn beat(&self, with: impl FnOnce(Beat) -> Beat) -> Result<Beaten> {
        let beat = Beat::new(self.unit.id, &*self.owner, self.unit.token);
        self.tenure.verbs().heartbeat(with(beat)).await
    }

    /// Done, with a result to keep; `&()` keeps none.
    pub async fn complete<T: Serialize + ?Sized>(self, result: &T) -> Answer {
        match to_json_kept("result", result) {
            Ok(result) => self.end(Act::Complete { result }).await,
            Err(error) => self.ended(Err(error)),
        }
    }

    /// Went wrong: tried again after the job's backoff, while it has attempts.
    pub async fn fail(self, error: impl std::fmt::Display) -> Answer {
        let act = Act::Fail { error: error.to_string(), retry: self.tenure.around.by_policy() };
        self.end(act).await
    }

    /// Not now: so much later, without counting the attempt.
    pub async fn snooze(self, delay: Duration) -> Answer {
        self.end(Act::Snooze { delay_ms: ms(delay) }).await
    }

    /// Given back for somebody else, without counting the attempt.
    pub async fn release(self) -> Answer {
        self.end(Act::Release).await
    }

    /// Ends it in whichever way.
    pub async fn end(self, act: Act) -> Answer {
        let answer = self.tenure.verbs().finish(self.ending(act)).await;
        self.ended(answer)
    }

    /// Done, if the caller's own transaction is committed: the effect and the word of it are one commit, or neither (Q10).
    pub async fn complete_in<X: CallerTransaction, T: Serialize + ?Sized>(self, tx: &mut X, result: &T) -> Answer {
        let answer = async {
            let result = to_json_kept("result", result)?;
            self.tenure.verbs().finish_in(tx, self.ending(Act::Complete { result })).await
        };
        let answer = answer.await;
        self.ended(answer)
    }

    /// Went wrong, if the caller's own transaction is committed.
    pub async fn fail_in<X: CallerTransaction>(self, tx: &mut X, error: impl std::fmt::Display) -> Answer {
        let act = Act::Fail { error: error.to_string(), retry: self.tenure.around.by_policy() };
        let answer = self.tenure.verbs().finish_in(tx, self.ending(act)).await;
        self.ended(answer)
    }

    /// Makes the caller's own transaction fenced: it is refused unless the lease is held now, and nobody is given the job
    /// before it ends (Q10).
    pub async fn held_in<X: CallerTransaction>(&self, tx: &mut X) -> Result<()> {
        self.tenure.verbs().held_in(tx, self.unit.id, &self.owner, self.unit.token).await
    }

    fn ending(&self, act: Act) -> Ending {
        Ending { job: self.unit.id, owner: self.owner.as_ref().to_owned(), token: self.unit.token, act }
    }
}
