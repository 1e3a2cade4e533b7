//! Domains in memory: the suite, walks, and crowds on real threads.

mod support;

use support::Memory;
use tenure_store::conformance::domain::crowds;
use tenure_store::conformance::{DomainWalk, walks};

tenure_store::conformance!(domain, Memory);

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_steps_agree_with_core() {
    walks::<DomainWalk, Memory>(0..50, 2_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_what_sixteen_threads_see_can_be_explained_by_one_order() {
    let crowd = crowds::<Memory>(0..20, 60).await;
    println!("{crowd:?}");
}
