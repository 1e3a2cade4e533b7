//! The walk over pipelines finds what it is there to find: each store below is the memory store with one mistake, and
//! each mistake is caught, and shrunk to a list a person can read.

mod disguise;
mod wrong;

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::{Epoch, Time, Token};
use tenure_store::conformance::pipeline::{PipelineHarness, pipeline_walk};
use tenure_store::{Clock, PipelineStore, Upkeep};
use wrong::Wrong;

/// A walk this long finds every mistake, with one of a few seeds.
const STEPS: u32 = 1_000;
const SEEDS: u64 = 8;
/// No mistake needs more operations than this to show itself.
const SHRUNK_MAX: usize = 24;
/// The catcher of a mistake that shows in several answers at once.
const ANYTHING: &str = "";

macro_rules! planted {
    ($($test:ident: $bug:ident => $catcher:expr,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Bug { $($bug,)+ }

        impl Bug {
            const ALL: &[Bug] = &[$(Bug::$bug,)+];
        }

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                assert_caught::<{ Bug::$bug as usize }>($catcher).await;
            }
        )+
    };
}

planted! {
    complete_without_the_token: CompleteIgnoresToken => "I3",
    fail_without_the_token: FailIgnoresToken => "I3",
    release_without_the_token: ReleaseIgnoresToken => "I3",
    split_without_the_token: SplitIgnoresToken => "I3",
    heartbeat_without_the_token: HeartbeatIgnoresToken => "I4",
    finish_without_the_owner: FinishIgnoresOwner => "I3",
    finish_by_unit_alone: FinishByUnit => "I3",
    finish_after_expiry: FinishIgnoresExpiry => "I3",
    heartbeat_revives_an_expired_lease: HeartbeatRevives => "I4",
    token_reset_by_recovery: TokenReset => "L2",
    epoch_not_raised: EpochKept => "L2",
    unit_handed_out_twice: HandedOutTwice => "I1",
    attempt_counted_at_its_failure: CountedAtFailure => ANYTHING,
    release_counts_the_attempt: ReleaseCounts => ANYTHING,
    join_has_the_attempts_of_the_split: JoinInheritsAttempts => ANYTHING,
    crash_limit_ignored: CrashLimitIgnored => ANYTHING,
    one_attempt_too_many: OneAttemptMore => ANYTHING,
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
    replay_refused: ReplayRefused => "complete",
    replay_of_another_verb: AnyVerbReplays => ANYTHING,
    replay_not_marked: AlreadyUnmarked => "I3",
    record_not_handed_on: RecordForgotten => ANYTHING,
    record_of_an_earlier_claim_counts: StaleRecordCounts => ANYTHING,
    record_of_a_stale_holder_counts: StaleHolderRecords => ANYTHING,
    repair_redoes_the_whole_stage: RepairRedoesStage => ANYTHING,
    retry_redoes_what_is_done: RetryRedoesDone => ANYTHING,
    retry_keeps_the_attempts: RetryKeepsAttempts => ANYTHING,
    step_of_the_orchestrator_unbounded: AdvanceUnbounded => "advance",
    recovery_unbounded: RecoveryUnbounded => "recover",
    refusals_not_counted: RefusalsUncounted => "past",
    receipts_of_expired_claims_missing: ExpiryUntold => "past",
    prune_too_early: PruneTooEarly => "prune",
    second_handle_on_its_own: HandlesApart => ANYTHING,
    panic_on_an_unknown_run: PanicsOnUnknown => "the store panicked",
}

/// A walk fails, what it says first begins with the rule that was broken or the answer that differs, and a short list shows
/// it; with another seed something else may have shown first, or shrinking may have got stuck.
async fn assert_caught<const BUG: usize>(catcher: &str) {
    let mut others = Vec::new();
    for seed in 0..SEEDS {
        let Err(failure) = pipeline_walk::<Planted<BUG>>(seed, STEPS).await else { continue };
        if failure.message.starts_with(catcher) && failure.shrunk.len() <= SHRUNK_MAX {
            println!("{failure}");
            return;
        }
        others.push(failure.to_string());
    }
    panic!("{:?} was not caught by {catcher:?}, but by {others:#?}", Bug::ALL[BUG]);
}

struct Planted<const BUG: usize> {
    store: Arc<Wrong>,
    another: Arc<Wrong>,
    clock: Clock,
}

#[async_trait]
impl<const BUG: usize> PipelineHarness for Planted<BUG> {
    async fn open_pipelines(start: Time) -> Self {
        let clock = Clock::manual(start);
        let store = Arc::new(Wrong::new(Bug::ALL[BUG], clock.clone()));
        let apart = Bug::ALL[BUG] == Bug::HandlesApart;
        let another = if apart { Arc::new(Wrong::new(Bug::HandlesApart, clock.clone())) } else { store.clone() };
        Planted { store, another, clock }
    }

    fn pipelines(&self) -> Arc<dyn PipelineStore> {
        self.store.clone()
    }

    async fn other_pipelines(&self) -> Arc<dyn PipelineStore> {
        self.another.clone()
    }

    async fn move_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn raise_epoch(&self) -> Epoch {
        if Bug::ALL[BUG] == Bug::EpochKept {
            let epoch = self.store.right.epoch().await.unwrap();
            return Epoch { count: epoch.count + 1, base: Token(1 << 40) };
        }
        self.store.right.new_epoch().await.unwrap()
    }
}
