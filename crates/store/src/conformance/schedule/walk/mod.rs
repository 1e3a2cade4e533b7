//! The walk over schedules: how operations are drawn and applied, and a count of its own that judges which slots were
//! fired.

mod op;
mod run;

use crate::conformance::walk::worth_meeting;

pub use run::ScheduleWalk;

worth_meeting! {
    /// One slot was fired.
    FiredOne,
    /// Several slots were fired at once.
    FiredMany,
    /// Slots were dropped.
    Dropped,
    /// More were fired than are kept.
    Trimmed,
    /// A firing from an older look was refused.
    FireChanged,
    /// A firing of one that rests was refused.
    FirePaused,
    /// A firing before its time was refused.
    FireNotDue,
    /// … which had been due until the clock stepped back.
    FireAfterStepBack,
    /// A firing over slots that were dealt with was refused.
    FireBehind,
    /// A firing of one that is gone was refused.
    FireAbsent,
    /// A definition was put in place.
    Created,
    /// One was put again after it was removed.
    CreatedAgain,
    /// A change left the cursor where it was.
    CursorKept,
    /// A change moved it.
    CursorMoved,
    /// The same definition again changed nothing.
    SamePut,
    /// A change from an older look was refused.
    PutChanged,
    /// A change that would go back was refused.
    PutBehind,
}
