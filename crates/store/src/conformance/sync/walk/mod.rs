//! The walk over syncs: how operations are drawn and applied, and a [ledger] that judges the answers apart from core.

mod draw;
mod ledger;
mod run;

use crate::conformance::walk::worth_meeting;

pub use run::SyncWalk;

worth_meeting! {
    /// A write under a lease that had run out was refused.
    ExpiredRefused,
    /// A write was refused because the unit had been claimed again since.
    SupersededRefused,
    /// A write was refused because its sync had been cancelled or failed.
    CancelledRefused,
    /// Another verb under an ended claim was refused.
    FinishedRefused,
    /// A write that nobody could have been granted was refused.
    UnknownRefused,
    /// An ending sent again was answered as the first time.
    Already,
    /// … in a later pass.
    AlreadyInLaterPass,
    /// A matrix had an unfinished sync.
    Unfinished,
    /// A sync could not be completed yet.
    Incomplete,
    /// A sync was completed.
    SyncCompleted,
    /// A chunk was skipped by policy.
    Skipped,
    /// A chunk was planned again and kept what its last sync left.
    PlannedAgain,
    /// Two matrices held chunks of equal hash at once.
    SameHashHeldTwice,
    /// A chunk failed with its last attempt.
    AttemptsSpent,
    /// A chunk's last lease ran out.
    ChunkCrashedOut,
    /// A sync's leases ran out too often.
    SyncCrashedOut,
    /// A claim took a chunk whose lease had run out.
    ExpiredClaimed,
    /// A claim named its chunk.
    NamedClaimed,
    /// A claim found that others hold what is left.
    AllHeld,
    /// A sweep told of leases that ran out.
    Swept,
    /// A sync was cancelled while it was held.
    CancelledHeld,
    /// An old sync was removed.
    Pruned,
    /// The epoch was raised.
    EpochRaised,
}
