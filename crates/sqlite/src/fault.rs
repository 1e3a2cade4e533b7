//! What SQLite can do to us, sorted by what the caller can do about it.
//!
//! Clonable, unlike [`StoreError`]: one failed commit is the answer to every operation of its group.

use rusqlite::ErrorCode;
use tenure_store::StoreError;

/// The answer of everything that touches the database.
pub(crate) type Done<T> = Result<T, Fault>;

/// Why the database did not do what it was asked.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Another process holds the file.
    Busy(String),
    /// The caller's own transaction holds the file.
    Own(String),
    /// No room left.
    Full(String),
    /// The file or its directory may not be used.
    Denied(String),
    /// The file is no longer where it was, or has got another name; nothing was changed.
    Gone(String),
    /// The disk failed; nothing was changed.
    Io(String),
    /// The disk failed while a commit was being made durable.
    Unsure(String),
    /// The file holds what it should not.
    Broken(String),
    /// There is no store, for this reason; with the file it was met in, where that is.
    Absent(String),
    /// Laid out by an older Tenure: found, known.
    Older(i64, i64),
    /// Laid out by a newer Tenure: found, known.
    Newer(i64, i64),
    /// The address makes no sense.
    Address(String),
}

impl Fault {
    /// A damaged file or a bug.
    pub(crate) fn broken(message: impl std::fmt::Display) -> Fault {
        Fault::Broken(message.to_string())
    }

    /// The same fault met by a commit: once the last frame may have reached the disk, a failed sync says nothing; nor is
    /// anybody sure to find what was committed to a file that is gone.
    pub(crate) fn at_commit(self) -> Fault {
        match self {
            Fault::Io(message) | Fault::Gone(message) => Fault::Unsure(message),
            other => other,
        }
    }

    /// The same fault, with the file it was met in.
    pub(crate) fn of(self, file: &str) -> Fault {
        let with = |message: String| format!("{file}: {message}");
        match self {
            Fault::Busy(message) => Fault::Busy(with(message)),
            Fault::Own(message) => Fault::Own(with(message)),
            Fault::Full(message) => Fault::Full(with(message)),
            Fault::Denied(message) => Fault::Denied(with(message)),
            Fault::Io(message) => Fault::Io(with(message)),
            Fault::Gone(message) => Fault::Gone(with(message)),
            Fault::Unsure(message) => Fault::Unsure(with(message)),
            Fault::Broken(message) => Fault::Broken(with(message)),
            Fault::Absent(why) => Fault::Absent(format!("{file} ({why})")),
            other @ (Fault::Older(..) | Fault::Newer(..) | Fault::Address(_)) => other,
        }
    }
}

/// Whether the only trouble is that someone else holds the lock.
pub(crate) fn busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        let message = one_line(&error);
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                Fault::Busy(message)
            }
            Some(ErrorCode::DiskFull) => Fault::Full(message),
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::CannotOpen
                | ErrorCode::AuthorizationForStatementDenied,
            ) => Fault::Denied(message),
            Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted) => {
                Fault::Io(message)
            }
            _ => Fault::Broken(message),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> StoreError {
        match fault {
            Fault::Busy(message) | Fault::Gone(message) | Fault::Io(message) => StoreError::unavailable(message),
            Fault::Unsure(message) => StoreError::unknown(message),
            Fault::Own(message) => StoreError::OwnTransaction { message },
            Fault::Full(message) => StoreError::Full { message },
            Fault::Denied(message) => StoreError::Denied { message },
            Fault::Broken(message) => StoreError::Broken { message },
            Fault::Absent(place) => StoreError::Absent { place },
            Fault::Older(found, known) => StoreError::SchemaOlder { found, known },
            Fault::Newer(found, known) => StoreError::SchemaNewer { found, known },
            Fault::Address(message) => StoreError::Address { message },
        }
    }
}

/// An error as one line: rusqlite repeats the whole statement in some of its messages.
fn one_line(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => match message {
            Some(message) => format!("{message} ({code})"),
            None => code.to_string(),
        },
        rusqlite::Error::SqlInputError { error, msg, .. } => format!("{msg} ({error})"),
        other => other.to_string(),
    }
    .replace('\n', " ")
}
