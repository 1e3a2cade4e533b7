//! Pipelines in memory do what every backend must. Memory *is* core behind a lock, so the walk mostly judges core, by
//! the account it keeps apart from it.

mod support;

use support::Memory;
use tenure_store::conformance::{PipelineWalk, walks};

tenure_store::conformance!(pipeline, Memory);

#[tokio::test(flavor = "multi_thread")]
async fn pipeline_walks_agree_with_core() {
    walks::<PipelineWalk, Memory>(0..60, 800).await;
}
