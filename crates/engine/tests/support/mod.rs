//! What tests of several faces share.

use tenure::Tenure;
use tenure_testing::TestDatabase;

/// Checks the same on all stores, each empty.
pub(crate) async fn everywhere(check: impl AsyncFn(Tenure)) {
    check(Tenure::open("memory:").await.unwrap()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tenure.db");
    check(Tenure::open(&format!("sqlite:{}", file.display())).await.unwrap()).await;
    let database = TestDatabase::create().await.unwrap();
    check(Tenure::open(database.url()).await.unwrap()).await;
}
