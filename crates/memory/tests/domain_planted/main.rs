//! The suite finds what it is there to find: each store below keeps domains with one mistake, and each mistake is
//! caught, by a walk that shrinks it to a list a person can read, or by a crowd.

mod wrong;

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::{Epoch, Time};
use tenure_store::conformance::domain::{DomainHarness, crowd, walk};
use tenure_store::{Clock, DomainStore};
use wrong::Wrong;

/// A walk this long finds every mistake, with one of a few seeds.
const STEPS: u32 = 2_000;
const SEEDS: u64 = 6;
/// No mistake needs more operations than this to show itself.
const SHRUNK_MAX: usize = 14;
/// The catcher of a mistake that shows in several answers at once.
const ANYTHING: &str = "";

macro_rules! planted {
    ($($test:ident: $bug:ident => $catcher:expr,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Bug { None, Racy, $($bug,)+ }

        impl Bug {
            const ALL: &[Bug] = &[Bug::None, Bug::Racy, $(Bug::$bug,)+];
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
    head_popped_by_succeed: HeadPoppedBySucceed => ANYTHING,
    head_popped_by_giving_up: HeadPoppedByGivingUp => ANYTHING,
    token_to_any_caller: TokenToAnyCaller => "D3",
    named_lease_refuses_its_holder: HolderRefused => "D3",
    expired_offset_to_the_tail: ExpiredToTail => ANYTHING,
    acquired_at_changed_on_takeover: AgeChangedOnTakeover => "domain",
    retries_forgotten_on_takeover: RetriesForgottenOnTakeover => ANYTHING,
    token_kept_on_takeover: TokenKeptOnTakeover => "L2",
    takeover_of_a_live_lease: TakeoverOfLive => "D3",
    takeovers_without_a_limit: TakeoversUnlimited => "D4",
    token_not_checked_by_succeed: SucceedUnfenced => "invariant 5",
    token_not_checked_by_fail: FailUnfenced => "invariant 5",
    token_not_checked_by_heartbeat: HeartbeatUnfenced => "invariant 5",
    succeed_under_an_expired_lease: ExpiredSucceeds => "invariant 5",
    heartbeat_revives_an_expired_lease: ZombieHeartbeat => "invariant 5",
    fail_renews: FailRenews => ANYTHING,
    heartbeat_does_not_renew: HeartbeatIdle => "domain",
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
    for seed in 0..SEEDS {
        walk::<Planted<{ Bug::None as usize }>>(seed, STEPS).await.unwrap();
    }
    crowd::<Planted<{ Bug::None as usize }>>(1, 40).await.unwrap();
}

/// Each verb alone is right: only callers who meet can tell.
#[tokio::test(flavor = "multi_thread")]
async fn i21_a_verb_in_two_steps_is_caught_by_a_crowd() {
    walk::<Planted<{ Bug::Racy as usize }>>(0, STEPS).await.unwrap();
    for seed in 0..20 {
        if let Err(wrong) = crowd::<Planted<{ Bug::Racy as usize }>>(seed, 40).await {
            println!("{wrong}");
            return;
        }
    }
    panic!("no crowd noticed");
}

/// A walk fails, and what it says first begins with the rule that was broken or the answer that differs.
async fn assert_caught<const BUG: usize>(catcher: &str) {
    let mut others = Vec::new();
    for seed in 0..SEEDS {
        let Err(failure) = walk::<Planted<BUG>>(seed, STEPS).await else { continue };
        assert!(failure.shrunk.len() <= SHRUNK_MAX, "{:?} took {failure}", Bug::ALL[BUG]);
        if failure.message.starts_with(catcher) {
            println!("{failure}");
            return;
        }
        others.push(failure.message);
    }
    panic!("{:?} was not caught by {catcher:?}, but by {others:#?}", Bug::ALL[BUG]);
}

struct Planted<const BUG: usize> {
    store: Arc<Wrong>,
    clock: Clock,
}

#[async_trait]
impl<const BUG: usize> DomainHarness for Planted<BUG> {
    async fn open_domains(start: Time) -> Self {
        let clock = Clock::manual(start);
        Planted { store: Arc::new(Wrong::new(Bug::ALL[BUG], clock.clone())), clock }
    }

    fn domain_store(&self) -> Arc<dyn DomainStore> {
        self.store.clone()
    }

    async fn set_domain_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn another_domain_store(&self) -> Arc<dyn DomainStore> {
        self.store.clone()
    }

    async fn epoch(&self) -> Epoch {
        self.store.epoch()
    }

    async fn raise_epoch(&self) -> Epoch {
        self.store.raise_epoch()
    }
}
