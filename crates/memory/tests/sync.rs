//! The memory store does for syncs what every backend must. It *is* core behind a lock, so here the walk mostly judges
//! core, by checkers written apart from it.

mod support;

use support::Memory;
use tenure_store::conformance::{SyncWalk, walks};

tenure_store::conformance!(sync, Memory);

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    walks::<SyncWalk, Memory>(0..60, 1_200).await;
}
