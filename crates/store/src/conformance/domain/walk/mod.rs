//! The walk over domains: how operations are drawn and applied, and a [plain reading](plain) of the document that judges
//! every answer apart from core.

mod op;
mod plain;
mod run;

use crate::conformance::walk::worth_meeting;

pub use run::DomainWalk;

worth_meeting! {
    /// A free offset was acquired.
    Acquired,
    /// … that was the head of a backlog.
    HeadAcquired,
    /// … after its lease had run out (D4).
    TakenOver,
    /// Another offset had to wait.
    Enqueued,
    /// … behind one whose lease had run out.
    EnqueuedBehindExpired,
    /// The offset in flight was asked for again.
    AlreadyAcquired,
    /// … by someone else than its named holder (D3).
    HeldByOther,
    /// An offset that ended well was asked for again.
    AlreadyProcessed,
    /// One that had failed was.
    AlreadyFailed,
    /// A takeover beyond the limit failed its offset.
    TakeoversSpent,
    /// An acquire out of order was refused.
    BacklogOrdering,
    /// A write under another token was refused.
    TokenMismatch,
    /// A write without a lease was refused.
    LeaseNotFound,
    /// A write under an expired lease was refused.
    LeaseLost,
    /// A succeed was told what waits.
    NextHint,
    /// A succeed was told that nothing waits.
    NoBacklog,
    /// A failed try may be repeated.
    RetryScheduled,
    /// The last one failed, and something waits.
    GiveUpNextHint,
    /// The last one failed, and nothing waits.
    GiveUpNoBacklog,
    /// A lease was renewed.
    Renewed,
    /// An advance acquired what waited.
    AdvancedToHint,
    /// An advance acquired the offset it named.
    AdvancedToNext,
    /// An offset in flight was skipped.
    SkippedInFlight,
    /// One that waited was.
    SkippedWaiting,
    /// One that was not known was.
    SkippedUnknown,
    /// Recovery told an expiry (L7).
    ExpiryTold,
    /// Recovery failed an offset whose takeovers were spent.
    FailedByRecovery,
    /// The epoch was raised (L2).
    EpochRaised,
    /// A call named one domain twice.
    DomainTwice,
}
