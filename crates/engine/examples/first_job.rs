//! A first job: enqueue it, claim it under a lease, keep the lease, finish.
//!
//! It runs in memory; with `sqlite:tenure.db` or `postgres://…` as the address nothing else changes.
//!
//! ```text
//! cargo run -p tenure --example first_job
//! ```

use tenure::{Beat, Claim, NewJob, Status, Tenure};

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?; // or sqlite:tenure.db, or postgres://…
    let id = tenure.enqueue(NewJob::new("images", "resize", r#"{"asset":42}"#)).await?.id;

    let claims = tenure.claim(Claim::new("images", "worker-1").lease_ms(30_000)).await?;
    let job = &claims.jobs[0];
    tenure.heartbeat(Beat::new(id, "worker-1", job.token).checkpoint(r#"{"tile":7}"#)).await?;
    let ended = tenure.complete(id, "worker-1", job.token, Some(r#""42.webp""#.to_owned())).await?;
    assert_eq!(ended.status, Status::Completed);

    // A reply may get lost, so an ending may be sent again. It is answered as the first time and happens once.
    let again = tenure.complete(id, "worker-1", job.token, None).await?;
    assert!(again.already);

    let job = tenure.job(id).await?.expect("a finished job stays on record");
    assert_eq!((job.status, job.attempt), (Status::Completed, 1));
    assert_eq!(job.result.as_deref(), Some(r#""42.webp""#));
    println!("job {id} is {}, result {}", job.status, job.result.unwrap_or_default());
    Ok(())
}
