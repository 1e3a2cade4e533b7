//! From the driver's errors to the store's: by cause, without SQL and without secrets.

use std::error::Error as _;
use std::io;
use tenure_core::queue::{Conflict, JobId};
use tenure_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

/// What a failed statement asks of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rolled back by the server for its own reasons.
    TryAgain,
    /// The server is not the one that drew the last token.
    Epoch,
    /// The default isolation is not READ COMMITTED.
    Isolation,
    /// Another transaction holds what it needs, or changed it while it waited.
    Busy,
    /// The server no longer takes writes.
    ReadOnly,
    /// Anything else.
    Other,
}

pub(crate) fn kind(error: &Error) -> Kind {
    match error.code().map(SqlState::code) {
        Some("40001" | "40P01") => Kind::TryAgain,
        Some("TE001") => Kind::Epoch,
        Some("TE002") => Kind::Isolation,
        Some("55P03" | "TE031") => Kind::Busy,
        Some("25006") => Kind::ReadOnly,
        _ => Kind::Other,
    }
}

/// What the server said.
pub(crate) fn message(error: &Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |db| db.message().to_owned())
}

/// The conflict of a dedup key, if that is what a statement met (Q7).
pub(crate) fn conflict(error: &Error) -> Option<Conflict> {
    let db = error.as_db_error().filter(|db| db.code().code() == "TE003")?;
    let (index, id) = db.detail()?.split_once(' ')?;
    // No job has the id 0: the conflict is with another job of the same call.
    let id = id.parse().ok().filter(|id| *id > 0).map(JobId);
    Some(Conflict { index: index.parse().ok()?, id })
}

/// The store's error for a failed statement; `writes` if it may have been committed before the connection broke.
pub(crate) fn of(error: Error, writes: bool) -> StoreError {
    let Some(db) = error.as_db_error() else {
        let message = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        return if writes { StoreError::unknown(message) } else { StoreError::unavailable(message) };
    };
    let message = db.message().to_owned();
    // The last word of a server that ends, perhaps between a commit and its answer, or of a pooler whose own connection
    // broke (08…): a write may have been carried out.
    let last_word = matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    if writes && (last_word || db.code().code().starts_with("08")) {
        return StoreError::unknown(message);
    }
    match db.code().code() {
        // Disk full, out of memory for it, and the like.
        "53100" => StoreError::Full { message },
        "42501" => StoreError::Denied { message: format!("{message} (`tenure doctor` tells what this role may do)") },
        // Wrong password, no such role.
        code if code.starts_with("28") => StoreError::Denied { message },
        "3D000" => StoreError::Address { message },
        // A standby, or a server set to be one.
        "25006" => StoreError::unavailable(format!("this server takes no writes: {message}")),
        // Connection trouble, resources, operator intervention (timeout, cancel): nothing was committed.
        code if code.starts_with("08") || code.starts_with("53") || code.starts_with("57") => {
            StoreError::unavailable(message)
        }
        "40001" | "40P01" | "55P03" | "TE031" => StoreError::unavailable(message),
        // The clock is where no tokens are left (L2).
        "TE005" => StoreError::tokens_spent(),
        code => StoreError::broken(format!("{message} ({code})")),
    }
}

/// No session was to be had: nothing was asked.
pub(crate) fn of_connect(error: Error) -> StoreError {
    let advice = match error.source() {
        Some(reason) if reason.to_string() == "server does not support TLS" => {
            "; to go on in clear text all the same, say sslmode=disable"
        }
        Some(reason) if uncertified(reason) => {
            "; for a server with a certificate of its own, name its authority in sslrootcert"
        }
        _ => "",
    };
    match of(error, false) {
        StoreError::Unavailable { message, .. } => StoreError::unavailable(format!("{message}{advice}")),
        other => other,
    }
}

/// Whether a connection failed for the server's certificate.
fn uncertified(reason: &(dyn std::error::Error + 'static)) -> bool {
    let reason = reason.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let reason = reason.and_then(|reason| reason.downcast_ref::<rustls::Error>());
    matches!(reason, Some(rustls::Error::InvalidCertificate(_)))
}

/// The statement took longer than any of ours should.
pub(crate) fn timed_out(writes: bool) -> StoreError {
    let message = "the server did not answer in time";
    if writes { StoreError::unknown(message) } else { StoreError::unavailable(message) }
}
