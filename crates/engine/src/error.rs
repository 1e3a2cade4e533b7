//! What a call can answer instead of success, told by what the caller can do about it.

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
            Error::Store(error) => error.code(),
        }
    }
}

impl From<LostReason> for Error {
    fn from(reason: LostReason) -> Error {
        Error::LeaseLost(reason)
    }
}
