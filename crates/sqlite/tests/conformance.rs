//! The suite every backend must pass, on a real file.

#[path = "support/suite.rs"]
#[allow(dead_code, reason = "other test programs use the rest")]
mod suite;

use suite::{File, OnDisk};
use tenure_store::conformance::{PipelineWalk, QueueWalk, ScheduleWalk, walks};

tenure_store::conformance!(queue, OnDisk<true>);
tenure_store::conformance!(pipeline, OnDisk<true>);

// 64,800 operations, in two halves that run side by side.

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_agrees_with_core_at_every_step() {
    walks::<QueueWalk, File>(0..12, 2_700).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_walk_agrees_with_core_at_every_step() {
    walks::<QueueWalk, File>(12..24, 2_700).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_of_schedules_agrees_with_core_at_every_step() {
    walks::<ScheduleWalk, File>(0..12, 800).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pipeline_walk_agrees_with_core_at_every_step() {
    walks::<PipelineWalk, File>(100..124, 900).await;
}
