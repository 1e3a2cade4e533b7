//! The walk finds what it is there to find: each store below is the memory store with one mistake, and each mistake
//! is caught, and shrunk to a list a person can read.

mod disguise;
mod schedule;
mod store;
#[path = "../support/planted.rs"]
mod support;
mod wrong;

use support::{ANYTHING, Effort, planted};
use tenure_store::conformance::QueueWalk;
use wrong::Wrong;

const EFFORT: Effort = Effort { steps: 1_500, seeds: 8, shrunk_max: 24 };

planted! {
    QueueWalk, Wrong, EFFORT;
    finish_without_the_token: FinishIgnoresToken => "I3",
    finish_without_the_owner: FinishIgnoresOwner => "I3",
    finish_by_id_alone: FinishById => "I3",
    finish_after_expiry: FinishIgnoresExpiry => "I3",
    finish_at_the_instant_of_expiry: HeldAtTheInstant => "I3",
    heartbeat_without_the_token: HeartbeatIgnoresToken => "I4",
    heartbeat_revives_an_expired_lease: HeartbeatRevives => "I4",
    heartbeat_extends_the_old_deadline: HeartbeatFromDeadline => "Q3",
    checkpoint_forgotten: CheckpointForgotten => "job",
    crashes_not_counted: CrashesUncounted => "I11",
    neighbours_counted: NeighboursCounted => "I11",
    one_attempt_too_many: OneAttemptMore => ANYTHING,
    started_mark_ignored: StartIgnored => "I11",
    claim_out_of_order: ClaimReversed => "Q2",
    claim_of_any_kind: ClaimIgnoresKinds => "I10",
    claim_of_the_first_queue_only: ClaimOneQueue => "Q2",
    claim_given_twice: ClaimGivenTwice => ANYTHING,
    claim_before_it_is_due: RunAtDropped => ANYTHING,
    token_not_fresh: TokenRepeats => "I2",
    epoch_not_raised: EpochKept => "epoch",
    release_counts_the_attempt: ReleaseCounts => ANYTHING,
    snooze_counts_the_attempt: SnoozeCounts => ANYTHING,
    retry_without_chance: ChanceIgnored => "job",
    replay_not_marked: AlreadyUnmarked => "I3",
    replay_refused: ReplayRefused => "L12",
    replay_of_another_verb: AnyVerbReplays => "L12",
    superseded_called_expired: SupersededCalledExpired => ANYTHING,
    refusals_forgotten: RefusalsForgotten => "events",
    refusals_not_counted: RefusalsUncounted => "events",
    refusals_of_one_token_erased_by_the_next: RefusalsByReason => "events",
    first_time_forgotten: FirstTimeForgotten => "events",
    acts_without_a_name: ActorForgotten => "events",
    changes_untold: ChangesUntold => "changes",
    recovery_without_a_bound: RecoveryUnbounded => "recover",
    pages_that_overlap: PagesOverlap => ANYTHING,
    counts_without_failures: FailuresUncounted => "queue",
    payload_tidied: PayloadTrimmed => ANYTHING,
    bulk_enqueue_reversed: BulkReversed => "X",
    second_handle_on_its_own: HandlesApart => ANYTHING,
    panic_on_an_unknown_id: PanicsOnUnknown => "the store panicked",
    engine_limit_ignored: EngineLimitIgnored => "I6",
    engine_limit_counts_the_unexpired: EngineLimitByUnexpired => ANYTHING,
    queue_limit_ignored: QueueLimitIgnored => "I6",
    tenant_limit_ignored: TenantLimitIgnored => "I6",
    rate_ignored: RateIgnored => "Q2 rate",
    tenant_rate_ignored: TenantRateIgnored => "Q2 rate",
    pause_ignored: PauseIgnored => "I10",
    every_idle_claim_is_empty: IdleAlwaysEmpty => "Q2",
    lane_ignored: LaneIgnored => "I15",
    lane_runs_two_at_once: LaneRunsTwo => "I15",
    lane_passes_a_scheduled_head: LanePassesScheduledHead => "I15",
    lane_never_blocks: LaneNeverBlocks => "I15",
    dedup_forgets_at_the_end: DedupForgetsTheEnded => "I9",
    dedup_ignores_the_kind: DedupIgnoresKind => "I9",
    dedup_compares_the_text: DedupComparesText => "I9",
    dedup_ignores_the_window: DedupIgnoresWindow => "I9",
    conflict_enqueues_the_first_half: ConflictEnqueuesHalf => ANYTHING,
    cancel_ignored: CancelIgnored => "L11",
    cancel_not_told: CancelNotTold => "L11",
    cancel_told_to_the_whole_lease: CancelToldToAll => "L11",
    force_only_asks: ForceOnlyAsks => "L11",
    cancel_of_what_has_ended: CancelOfEnded => "L11",
    retry_of_what_has_not: RetryOfUnended => "L9",
    retry_keeps_the_attempts: RetryKeepsAttempts => "job",
    receipts_dropped_with_the_job: ReceiptsDropped => "L12",
    retention_of_nothing_keeps: RetentionZeroKept => ANYTHING,
    prune_too_early: PruneTooEarly => "I19",
    prune_without_a_bound: PruneUnbounded => "prune",
    timeout_ignored: TimeoutIgnored => "L1",
    situation_without_the_lane: SituationWithoutLane => "situation",
    rate_reason_forgotten: RateReasonForgotten => "situation",
    watch_of_any_kind: WatchOfAnyKind => "situation",
    sighting_by_the_clients_clock: SightedByClientClock => "L5",
    sighting_of_lucky_claims_only: EmptyClaimUnseen => ANYTHING,
    sighting_never_written_again: SightedOnce => "Y",
    sightings_of_an_hour_forgotten: SightingsForgottenEarly => ANYTHING,
    jobs_of_a_worker_counted_by_lease: LeasesCountedAsJobs => "Y",
}
