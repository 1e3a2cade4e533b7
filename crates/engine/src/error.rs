//! What a call can answer instead of success, told by what the caller can do about it.

use tenure_core::domain::Refused;
use tenure_core::queue::{Conflict, Refusal};
use tenure_core::{Invalid, LostReason};
use tenure_store::StoreError;

/// Why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is out of bounds: mend it. Nothing was changed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The lease is not held: stop the work. Nothing was changed.
    #[error("lease lost ({0}): {sentence}", sentence = .0.sentence())]
    LeaseLost(LostReason),
    /// Another body was sent under a dedup key that is remembered. Nothing of the call was enqueued.
    #[error("job {index} of the call has another body than the job that holds its key", index = .0.index)]
    Conflict(Conflict),
    /// An operator action does not fit the job. Nothing was changed.
    #[error("{sentence}", sentence = .0.sentence())]
    Refused(Refusal),
    /// The caller's own transaction is one of another store, or in no state for this. It was not changed.
    #[error("the transaction cannot be used: {message}")]
    Transaction {
        /// What is wrong with it.
        message: String,
    },
    /// A domain refuses: the caller is out of order, or no longer holds what it wrote about. Nothing was changed.
    #[error("{0}")]
    Domain(Refused),
    /// It does not fit what is on record of a sync. Nothing was changed.
    #[error(transparent)]
    Sync(tenure_core::sync::Refused),
    /// A version of a pipeline is on record with another graph. Nothing was changed.
    #[error("this version is on record with another graph: apply it under a higher version")]
    VersionTaken,
    /// The key of a run to start belongs to another one. Nothing was started.
    #[error("the key belongs to run {0}, which was started with another input or version")]
    RunKeyTaken(tenure_core::pipeline::RunId),
    /// What was named is not on record: a pipeline, a stage or a run.
    #[error("{0} is not on record")]
    Absent(String),
    /// The stage cannot be split. Nothing was changed.
    #[error("{0}")]
    CannotSplit(&'static str),
    /// An operator action does not fit the run. Nothing was changed.
    #[error("{sentence}", sentence = .0.sentence())]
    RunRefused(tenure_core::pipeline::RunRefusal),
    /// An artifact could not be read or written.
    #[error("artifact {path}: {message}")]
    Artifact {
        /// Which one.
        path: String,
        /// What was met.
        message: String,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// The stable word for this error on every surface.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid(invalid) => invalid.code.as_str(),
            Error::LeaseLost(_) => "lease_lost",
            Error::Conflict(_) => "dedup_conflict",
            Error::Refused(refusal) => refusal.as_str(),
            Error::Transaction { .. } => "transaction_unusable",
            Error::Domain(refused) => refused.code(),
            Error::Sync(refused) => refused.code(),
            Error::VersionTaken => "version_taken",
            Error::RunKeyTaken(_) => "dedup_conflict",
            Error::Absent(_) => "not_found",
            Error::CannotSplit(_) => "cannot_split",
            Error::RunRefused(refusal) => refusal.as_str(),
            Error::Artifact { .. } => "artifact",
            Error::Store(error) => error.code(),
        }
    }
}

impl From<LostReason> for Error {
    fn from(reason: LostReason) -> Error {
        Error::LeaseLost(reason)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        match refused {
            Refused::LeaseLost(reason) => Error::LeaseLost(reason),
            Refused::BacklogOrdering { .. } | Refused::TokenMismatch | Refused::LeaseNotFound => Error::Domain(refused),
        }
    }
}

/// The only answer of a store that was asked for one thing.
pub(crate) fn only<T>(answers: Vec<T>) -> crate::Result<T> {
    let short = || StoreError::broken("it answered fewer items than it was asked");
    Ok(answers.into_iter().next().ok_or_else(short)?)
}
