//! A worker prefetches jobs under one lease and dies at the second: only what it had started loses an attempt.
//!
//! ```text
//! cargo run -p tenure --example shared_lease
//! ```

use std::time::Duration;
use tenure::{Beat, Claim, NewJob, Start, Tenure};

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    tenure.enqueue_all((0..4).map(|n| NewJob::new("images", "resize", n.to_string()))).await?;

    // One lease for all four; the first begins at once.
    let jobs = tenure.verbs().claim(Claim::new("images", "alice").max(4).lease_ms(500).shared(1)).await?.jobs;
    let token = jobs[0].token;
    assert!(jobs.iter().all(|job| job.token == token));
    tenure.verbs().complete(jobs[0].id, "alice", token, None).await?;

    // The mark is committed before the second handler runs; one heartbeat keeps all that is left.
    tenure.verbs().start(Start { owner: "alice".to_owned(), token, count: 2 }).await?;
    tenure.verbs().heartbeat(Beat::shared("alice", token)).await?;

    // Alice dies. Bob gets what is left once the lease has run out.
    let left = tenure.verbs().claim_within(Claim::new("images", "bob").max(4), Duration::from_secs(10)).await?.jobs;
    let attempts: Vec<(&str, u32)> = left.iter().map(|job| (job.payload.as_str(), job.attempt)).collect();
    assert_eq!(attempts, [("1", 2), ("2", 1), ("3", 1)]);
    attempts.iter().for_each(|(payload, attempt)| println!("job {payload}: attempt {attempt}"));
    Ok(())
}
