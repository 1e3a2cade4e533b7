//! The suite finds what it is there to find: each store below keeps domains with one mistake, and each mistake is
//! caught, by a walk that shrinks it to a list a person can read, or by a crowd.

#[path = "../support/planted.rs"]
mod support;
mod wrong;

use support::{ANYTHING, Effort, Planted, planted};
use tenure_store::conformance::domain::crowd;
use tenure_store::conformance::{DomainWalk, walk};
use wrong::Wrong;

const EFFORT: Effort = Effort { steps: 2_000, seeds: 6, shrunk_max: 14 };

planted! {
    DomainWalk, Wrong, EFFORT, beside None Racy;
    head_popped_by_succeed: HeadPoppedBySucceed => ANYTHING,
    head_popped_by_giving_up: HeadPoppedByGivingUp => ANYTHING,
    token_to_any_caller: TokenToAnyCaller => "D3",
    named_lease_refuses_its_holder: HolderRefused => "D3",
    expired_offset_to_the_tail: ExpiredToTail => ANYTHING,
    acquired_at_changed_on_takeover: AgeChangedOnTakeover => "domain",
    retries_forgotten_on_takeover: RetriesForgottenOnTakeover => ANYTHING,
    token_kept_on_takeover: TokenKeptOnTakeover => "I2",
    takeover_of_a_live_lease: TakeoverOfLive => "I1",
    takeovers_without_a_limit: TakeoversUnlimited => "D4",
    token_not_checked_by_succeed: SucceedUnfenced => "I3",
    token_not_checked_by_fail: FailUnfenced => "I3",
    token_not_checked_by_heartbeat: HeartbeatUnfenced => "I4",
    succeed_under_an_expired_lease: ExpiredSucceeds => "I3",
    heartbeat_revives_an_expired_lease: ZombieHeartbeat => "I4",
    fail_renews: FailRenews => ANYTHING,
    heartbeat_does_not_renew: HeartbeatIdle => "domain",
    heartbeat_renews_from_the_deadline: RenewedFromItsEnd => "Q3",
    out_of_order_accepted: OrderIgnored => "invariant 3",
    waits_at_the_head: WaitsAtTheHead => ANYTHING,
    ended_offsets_forgotten: EndedForgotten => "invariant 4",
    ranges_swallow_the_gap: GapSwallowed => "invariant 4",
    failed_said_processed: FailedSaidProcessed => "invariant 4",
    one_retry_more: OneRetryMore => "D2",
    lease_dropped_by_retry: RetryDropsLease => ANYTHING,
    skip_leaves_the_lease: SkipLeavesLease => ANYTHING,
    skip_moves_the_rest: SkipMovesRest => ANYTHING,
    recovery_clears_the_lease: RecoveryClears => ANYTHING,
    recovery_tells_it_again: RecoveryRepeats => "L7",
    recovery_without_a_bound: RecoveryUnbounded => "L7",
    epoch_ignored: EpochIgnored => "L2",
    refusals_uncounted: RefusalsUncounted => "events",
    batch_in_reverse: BatchReversed => ANYTHING,
    pages_repeat_their_last: PagesOverlap => "domains",
}

/// The right store passes, or nothing here means anything.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_mistake_nothing_is_caught() {
    for seed in 0..EFFORT.seeds {
        walk::<DomainWalk, Planted<Wrong, { Bug::None as usize }>>(seed, EFFORT.steps).await.unwrap();
    }
    crowd::<Planted<Wrong, { Bug::None as usize }>>(1, 40).await.unwrap();
}

/// Each verb alone is right: only callers who meet can tell.
#[tokio::test(flavor = "multi_thread")]
async fn i21_a_verb_in_two_steps_is_caught_by_a_crowd() {
    walk::<DomainWalk, Planted<Wrong, { Bug::Racy as usize }>>(0, EFFORT.steps).await.unwrap();
    for seed in 0..20 {
        if let Err(wrong) = crowd::<Planted<Wrong, { Bug::Racy as usize }>>(seed, 40).await {
            println!("{wrong}");
            return;
        }
    }
    panic!("no crowd noticed");
}
