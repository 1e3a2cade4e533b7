//! PostgreSQL passes the suite.

use crate::support::Postgres;

tenure_store::conformance!(Postgres);
tenure_store::pipeline_conformance!(Postgres);

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_agree_with_core() {
    tenure_store::conformance::walks::<Postgres>(0..12, 2_500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_on_schedules_agree_with_core() {
    tenure_store::conformance::schedule::schedule_walks::<Postgres>(0..8, 600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_on_pipelines_agree_with_core() {
    let report = tenure_store::conformance::pipeline::pipeline_walks::<Postgres>(200..224, 850).await;
    println!("{} operations met {:?}", report.steps, report.met);
}
