//! What the world can do to a store, told so that the caller knows what to do next.

use std::fmt;

/// Whether a failed call may have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was changed: asking again is safe.
    NotDone,
    /// The connection was lost while it was being carried out. Every verb with a token or a key can be asked again
    /// and is answered as the first time; an enqueue without a key may be doubled.
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::NotDone => "nothing was changed",
            Outcome::Unknown => "it may or may not have been carried out",
        })
    }
}

/// Why a store did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached or did not answer in time.
    #[error("the store is unavailable ({outcome}): {message}")]
    Unavailable {
        /// Whether asking again is safe.
        outcome: Outcome,
        /// What was met, without secrets.
        message: String,
    },
    /// The store has no room left. Nothing was changed; running work keeps its leases.
    #[error("the store is full, nothing was changed: {message}")]
    Full {
        /// What was met.
        message: String,
    },
    /// There is no store at the address, and none was to be made. Nothing was changed.
    #[error("there is no Tenure store at {place}: run `tenure init`")]
    Absent {
        /// Where it was looked for, and what is there instead, without secrets.
        place: String,
    },
    /// The store was laid out by a newer Tenure.
    #[error("the store has schema {found}, newer than the {known} this Tenure knows: use a newer Tenure")]
    SchemaNewer {
        /// The version found.
        found: i64,
        /// The last version known.
        known: i64,
    },
    /// The store was laid out by an older Tenure and is upgraded only on request.
    #[error("the store has schema {found}, older than the {known} this Tenure needs: run `tenure migrate`")]
    SchemaOlder {
        /// The version found.
        found: i64,
        /// The version needed.
        known: i64,
    },
    /// The schema is the same, but its functions are those of another Tenure. Installed only on request.
    #[error("the store has the functions of Tenure {found}, not those of this Tenure {known}: run `tenure migrate`")]
    FunctionsDiffer {
        /// Which release installed them, and their digest.
        found: String,
        /// This release, and the digest of its own.
        known: String,
    },
    /// The schema is the same, but a newer Tenure has changed its functions.
    #[error("the store has the functions of Tenure {found}, newer than this Tenure {known}: use a newer Tenure")]
    FunctionsNewer {
        /// Which release installed them, and their digest.
        found: String,
        /// This release, and the digest of its own.
        known: String,
    },
    /// The address is not one of a store, or its options make no sense.
    #[error("the store address is wrong: {message}")]
    Address {
        /// What is wrong with it, without secrets.
        message: String,
    },
    /// The store refuses us: wrong password, missing rights, an unwritable file.
    #[error("the store refuses access: {message}")]
    Denied {
        /// What was met, without secrets.
        message: String,
    },
    /// The store's place, or something in it, belongs to somebody who could make us run what they planted there. Nothing
    /// of it was run or changed.
    #[error("the store is not trusted, nothing was run: {message}")]
    Foreign {
        /// What it is, whose it is, and what to do.
        message: String,
    },
    /// The call would wait for a transaction that its own caller has open in the store's database, and so for ever.
    /// Nothing was changed: end that transaction first, or take part in it.
    #[error("the caller's own transaction is open, nothing was changed: {message}")]
    OwnTransaction {
        /// Where it is open, and what to do.
        message: String,
    },
    /// The store holds what it should not, or does what it should not: a bug or a damaged file.
    #[error("the store is damaged or misbehaves: {message}")]
    Broken {
        /// What was met.
        message: String,
    },
}

impl StoreError {
    /// Unreachable, and nothing was changed.
    pub fn unavailable(message: impl fmt::Display) -> StoreError {
        StoreError::Unavailable { outcome: Outcome::NotDone, message: message.to_string() }
    }

    /// Lost while it was being carried out.
    pub fn unknown(message: impl fmt::Display) -> StoreError {
        StoreError::Unavailable { outcome: Outcome::Unknown, message: message.to_string() }
    }

    /// A bug or a damaged file.
    pub fn broken(message: impl fmt::Display) -> StoreError {
        StoreError::Broken { message: message.to_string() }
    }

    /// The epoch cannot be raised (L2).
    #[must_use]
    pub fn tokens_spent() -> StoreError {
        StoreError::broken("the epoch was not raised: no tokens are left where the store's clock is; set it right")
    }

    /// The stable word for this error on every surface.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Unavailable { outcome: Outcome::NotDone, .. } => "unavailable",
            StoreError::Unavailable { outcome: Outcome::Unknown, .. } => "unknown_outcome",
            StoreError::Full { .. } => "store_full",
            StoreError::Absent { .. } => "store_absent",
            StoreError::SchemaNewer { .. } | StoreError::FunctionsNewer { .. } => "schema_newer",
            StoreError::SchemaOlder { .. } | StoreError::FunctionsDiffer { .. } => "schema_older",
            StoreError::Address { .. } => "store_address",
            StoreError::Denied { .. } => "store_denied",
            StoreError::Foreign { .. } => "store_foreign",
            StoreError::OwnTransaction { .. } => "own_transaction",
            StoreError::Broken { .. } => "store_broken",
        }
    }
}
