//! The walk over jobs and queues: how operations are drawn and applied, and a [ledger] that judges the answers apart from
//! core.

mod compare;
mod draw;
mod ledger;
mod op;
mod operate;
mod run;

use crate::conformance::walk::worth_meeting;

pub use run::QueueWalk;

worth_meeting! {
    /// An ending under a lease that had run out was refused (A1).
    StaleFinishRefused,
    /// A heartbeat under a lease that had run out was refused (A3).
    ZombieHeartbeatRefused,
    /// An ending was refused while a later claim of the same owner name held the job (A2).
    SameNameRefused,
    /// An ending was refused at the very instant its lease ran out (L1).
    RefusedAtTheInstant,
    /// An ending sent again was answered as the first time (L12).
    Already,
    /// … after the job had been claimed again.
    AlreadyAfterMovingOn,
    /// … after the job was no longer on record.
    AlreadyAfterRemoval,
    /// An ending sent again was forgotten, after its hour (L12).
    ReceiptForgotten,
    /// Another verb under an ended claim was refused.
    OtherVerbRefused,
    /// Several refusals were counted into one event (L8).
    RefusalsCounted,
    /// An expiry ended a job at its limit (L6).
    CrashLimit,
    /// An attempt took too long, and it was the last (Q6).
    TimedOut,
    /// An expiry gave a job that was not started its attempt back (L6).
    NeighbourSpared,
    /// A started mark was accepted (L6).
    StartedMark,
    /// The last attempt failed (Q6).
    AttemptsSpent,
    /// A failed attempt was put back (Q6).
    Retried,
    /// A claim returned expired work first (L7).
    RecoveredByClaim,
    /// A sweep returned expired work (L7).
    RecoveredBySweep,
    /// A claim handed over what an earlier attempt had saved (Q3).
    CheckpointHandedOn,
    /// A claim found nothing.
    EmptyClaim,
    /// A claim found a limit full (Q8).
    AtCapacity,
    /// A claim found a rate spent.
    RateLimited,
    /// A claim found a queue paused.
    Paused,
    /// A due job waited for its tenant alone (Q8).
    TenantHeldBack,
    /// A due job waited for another of its lane (Q9).
    LaneHeld,
    /// A lane stopped at a failure (Q9).
    LaneBlocked,
    /// A due job waited in a lane that had stopped (Q9).
    LaneStopped,
    /// An enqueue was answered with a job that was there before (Q7).
    Deduplicated,
    /// … with one that was no longer on record.
    DedupAfterRemoval,
    /// Another body under a key was refused (Q7).
    DedupConflict,
    /// A key whose window was over was used again (Q7).
    KeyUsedAgain,
    /// A waiting job was cancelled (L11).
    CancelledWaiting,
    /// A holder gave back a job that was to be cancelled (L11).
    CancelledByHolder,
    /// A lease ran out over a job that was to be cancelled (L11).
    CancelledByExpiry,
    /// A running job was ended by force (L11).
    CancelledByForce,
    /// An operator put an ended job back (L9).
    RetriedByOperator,
    /// An operator's action was refused.
    ActionRefused,
    /// An ended job was not kept at all (I19).
    NotKept,
    /// A finished job was removed after its retention (I19).
    Pruned,
    /// The epoch was raised (L2).
    EpochRaised,
    /// A waiting job was told that its queue's or tenant's rate is spent.
    RateExplained,
    /// A waiting job was told that nobody looked for it lately.
    NobodyLately,
    /// … but for other kinds.
    OtherKindsLately,
    /// A worker was not seen for a day (and forgotten).
    SightingForgotten,
}
