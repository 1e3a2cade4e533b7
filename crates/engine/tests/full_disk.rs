//! A disk that is really full (C11), under an SQLite file: no room is kept for heartbeats and endings, so leases may run
//! out. Then the work is done again, and nothing is lost.

use std::collections::BTreeSet;
use tenure::{Beat, Claim, JobId, NewJob, Status, Tenure};
use tenure_testing::SmallDisk;

/// Room for a store and a little work, in mebibytes; and for much more.
const SMALL: u32 = 3;
const LARGE: u32 = 64;

fn full<T: std::fmt::Debug>(answer: tenure::Result<T>) -> Option<T> {
    match answer {
        Ok(done) => Some(done),
        Err(error) => {
            assert_eq!(error.code(), "store_full", "{error}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_on_a_full_disk_a_lease_that_cannot_be_renewed_runs_out_and_its_work_is_done_again() {
    let disk = SmallDisk::mount(SMALL).unwrap();
    let tenure = Tenure::open(&format!("sqlite:{}", disk.folder().join("tenure.db").display())).await.unwrap();
    tenure.enqueue_all((0..3).map(|n| NewJob::new("held", "k", n.to_string()))).await.unwrap();
    let held = tenure.verbs().claim(Claim::new("held", "w").max(3).lease_ms(1_500)).await.unwrap().jobs;

    // Smaller and smaller, until not even one small job fits.
    let mut acknowledged: BTreeSet<JobId> = BTreeSet::new();
    for length in [60_000, 4_000, 10] {
        let payload = format!("\"{}\"", "x".repeat(length));
        while let Some(added) = full(tenure.enqueue(NewJob::new("q", "k", payload.clone())).await) {
            acknowledged.insert(added.id);
        }
    }
    assert!(acknowledged.len() > 10, "{} jobs fit", acknowledged.len());
    assert_eq!(
        tenure.verbs().queue("q").await.unwrap().unwrap().counts.queued,
        acknowledged.len() as u64,
        "reading goes on"
    );

    // Each is renewed or told why not; whoever holds it stops when its lease is over.
    let last = held.iter().map(|job| job.lease_expires_at).max().unwrap();
    let mut refused = 0;
    while tenure.now().await.unwrap() < last.plus_ms(100) {
        match tenure.verbs().heartbeat(Beat::new(held[0].id, "w", held[0].token)).await {
            Err(error) if error.code() == "store_full" => refused += 1,
            Err(error) => assert_eq!(error.code(), "lease_lost", "{error}"),
            Ok(_) => {}
        }
    }
    assert!(refused > 0, "a heartbeat found no room");

    disk.resize(LARGE).unwrap();
    let mut done = BTreeSet::new();
    loop {
        let jobs = tenure.verbs().claim(Claim::new("held", "v").max(3)).await.unwrap().jobs;
        for job in jobs {
            let before = held.iter().find(|held| held.id == job.id).unwrap();
            assert!(job.token > before.token);
            assert_eq!(
                tenure.verbs().complete(job.id, "w", before.token, None).await.unwrap_err().code(),
                "lease_lost"
            );
            let ended = tenure.verbs().complete(job.id, "v", job.token, None).await.unwrap();
            assert_eq!(ended.status, Status::Completed);
            done.insert(job.id);
        }
        if done.len() == held.len() {
            break;
        }
    }
    let mut claimed = BTreeSet::new();
    while claimed.len() < acknowledged.len() {
        let jobs = tenure.verbs().claim(Claim::new("q", "v").max(100)).await.unwrap().jobs;
        assert!(!jobs.is_empty(), "{} of {}", claimed.len(), acknowledged.len());
        claimed.extend(jobs.into_iter().map(|job| job.id));
    }
    assert_eq!(claimed, acknowledged, "everything acknowledged, and nothing else");
}
