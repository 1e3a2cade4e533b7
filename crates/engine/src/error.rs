//! What a call can answer instead of success, told by what the caller can do about it.

use std::fmt;
use tenure_core::pipeline::{RunId, RunRefusal};
use tenure_core::queue::{Conflict, JobId};
use tenure_core::{Invalid, LostReason, domain, queue, sync};
use tenure_store::{Outcome, StoreError};

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
    /// Another body was sent under a key that is remembered. Nothing of the call was done.
    #[error("the key of item {index} of the call belongs to {with}, which was sent with another body")]
    Conflict {
        /// Which item of the call.
        index: usize,
        /// Who has the key.
        with: KeyHolder,
    },
    /// It does not fit what is on record. Nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// What was named is not on record.
    #[error("{0} is not on record")]
    NotFound(String),
    /// The store did not answer.
    #[error("the store is unavailable ({}): {message}", if *.safe_to_retry { Outcome::NotDone } else { Outcome::Unknown })]
    Unavailable {
        /// Nothing was changed. If not, the call may have been carried out: every verb with a token or a key can be asked
        /// again and is answered as the first time; an enqueue without a key may be doubled.
        safe_to_retry: bool,
        /// What was met, without secrets.
        message: String,
    },
    /// The store holds what it should not: a bug or a damaged file.
    #[error("the store is damaged or misbehaves: {message}")]
    Corrupt {
        /// What was met.
        message: String,
    },
    /// The store cannot be used as it stands: another schema, a wrong address, no access, no room.
    #[error(transparent)]
    Store(StoreError),
    /// A job that was [waited](crate::queue::JobHandle::wait) for has failed for good.
    #[error("job {id} failed: {error}")]
    JobFailed {
        /// Which one.
        id: JobId,
        /// What it said.
        error: String,
    },
    /// An artifact could not be read or written.
    #[error("artifact {path}: {message}")]
    Artifact {
        /// Which one.
        path: String,
        /// What was met.
        message: String,
    },
}

/// Who has a key that was sent with another body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHolder {
    /// This job.
    Job(JobId),
    /// This run.
    Run(RunId),
    /// Another item of the same call.
    SameCall,
}

impl fmt::Display for KeyHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyHolder::Job(id) => write!(f, "job {id}"),
            KeyHolder::Run(id) => write!(f, "run {id}"),
            KeyHolder::SameCall => f.write_str("another item of this call"),
        }
    }
}

/// What does not fit what is on record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// An operator's action does not fit the job.
    #[error("{sentence}", sentence = .0.sentence())]
    Job(queue::Refusal),
    /// An operator's action does not fit the run.
    #[error("{sentence}", sentence = .0.sentence())]
    Run(RunRefusal),
    /// A domain: the caller is out of order, or no longer holds what it wrote about.
    #[error("{0}")]
    Domain(domain::Refused),
    /// A sync.
    #[error("{0}")]
    Sync(sync::Refused),
    /// A version of a pipeline is on record with another graph.
    #[error("this version is on record with another graph: apply it under a higher version")]
    VersionTaken,
    /// The stage cannot be split.
    #[error("{0}")]
    CannotSplit(&'static str),
    /// The caller's own transaction is one of another store, or in no state for this. It was not changed.
    #[error("the transaction cannot be used: {message}")]
    Transaction {
        /// What is wrong with it.
        message: String,
    },
}

impl Refused {
    fn code(&self) -> &'static str {
        match self {
            Refused::Job(refusal) => refusal.as_str(),
            Refused::Run(refusal) => refusal.as_str(),
            Refused::Domain(refused) => refused.code(),
            Refused::Sync(refused) => refused.code(),
            Refused::VersionTaken => "version_taken",
            Refused::CannotSplit(_) => "cannot_split",
            Refused::Transaction { .. } => "transaction_unusable",
        }
    }
}

impl Error {
    /// The stable word for this error on every surface.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid(invalid) => invalid.code.as_str(),
            Error::LeaseLost(_) => "lease_lost",
            Error::Conflict { .. } => "dedup_conflict",
            Error::Refused(refused) => refused.code(),
            Error::NotFound(_) => "not_found",
            Error::Unavailable { safe_to_retry: true, .. } => "unavailable",
            Error::Unavailable { safe_to_retry: false, .. } => "unknown_outcome",
            Error::Corrupt { .. } => "store_broken",
            Error::Store(error) => error.code(),
            Error::JobFailed { .. } => "job_failed",
            Error::Artifact { .. } => "artifact",
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Unavailable { outcome, message } => {
                Error::Unavailable { safe_to_retry: outcome == Outcome::NotDone, message }
            }
            StoreError::Broken { message } => Error::Corrupt { message },
            other => Error::Store(other),
        }
    }
}

impl From<LostReason> for Error {
    fn from(reason: LostReason) -> Error {
        Error::LeaseLost(reason)
    }
}

impl From<Conflict> for Error {
    fn from(Conflict { index, id }: Conflict) -> Error {
        Error::Conflict { index, with: id.map_or(KeyHolder::SameCall, KeyHolder::Job) }
    }
}

impl From<domain::Refused> for Error {
    fn from(refused: domain::Refused) -> Error {
        match refused {
            domain::Refused::LeaseLost(reason) => Error::LeaseLost(reason),
            other => Refused::Domain(other).into(),
        }
    }
}

impl From<sync::Refused> for Error {
    fn from(refused: sync::Refused) -> Error {
        Refused::Sync(refused).into()
    }
}

/// That `what`, of this name or number, is not on record.
pub(crate) fn absent(what: &str, name: impl fmt::Display) -> Error {
    Error::NotFound(format!("{what} {name}"))
}

/// The only answer of a store that was asked for one thing.
pub(crate) fn only<T>(answers: Vec<T>) -> crate::Result<T> {
    let short = || StoreError::broken("it answered fewer items than it was asked");
    Ok(answers.into_iter().next().ok_or_else(short)?)
}
