//! What an operator may do to a job: cancel it, or try it again (L9, L11).

use super::job::JobId;
use crate::bounds::{self, Invalid};
use crate::words::words;

/// One operator action on one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Which job.
    pub job: JobId,
    /// What to do.
    pub action: Action,
}

/// What to do with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// End it: a waiting job at once; a running one by asking its holder with the next heartbeat (L11).
    Cancel {
        /// Why; kept with the event.
        reason: Option<String>,
        /// End a running job now, whatever its holder does.
        force: bool,
    },
    /// Put a finished job back, with its attempts anew (L9).
    Retry,
}

impl Action {
    /// Cuts the reason to what is kept of it. Nothing here is refused.
    pub fn check(&mut self) -> Result<(), Invalid> {
        if let Action::Cancel { reason: Some(reason), .. } = self {
            *reason = bounds::clipped(reason);
        }
        Ok(())
    }
}

words! {
    /// Why an operator action was refused. Nothing was changed.
    Refusal {
        /// The job is not on record.
        Absent = "not_found",
        /// It has ended: there is nothing to cancel.
        Terminal = "terminal",
        /// It has not ended: there is nothing to retry.
        NotTerminal = "not_terminal",
        /// Another transaction, perhaps a user's that stays open, has it: a bulk action waits for none.
        Busy = "busy",
    }
}

impl Refusal {
    /// What is the matter, for the person who asked.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Refusal::Absent => "the job is not on record; it may have been removed after its retention",
            Refusal::Terminal => "the job has already ended; nothing was changed",
            Refusal::NotTerminal => "the job has not ended yet; nothing was changed",
            Refusal::Busy => {
                "the job is held by a transaction that is still open; nothing was changed, ask again later"
            }
        }
    }
}
