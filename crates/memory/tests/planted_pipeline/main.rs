//! The walk over pipelines finds what it is there to find: each store below is the memory store with one mistake, and
//! each mistake is caught, and shrunk to a list a person can read.

mod disguise;
#[path = "../support/planted.rs"]
mod support;
mod wrong;

use support::{ANYTHING, Effort, planted};
use tenure_store::conformance::PipelineWalk;
use wrong::Wrong;

const EFFORT: Effort = Effort { steps: 1_000, seeds: 16, shrunk_max: 28 };

planted! {
    PipelineWalk, Wrong, EFFORT;
    complete_without_the_token: CompleteIgnoresToken => "I3",
    fail_without_the_token: FailIgnoresToken => "I3",
    release_without_the_token: ReleaseIgnoresToken => "I3",
    split_without_the_token: SplitIgnoresToken => "I3",
    heartbeat_without_the_token: HeartbeatIgnoresToken => "I4",
    finish_without_the_owner: FinishIgnoresOwner => "I3",
    finish_by_unit_alone: FinishByUnit => "I3",
    finish_after_expiry: FinishIgnoresExpiry => "I3",
    heartbeat_revives_an_expired_lease: HeartbeatRevives => "I4",
    token_reset_by_recovery: TokenReset => "I2",
    epoch_not_raised: EpochKept => "L2",
    unit_handed_out_twice: HandedOutTwice => "I1",
    attempt_counted_at_its_failure: CountedAtFailure => "I11",
    release_counts_the_attempt: ReleaseCounts => "I11",
    join_has_the_attempts_of_the_split: JoinInheritsAttempts => ANYTHING,
    crash_limit_ignored: CrashLimitIgnored => ANYTHING,
    one_attempt_too_many: OneAttemptMore => "I11",
    stage_ready_with_a_prerequisite_open: PrerequisiteForgotten => ANYTHING,
    stage_handed_out_with_a_prerequisite_open: HandedOutEarly => "I13",
    join_before_every_segment_is_done: JoinEarly => "P6",
    join_handed_out_again: JoinTwice => "I5",
    neighbours_of_a_failed_segment_redone: NeighboursRedone => ANYTHING,
    segment_failed_retried_by_policy: SegmentFailedRetried => ANYTHING,
    segment_failure_kept_from_its_stage: SegmentFailureKept => ANYTHING,
    backoff_ignored: BackoffIgnored => ANYTHING,
    run_done_with_a_stage_in_error: DoneWithError => "P1",
    run_goes_on_under_a_new_version: VersionTaken => ANYTHING,
    same_version_replaced: VersionReplaced => "apply",
    key_of_a_run_ignored: KeyIgnored => "start",
    key_compares_the_text_of_an_input: KeyComparesText => "start",
    cancel_leaves_its_holders: CancelLeavesHolders => "I3",
    cancelled_called_finished: CancelledCalledFinished => ANYTHING,
    pause_ignored: PauseIgnored => "Y",
    replay_refused: ReplayRefused => "L12",
    replay_of_another_verb: AnyVerbReplays => "L12",
    replay_not_marked: AlreadyUnmarked => "I3",
    record_not_handed_on: RecordForgotten => ANYTHING,
    record_of_an_earlier_claim_counts: StaleRecordCounts => ANYTHING,
    record_of_a_stale_holder_counts: StaleHolderRecords => ANYTHING,
    repair_redoes_the_whole_stage: RepairRedoesStage => ANYTHING,
    retry_redoes_what_is_done: RetryRedoesDone => ANYTHING,
    retry_keeps_the_attempts: RetryKeepsAttempts => "I11",
    step_of_the_orchestrator_unbounded: AdvanceUnbounded => "advance",
    recovery_unbounded: RecoveryUnbounded => "recover",
    refusals_not_counted: RefusalsUncounted => "past",
    receipts_of_expired_claims_missing: ExpiryUntold => "past",
    prune_too_early: PruneTooEarly => "prune",
    second_handle_on_its_own: HandlesApart => ANYTHING,
    panic_on_an_unknown_run: PanicsOnUnknown => "the store panicked",
}
