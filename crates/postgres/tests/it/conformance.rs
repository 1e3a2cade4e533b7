//! PostgreSQL passes the suite.

use crate::support::Postgres;
use tenure_store::conformance::{PipelineWalk, QueueWalk, ScheduleWalk, walks};

tenure_store::conformance!(queue, Postgres);
tenure_store::conformance!(pipeline, Postgres);

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_agree_with_core() {
    walks::<QueueWalk, Postgres>(0..12, 2_500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_on_schedules_agree_with_core() {
    walks::<ScheduleWalk, Postgres>(0..8, 600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_on_pipelines_agree_with_core() {
    walks::<PipelineWalk, Postgres>(200..224, 850).await;
}
