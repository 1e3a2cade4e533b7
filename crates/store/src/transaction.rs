//! What a transaction of the caller's own must know of a store, and what it can meet (Q10).
//!
//! Where a backend's database has transactions that a caller may hold, the backend has functions that take part in
//! them: they take the transaction, the [`Place`] of the store and the request, and never commit.

use crate::{Clock, StoreError};
use std::path::PathBuf;
use tenure_core::queue::Conflict;
use tenure_core::{Invalid, LostReason};

/// Where a store keeps its work, as far as a transaction of somebody else's must know to find it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// In the memory of this process, where no transaction reaches it.
    Memory,
    /// In an SQLite file.
    File {
        /// Which one.
        path: PathBuf,
        /// What judges its leases.
        clock: Clock,
    },
    /// In a schema of a PostgreSQL database.
    Schema(String),
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// Out of bounds. The transaction was not touched.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The lease is not held: stop working on it, and roll back (L3).
    #[error("lease lost ({0}): {sentence}", sentence = .0.sentence())]
    LeaseLost(LostReason),
    /// Another body was sent under a key that is remembered (Q7).
    #[error("job {index} of the call has another body than the job that holds its key", index = .0.index)]
    Conflict(Conflict),
    /// This store's work cannot be done in this transaction: it belongs to another store, or is not in a state for it.
    #[error("the transaction cannot be used: {message}")]
    Unusable {
        /// What is wrong with it.
        message: String,
    },
    /// The database did not do what it was asked. Roll back.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TransactionError {
    /// A transaction that this store's work cannot be done in.
    pub fn unusable(message: impl Into<String>) -> TransactionError {
        TransactionError::Unusable { message: message.into() }
    }

    /// A transaction of `driver` was brought to a store that is elsewhere.
    #[must_use]
    pub fn elsewhere(driver: &str, place: &Place) -> TransactionError {
        let place = match place {
            Place::Memory => "in the memory of a process, where no transaction reaches it".to_owned(),
            Place::File { path, .. } => format!("the SQLite file {}", path.display()),
            Place::Schema(schema) => format!("schema `{schema}` of a PostgreSQL database"),
        };
        TransactionError::unusable(format!("it is one of {driver}, and the store is {place}"))
    }
}

impl From<LostReason> for TransactionError {
    fn from(reason: LostReason) -> TransactionError {
        TransactionError::LeaseLost(reason)
    }
}
