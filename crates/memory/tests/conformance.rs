//! The memory store does what every backend must. It *is* core behind a lock, so here the walk mostly judges core,
//! by the checkers that were written apart from it.

mod support;

use support::Memory;
use tenure_store::conformance::{QueueWalk, ScheduleWalk, walks};

tenure_store::conformance!(queue, Memory);

/// 250,000 operations in every run; two tests, for two cores.
const SEEDS: u64 = 170;
const STEPS: u32 = 1_500;

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    walks::<QueueWalk, Memory>(0..SEEDS / 2, STEPS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_walks_agree_with_core() {
    walks::<QueueWalk, Memory>(SEEDS / 2..SEEDS, STEPS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn walks_of_schedules_agree_with_core() {
    walks::<ScheduleWalk, Memory>(0..60, 800).await;
}
