//! A sync or a chunk in the hands of whoever claimed it.

use super::{Act, Beat, ClaimedChunk, ClaimedSync, Ended, Ending, Synced};
use crate::held::{Held, NotEnded, Unit};
use crate::queue::from_json;
use crate::{CallerTransaction, Result};
use serde::de::DeserializeOwned;
use std::fmt::Display;
use tenure_core::sync::Unit as Which;
use tenure_core::{Time, Token};

/// A chunk that is held.
pub type HeldChunk = Held<ClaimedChunk>;
/// A sync that is held.
pub type HeldSync = Held<ClaimedSync>;

impl Unit for ClaimedChunk {
    fn token(&self) -> Token {
        self.token
    }
}

impl Unit for ClaimedSync {
    fn token(&self) -> Token {
        self.token
    }
}

/// What the two have in common.
trait OfSync: Unit {
    fn which(&self) -> Which;
}

impl OfSync for ClaimedChunk {
    fn which(&self) -> Which {
        Which::chunk(self.sync, &self.chunk_hash)
    }
}

impl OfSync for ClaimedSync {
    fn which(&self) -> Which {
        Which::sync(self.id)
    }
}

async fn renew<U: OfSync>(held: &Held<U>) -> Result<Time> {
    let beat = Beat::new(held.unit.which(), &*held.owner, held.unit.token());
    held.tenure.verbs().heartbeat_sync(beat).await
}

async fn end<U: OfSync>(held: Held<U>, act: Act) -> std::result::Result<Ended, NotEnded<U>> {
    let (owner, token) = (held.owner.as_ref().to_owned(), held.unit.token());
    let ending = Ending { unit: held.unit.which(), owner, token, act };
    let answer = held.tenure.verbs().finish_sync(ending).await;
    held.ended(answer)
}

fn failed(error: impl Display, retry: bool) -> Act {
    Act::Fail { error: error.to_string(), retry }
}

impl HeldChunk {
    /// What its sync was planned with for it, as a type.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        from_json("payload", &self.unit.payload)
    }

    /// Renews the lease; the new deadline.
    pub async fn heartbeat(&self) -> Result<Time> {
        renew(self).await
    }

    /// Done: so many rows, or a [`Synced`] with a cursor for the next pass.
    pub async fn complete(self, synced: impl Into<Synced>) -> std::result::Result<Ended, NotEnded<ClaimedChunk>> {
        let (row_count, cursor) = synced.into().into_parts();
        end(self, Act::Complete { row_count, cursor }).await
    }

    /// Went wrong: tried again at once, while it has attempts.
    pub async fn fail(self, error: impl Display) -> std::result::Result<Ended, NotEnded<ClaimedChunk>> {
        end(self, failed(error, true)).await
    }

    /// Given back for somebody else, without counting the attempt.
    pub async fn release(self) -> std::result::Result<Ended, NotEnded<ClaimedChunk>> {
        end(self, Act::Release).await
    }

    /// Done, if the caller's own transaction is committed: the rows and the word of them are one commit, or neither (S5).
    pub async fn complete_in<X: CallerTransaction>(
        self,
        tx: &mut X,
        synced: impl Into<Synced>,
    ) -> std::result::Result<(), NotEnded<ClaimedChunk>> {
        let (row_count, cursor) = synced.into().into_parts();
        let verbs = self.tenure.verbs();
        let answer = verbs.complete_chunk_in(tx, &self.unit, &self.owner, row_count, cursor.as_deref()).await;
        self.ended(answer)
    }

    /// Makes the caller's own transaction fenced: it is refused unless the lease is held now, and nobody is given the chunk
    /// before it ends.
    pub async fn held_in<X: CallerTransaction>(&self, tx: &mut X) -> Result<()> {
        self.tenure.verbs().chunk_held_in(tx, &self.unit, &self.owner).await
    }
}

impl HeldSync {
    /// Renews the lease; the new deadline.
    pub async fn heartbeat(&self) -> Result<Time> {
        renew(self).await
    }

    /// All its chunks are done; refused while one is not.
    pub async fn complete(self) -> std::result::Result<Ended, NotEnded<ClaimedSync>> {
        end(self, Act::done()).await
    }

    /// Went wrong, for good.
    pub async fn fail(self, error: impl Display) -> std::result::Result<Ended, NotEnded<ClaimedSync>> {
        end(self, failed(error, false)).await
    }

    /// Given back for somebody else.
    pub async fn release(self) -> std::result::Result<Ended, NotEnded<ClaimedSync>> {
        end(self, Act::Release).await
    }
}
