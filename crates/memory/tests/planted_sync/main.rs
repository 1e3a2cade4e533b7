//! The walk over syncs finds what it is there to find: each store below is the memory store with one mistake, and each
//! mistake is caught, and shrunk to a list a person can read.

#[path = "../support/planted.rs"]
mod support;
mod wrong;

use support::{ANYTHING, Effort, planted};
use tenure_store::conformance::SyncWalk;
use wrong::Wrong;

const EFFORT: Effort = Effort { steps: 1_200, seeds: 6, shrunk_max: 16 };

planted! {
    SyncWalk, Wrong, EFFORT;
    complete_by_hash_alone: CompleteByHash => ANYTHING,
    heartbeat_by_hash_alone: HeartbeatByHash => ANYTHING,
    state_stored: StateStored => ANYTHING,
    token_reset_at_a_new_pass: TokenReset => "I2",
    finish_without_the_token: FinishIgnoresToken => "I3",
    finish_without_the_owner: FinishIgnoresOwner => "I3",
    finish_after_expiry: FinishIgnoresExpiry => "I3",
    heartbeat_revives_an_expired_lease: HeartbeatRevives => "I4",
    two_syncs_of_one_matrix: OverlapAllowed => "S6",
    completed_with_chunks_open: CompletedEarly => "S5",
    skip_ignored: SkipIgnored => ANYTHING,
    chunks_out_of_order: ClaimReversed => "claim of a chunk",
    claim_of_a_held_chunk: ClaimGivenTwice => "I1",
    sync_by_age_alone: PriorityIgnored => ANYTHING,
    replay_refused: ReplayRefused => "L12",
    replay_of_another_verb: AnyVerbReplays => "L12",
    cancelled_called_finished: CancelledCalledFinished => ANYTHING,
    crashes_not_reset: CrashesKept => ANYTHING,
    expiry_told_twice: ToldTwice => ANYTHING,
    cursor_forgotten: CursorForgotten => ANYTHING,
    epoch_not_raised: EpochKept => "L2",
}
