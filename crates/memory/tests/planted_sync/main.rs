//! The walk over syncs finds what it is there to find: each store below is the memory store with one mistake, and each
//! mistake is caught, and shrunk to a list a person can read.

mod wrong;

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::{Epoch, Time, Token};
use tenure_store::conformance::sync::{SyncHarness, walk};
use tenure_store::{Clock, SyncStore, Upkeep};
use wrong::Wrong;

/// A walk this long finds every mistake, with one of a few seeds.
const STEPS: u32 = 1_200;
const SEEDS: u64 = 6;
/// No mistake needs more operations than this to show itself.
const SHRUNK_MAX: usize = 16;
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

async fn assert_caught<const BUG: usize>(catcher: &str) {
    let mut others = Vec::new();
    for seed in 0..SEEDS {
        let Err(failure) = walk::<Planted<BUG>>(seed, STEPS).await else { continue };
        assert!(failure.shrunk.len() <= SHRUNK_MAX, "{:?} took {failure}", Bug::ALL[BUG]);
        if failure.message.starts_with(catcher) {
            println!("{failure}");
            return;
        }
        others.push(failure.to_string());
    }
    panic!("{:?} was not caught by {catcher:?}, but by {others:#?}", Bug::ALL[BUG]);
}

struct Planted<const BUG: usize> {
    store: Arc<Wrong>,
    clock: Clock,
}

#[async_trait]
impl<const BUG: usize> SyncHarness for Planted<BUG> {
    async fn open_syncs(start: Time) -> Self {
        let clock = Clock::manual(start);
        Planted { store: Arc::new(Wrong::new(Bug::ALL[BUG], clock.clone())), clock }
    }

    fn syncs(&self) -> Arc<dyn SyncStore> {
        self.store.clone()
    }

    async fn other_syncs(&self) -> Arc<dyn SyncStore> {
        self.store.clone()
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
