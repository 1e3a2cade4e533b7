//! The walk over pipelines: how operations are drawn and applied, and an account of its own that judges the answers
//! apart from core.

mod draw;
mod run;

use crate::conformance::walk::worth_meeting;

pub use run::PipelineWalk;

worth_meeting! {
    /// An ending under a lease that had run out was refused.
    StaleFinishRefused,
    /// A heartbeat under a lost lease was refused.
    BeatRefused,
    /// Several heartbeats were sent in one call.
    ManyBeats,
    /// A holder of a cancelled run was told.
    CancelledTold,
    /// An ending sent again was answered as the first time (L12).
    Already,
    /// Another verb under an ended claim was refused.
    OtherVerbRefused,
    /// A sweep returned a unit (L7).
    RecoveredBySweep,
    /// A claim returned a unit (L7).
    RecoveredByClaim,
    /// An expiry was the last (L6).
    CrashLimit,
    /// The orchestrator released a unit to be tried again (P4).
    RetryReleased,
    /// A stage was split (P6).
    Split,
    /// A join was claimed (P6).
    JoinClaimed,
    /// A segment failed its stage (P6).
    SegmentFailed,
    /// A split was refused.
    SplitRefused,
    /// A record was handed to the next attempt (P7).
    RecordHandedOn,
    /// A run ended well.
    RunDone,
    /// A run ended as `ERROR` by itself.
    RunError,
    /// A run was cancelled (S6).
    Cancelled,
    /// A run was retried (L9).
    Retried,
    /// A run was retried from a stage.
    RetriedFrom,
    /// A unit was repaired (P7).
    Repaired,
    /// A run was paused.
    Paused,
    /// An operator's action was refused.
    ActionRefused,
    /// A run sent again under its key was answered as the first time (Q7).
    StartedAgain,
    /// A key belonged to another run.
    KeyTaken,
    /// A version was refused.
    VersionTaken,
    /// A claim named what is not on record.
    AbsentClaimed,
    /// A settled run was removed.
    Pruned,
    /// The epoch was raised (L2).
    EpochRaised,
}
