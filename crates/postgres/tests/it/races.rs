//! Two connections at once: what one holds locked, the other must judge by what is true when it gets the lock.

use crate::support::{Postgres, blocked, connect};
use std::sync::Arc;
use tenure_core::queue::{Act, Beat, Claim, ClaimedJob, Ending, JobId, NewJob, Status};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time};
use tenure_store::Store;
use tenure_store::conformance::Harness;
use tokio_postgres::Client;

const START: Time = Time(1_800_000_000_000_000);
const LEASE_MS: u64 = 10_000;

/// A store with one job claimed by `w`, and a second connection to get in its way.
async fn held() -> (Postgres, Arc<dyn Store>, Client, ClaimedJob) {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    let claims = store.claim(Claim::new("q", "w").lease_ms(LEASE_MS)).await.unwrap();
    let rival = connect(postgres.database.url()).await;
    (postgres, store, rival, claims.jobs[0].clone())
}

fn complete(job: &ClaimedJob) -> Vec<Ending> {
    let act = Act::Complete { result: None };
    vec![Ending { job: job.id, owner: "w".into(), token: job.token, act }]
}

#[tokio::test(flavor = "multi_thread")]
async fn a7_a_heartbeat_that_waited_for_a_lock_past_its_expiry_is_refused() {
    let (postgres, store, rival, job) = held().await;
    rival.batch_execute("begin; select 1 from tenure.lease for update").await.unwrap();
    let beat = Beat::new(job.id, "w", job.token);
    let beating = tokio::spawn(async move { store.heartbeat(vec![beat]).await.unwrap().remove(0) });
    blocked(&rival).await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    rival.batch_execute("rollback").await.unwrap();
    assert_eq!(beating.await.unwrap(), Err(LostReason::Expired));
}

#[tokio::test(flavor = "multi_thread")]
async fn a7_a_completion_that_waited_for_a_lock_past_its_expiry_is_refused() {
    let (postgres, store, rival, job) = held().await;
    rival.batch_execute("begin; select 1 from tenure.lease for update").await.unwrap();
    let endings = complete(&job);
    let completing = tokio::spawn(async move { store.finish(endings).await.unwrap().remove(0) });
    blocked(&rival).await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    rival.batch_execute("rollback").await.unwrap();
    assert_eq!(completing.await.unwrap(), Err(LostReason::Expired));
}

#[tokio::test(flavor = "multi_thread")]
async fn b5_a_sweep_never_unwinds_a_completion_under_way() {
    let (postgres, store, rival, job) = held().await;
    let (id, token) = (job.id.0, job.token.0);
    rival.batch_execute("begin").await.unwrap();
    let finish = "select status from tenure.finish(array[$1]::bigint[], array['w'], array[$2]::bigint[],
                      array['complete'], array[null]::text[], array[null]::text[], array[null]::bigint[],
                      array[null]::double precision[])";
    let answer = rival.query(finish, &[&id, &token]).await.unwrap();
    assert_eq!(answer[0].get::<_, &str>("status"), "completed");
    postgres.set_clock(START.plus_ms(2 * LEASE_MS)).await;
    assert_eq!(store.recover(100).await.unwrap().leases, 0, "the sweep passes over what another holds");
    rival.batch_execute("commit").await.unwrap();
    assert_eq!(store.recover(100).await.unwrap().leases, 0);
    assert_eq!(store.job(job.id).await.unwrap().unwrap().status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn l3_a_heartbeat_during_a_requeue_is_refused() {
    let (postgres, store, rival, job) = held().await;
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    rival.batch_execute("begin; select * from tenure.recover(100, null)").await.unwrap();
    let beat = Beat::new(job.id, "w", job.token);
    let other = store.clone();
    let beating = tokio::spawn(async move { other.heartbeat(vec![beat]).await.unwrap().remove(0) });
    blocked(&rival).await;
    rival.batch_execute("commit").await.unwrap();
    assert_eq!(beating.await.unwrap(), Err(LostReason::Expired));
    assert_eq!(store.job(job.id).await.unwrap().unwrap().status, Status::Queued);
}

#[tokio::test(flavor = "multi_thread")]
async fn l12_the_same_completion_twice_at_once_is_accepted_once() {
    let (_postgres, store, rival, job) = held().await;
    rival.batch_execute("begin; select 1 from tenure.lease for update").await.unwrap();
    let both: Vec<_> = (0..2)
        .map(|_| {
            let (store, endings) = (store.clone(), complete(&job));
            tokio::spawn(async move { store.finish(endings).await.unwrap().remove(0).unwrap() })
        })
        .collect();
    blocked(&rival).await;
    rival.batch_execute("rollback").await.unwrap();
    let mut already = Vec::new();
    for one in both {
        let ended = one.await.unwrap();
        assert_eq!(ended.status, Status::Completed);
        already.push(ended.already);
    }
    already.sort_unstable();
    assert_eq!(already, [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn i1_a_claim_passes_over_what_another_claim_holds() {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    let jobs = (0..2).map(|n| NewJob::new("q", "k", n.to_string())).collect();
    let enqueued = store.enqueue(jobs).await.unwrap().unwrap();
    let rival = connect(postgres.database.url()).await;
    // A copy of a template is another database: who draws tokens by hand finds it known.
    rival.batch_execute("select tenure.check_epoch()").await.unwrap();
    rival.batch_execute("begin").await.unwrap();
    let first = "select id from tenure.claim(array['q'], null, 'rival', 1, 1000, false, 1, array[null]::integer[],
                     array[null]::timestamptz[], array[null]::bigint[])";
    let theirs: i64 = rival.query_one(first, &[]).await.unwrap().get("id");
    let ours = store.claim(Claim::new("q", "w").max(10)).await.unwrap();
    let ids: Vec<JobId> = ours.jobs.iter().map(|job| job.id).collect();
    assert_eq!(ids, [enqueued[1].id]);
    rival.batch_execute("rollback").await.unwrap();

    // Nobody took it after all. This process has gone on, but never answers "empty" before it has looked back.
    let again = store.claim(Claim::new("q", "w").max(10)).await.unwrap();
    assert_eq!(again.jobs.iter().map(|job| job.id.0).collect::<Vec<_>>(), [theirs]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b4_one_unit_that_cannot_be_returned_never_stops_the_others() {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    let jobs = (0..50).map(|n| NewJob::new("q", "k", n.to_string())).collect();
    let bad = store.enqueue(jobs).await.unwrap().unwrap()[7].id;
    store.claim(Claim::new("q", "shared").max(30).lease_ms(LEASE_MS).shared(30)).await.unwrap();
    store.claim(Claim::new("q", "each").max(20).lease_ms(LEASE_MS)).await.unwrap();
    let hand = connect(postgres.database.url()).await;
    let poison = format!("alter table tenure.job add constraint poison check (id <> {bad} or running)");
    hand.batch_execute(&poison).await.unwrap();
    postgres.set_clock(START.plus_ms(LEASE_MS)).await;

    let recovered = store.recover(1_000).await.unwrap();
    assert_eq!((recovered.leases, recovered.requeued), (21, 49));
    assert_eq!(store.recover(1_000).await.unwrap().leases, 0, "the stuck lease is not met again and again");
    assert_eq!(store.job(bad).await.unwrap().unwrap().status, Status::Running);
    assert_eq!(store.claim(Claim::new("q", "w").max(100)).await.unwrap().jobs.len(), 49);
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_mixed_verbs_at_once_end_every_job_once() {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    for _ in 0..10 {
        store.enqueue((0..100).map(|n| NewJob::new("q", "k", n.to_string())).collect()).await.unwrap().unwrap();
    }
    let workers: Vec<_> = (0..8)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let owner = format!("w{n}");
                let mut completed = 0;
                loop {
                    let claim = Claim::new("q", &owner).max(7 + n).lease_ms(60_000);
                    let claim = if n % 2 == 0 { claim.shared(3) } else { claim };
                    let jobs = store.claim(claim).await.unwrap().jobs;
                    if jobs.is_empty() {
                        return completed;
                    }
                    store.recover(10).await.unwrap();
                    let beats = jobs.iter().rev().map(|job| Beat::new(job.id, &owner, job.token)).collect();
                    assert!(store.heartbeat(beats).await.unwrap().iter().all(Result::is_ok));
                    let act = |i: usize| match i % 5 {
                        0 => Act::Fail { error: "no".into(), retry: Retry::In { delay_ms: 0 } },
                        1 => Act::Release,
                        _ => Act::Complete { result: None },
                    };
                    let ending = |(i, job): (usize, &ClaimedJob)| Ending {
                        job: job.id,
                        owner: owner.clone(),
                        token: job.token,
                        act: act(i),
                    };
                    let endings = jobs.iter().enumerate().rev().map(ending).collect();
                    let ended = store.finish(endings).await.unwrap();
                    completed += ended.iter().filter(|e| e.unwrap().status.terminal()).count();
                }
            })
        })
        .collect();
    let mut ended = 0;
    for worker in workers {
        ended += worker.await.unwrap();
    }
    assert_eq!(ended, 1_000);
    let counts = store.queue("q").await.unwrap().unwrap().counts;
    assert_eq!((counts.queued, counts.running, counts.completed + counts.failed), (0, 0, 1_000));
}
