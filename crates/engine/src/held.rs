//! What a claim gives: a unit that is held under a lease.
//!
//! It knows its owner and its token, so nobody passes them by hand, and it is ended by value: what has ended cannot be
//! ended again. Dropping it releases nothing; its lease runs out.

use crate::{Error, Tenure};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use tenure_core::Token;

/// A unit that is held: a job, a stage or segment, a chunk, an offset. What was claimed is reached through it.
///
/// It is ended once: a second ending does not compile.
///
/// ```compile_fail,E0382
/// # async fn ended_twice(job: tenure::queue::HeldJob) -> tenure::Result<()> {
/// job.complete(&()).await?;
/// job.release().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Held<U> {
    pub(crate) tenure: Tenure,
    pub(crate) owner: Arc<str>,
    pub(crate) unit: U,
}

impl<U> Held<U> {
    pub(crate) fn new(tenure: &Tenure, owner: &str, unit: U) -> Held<U> {
        Held { tenure: tenure.clone(), owner: owner.into(), unit }
    }

    /// Who holds it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// What was claimed, without the means to end it.
    #[must_use]
    pub fn into_unit(self) -> U {
        self.unit
    }

    /// Gives the unit back with the error of an ending that was not accepted.
    pub(crate) fn ended<T>(self, answer: crate::Result<T>) -> std::result::Result<T, NotEnded<U>> {
        answer.map_err(|error| NotEnded(Box::new((self, error))))
    }
}

/// Something that is held under a token.
pub trait Unit {
    /// The fencing token of its claim.
    fn token(&self) -> Token;
}

impl<U: Unit> Held<U> {
    /// The fencing token of the claim: hand it to whatever is written on behalf of the work (L2).
    #[must_use]
    pub fn token(&self) -> Token {
        self.unit.token()
    }
}

impl<U> Deref for Held<U> {
    type Target = U;

    fn deref(&self) -> &U {
        &self.unit
    }
}

impl<U: fmt::Debug> fmt::Debug for Held<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("owner", &self.owner).field("unit", &self.unit).finish_non_exhaustive()
    }
}

/// An ending that was not accepted, or not answered, with the unit it was about: the same ending may be sent again (L12).
/// As an error it is the [`Error`] within.
pub struct NotEnded<U>(Box<(Held<U>, Error)>);

impl<U> NotEnded<U> {
    /// What went wrong.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0.1
    }

    /// What may still be held, and what went wrong.
    #[must_use]
    pub fn into_parts(self) -> (Held<U>, Error) {
        *self.0
    }
}

impl<U> From<NotEnded<U>> for Error {
    fn from(not_ended: NotEnded<U>) -> Error {
        not_ended.0.1
    }
}

impl<U> fmt::Display for NotEnded<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl<U> fmt::Debug for NotEnded<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.error(), f)
    }
}

impl<U> std::error::Error for NotEnded<U> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error().source()
    }
}
