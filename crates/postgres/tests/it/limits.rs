//! Limits, lanes and keys under a crowd, on two handles with a pool each, as two servers would have.

use crate::support::{connect, database};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tenure_core::queue::{Act, Beat, Change, Claim, Ending, JobId, NewJob};
use tenure_core::retry::Retry;
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, Upkeep};
use tenure_testing::TestDatabase;
use tokio::sync::Mutex;

async fn two_handles() -> (TestDatabase, [Arc<PostgresStore>; 2]) {
    let database = database().await;
    let open = async || Arc::new(PostgresStore::open(database.url()).await.unwrap());
    let handles = [open().await, open().await];
    (database, handles)
}

/// A trigger that counts, under a lock of its own until commit, what runs in the queue `w`, and raises above `max`.
async fn watch(database: &TestDatabase, max: u32) {
    let hand = connect(database.url()).await;
    let watch = format!(
        "create or replace function public.watch() returns trigger language plpgsql as $$
         begin
             perform pg_advisory_xact_lock(4711);
             if (select count(*) from tenure.job where queue = 'w' and running) > {max} then
                 raise exception 'more than {max} running';
             end if;
             return null;
         end $$;
         create or replace trigger watch after update of running on tenure.job
             for each row when (new.running) execute function public.watch()"
    );
    hand.batch_execute(&watch).await.unwrap();
}

fn ending(job: JobId, owner: &str, token: tenure_core::Token, act: Act) -> Vec<Ending> {
    vec![Ending { job, owner: owner.to_owned(), token, act }]
}

#[tokio::test(flavor = "multi_thread")]
async fn i6_sixty_four_claimers_never_exceed_w_whoever_dies() {
    for w in [1u32, 2, 7] {
        let (database, handles) = two_handles().await;
        handles[0].change("w", Change { max_running: Some(Some(w)), ..Change::default() }).await.unwrap();
        watch(&database, w).await;
        let jobs = (0..60).map(|n| NewJob::new("w", "k", n.to_string()).attempts_max(1_000)).collect();
        handles[0].enqueue(jobs).await.unwrap().unwrap();
        let done = Arc::new(AtomicU64::new(0));
        let claimers: Vec<_> = (0..64u64)
            .map(|n| {
                let (store, done) = (handles[(n % 2) as usize].clone(), done.clone());
                tokio::spawn(async move {
                    let owner = format!("c{n}");
                    for round in 0.. {
                        if done.load(Ordering::SeqCst) == 60 {
                            return;
                        }
                        // Every seventh is left to die; its holder comes back as a zombie. The others have all the time
                        // that a crowded machine may take.
                        let dies = (n + round) % 7 == 0;
                        let claim = Claim::new("w", &owner).max(1 + (n % 3) as u32);
                        let claim = claim.lease_ms(if dies { 100 } else { 600_000 });
                        for job in store.claim(claim).await.unwrap().jobs {
                            if dies {
                                while store.now().await.unwrap() < job.lease_expires_at {}
                                let beat = Beat::new(job.id, &owner, job.token);
                                assert!(store.heartbeat(vec![beat]).await.unwrap()[0].is_err(), "risen from the dead");
                                continue;
                            }
                            let act = Act::Complete { result: None };
                            if store.finish(ending(job.id, &owner, job.token, act)).await.unwrap()[0].is_ok() {
                                done.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    }
                })
            })
            .collect();
        let flips = async {
            // Lowered and raised while they run; never above what the trigger allows.
            for n in 0..40u32 {
                let change = Change { max_running: Some(Some(1 + n % w)), ..Change::default() };
                handles[1].change("w", change).await.unwrap();
            }
            handles[1].change("w", Change { max_running: Some(Some(w)), ..Change::default() }).await.unwrap();
        };
        flips.await;
        for claimer in claimers {
            claimer.await.unwrap();
        }
        let counts = handles[0].queue("w").await.unwrap().unwrap().counts;
        assert_eq!((counts.queued, counts.running, counts.completed), (0, 0, 60), "W = {w}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_sixty_four_enqueues_of_one_key_make_one_job() {
    let (_database, handles) = two_handles().await;
    let enqueues: Vec<_> = (0..64)
        .map(|n| {
            let store = handles[n % 2].clone();
            tokio::spawn(async move {
                store.enqueue(vec![NewJob::new("q", "k", "1").key("once")]).await.unwrap().unwrap()[0]
            })
        })
        .collect();
    let mut answers = Vec::new();
    for enqueue in enqueues {
        answers.push(enqueue.await.unwrap());
    }
    assert!(answers.iter().all(|answer| answer.id == answers[0].id));
    assert_eq!(answers.iter().filter(|answer| !answer.deduplicated).count(), 1);
    assert_eq!(handles[0].queue("q").await.unwrap().unwrap().counts.queued, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_a_hundred_lanes_keep_their_order_over_failures_and_expiries() {
    const LANES: usize = 100;
    const DEEP: usize = 20;
    let (_database, handles) = two_handles().await;
    // Two enqueuers at once, each lane from one of them, so that commits arrive out of order between lanes.
    for (half, handle) in handles.iter().enumerate() {
        for n in 0..DEEP {
            let lanes = (half * LANES / 2)..((half + 1) * LANES / 2);
            let job = |lane: usize| {
                NewJob::new("l", "k", n.to_string()).ordering_key(format!("lane-{lane}")).attempts_max(1_000)
            };
            handle.enqueue(lanes.map(job).collect()).await.unwrap().unwrap();
        }
    }
    let ended: Arc<Mutex<BTreeMap<String, Vec<usize>>>> = Arc::default();
    let total = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..16u64)
        .map(|n| {
            let (store, ended, total) = (handles[(n % 2) as usize].clone(), ended.clone(), total.clone());
            tokio::spawn(async move {
                let owner = format!("w{n}");
                for round in 0u64.. {
                    if total.load(Ordering::SeqCst) == (LANES * DEEP) as u64 {
                        return;
                    }
                    let claim = Claim::new("l", &owner).max(10).lease_ms(if round % 10 == 9 { 100 } else { 60_000 });
                    for (i, job) in store.claim(claim).await.unwrap().jobs.into_iter().enumerate() {
                        if round % 10 == 9 {
                            continue;
                        }
                        let fails = (n + round + i as u64).is_multiple_of(5);
                        let act = if fails {
                            Act::Fail { error: "no".into(), retry: Retry::In { delay_ms: 0 } }
                        } else {
                            Act::Complete { result: None }
                        };
                        // The lane is noted before the ending: after it the next job may already run elsewhere.
                        let lane = store.job(job.id).await.unwrap().unwrap().ordering_key.unwrap();
                        if !fails {
                            ended.lock().await.entry(lane).or_default().push(job.payload.parse().unwrap());
                        }
                        store.finish(ending(job.id, &owner, job.token, act)).await.unwrap()[0].unwrap();
                        if !fails {
                            total.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let ended = ended.lock().await;
    assert_eq!(ended.len(), LANES);
    for (lane, order) in ended.iter() {
        assert_eq!(*order, (0..DEEP).collect::<Vec<_>>(), "{lane}");
    }
}
