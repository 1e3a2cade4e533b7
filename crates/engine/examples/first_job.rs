//! A first job: enqueue it, claim it under a lease, keep the lease, finish.
//!
//! It runs in memory; with `sqlite:tenure.db` or `postgres://…` as the address nothing else changes.
//!
//! ```text
//! cargo run -p tenure --example first_job
//! ```

use serde_json::json;
use std::time::Duration;
use tenure::{NewJob, Status, Tenure};

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?; // or sqlite:tenure.db, or postgres://…
    let id = tenure.enqueue(NewJob::new("images", "resize", r#"{"asset":42}"#)).await?.id;

    let claim = tenure.queue("images").claim().worker("worker-1").lease(Duration::from_secs(30));
    let job = claim.one().await?.expect("one waits");
    job.checkpoint(&json!({"tile": 7})).await?;
    // A reply may get lost, so an ending may be sent again. It is answered as the first time and happens once.
    let resent = job.clone();
    assert_eq!(job.complete("42.webp").await?.status, Status::Completed);
    assert!(resent.complete("42.webp").await?.already);

    let job = tenure.job(id).info().await?;
    assert_eq!((job.status, job.attempt), (Status::Completed, 1));
    let result: String = tenure.job(id).wait().await?;
    println!("job {id} is {}, result {result}", job.status);
    Ok(())
}
