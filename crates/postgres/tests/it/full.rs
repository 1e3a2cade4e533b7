//! A disk that is really full (C11): a tablespace on a file system of a few megabytes.

use crate::support::connect;
use std::collections::BTreeSet;
use tenure_core::LostReason;
use tenure_core::queue::{Act, Beat, Claim, ClaimedJob, Ending, NewJob, Status};
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, StoreError};
use tenure_testing::{PostgresServer, ServerOptions, SmallDisk};

/// Room for a new database with the schema, and a little work.
const SMALL: u32 = 24;
const LARGE: u32 = 128;

/// As large as a payload may well be; of letters that do not compress to nothing.
fn payload(n: usize) -> String {
    let mut state = n as u64 + 1;
    let letters = (0..6_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 59) as u8 % 26)
    });
    format!("\"{}\"", letters.collect::<String>())
}

fn complete(job: &ClaimedJob) -> Vec<Ending> {
    vec![Ending { job: job.id, owner: "w".into(), token: job.token, act: Act::Complete { result: None } }]
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_on_a_full_disk_enqueue_says_so_nothing_is_lost_and_work_goes_on_by_itself() {
    let disk = SmallDisk::mount(SMALL).unwrap();
    let server = PostgresServer::start(ServerOptions::durable()).unwrap();
    let hand = connect(&server.url("postgres")).await;
    let place = format!("create tablespace small location '{}'", disk.folder().display());
    hand.batch_execute(&place).await.unwrap();
    hand.batch_execute("create database work tablespace small").await.unwrap();
    let store = PostgresStore::open(&server.url("work")).await.unwrap();

    store.enqueue((0..5).map(|n| NewJob::new("held", "k", n.to_string())).collect()).await.unwrap().unwrap();
    let mut held = store.claim(Claim::new("held", "w").max(5).lease_ms(600_000)).await.unwrap().jobs;
    assert_eq!(held.len(), 5);

    // One whose holder will not get through to the store in time.
    store.enqueue(vec![NewJob::new("brief", "k", "1")]).await.unwrap().unwrap();
    let brief = store.claim(Claim::new("brief", "w").lease_ms(100)).await.unwrap().jobs.remove(0);

    let mut acknowledged = BTreeSet::new();
    let mut refusals = 0;
    // Smaller and smaller, until not even one job fits.
    for count in [50, 10, 1] {
        let full = loop {
            let jobs = (0..count).map(|n| NewJob::new("q", "k", payload(acknowledged.len() + n))).collect();
            match store.enqueue(jobs).await {
                Ok(answer) => acknowledged.extend(answer.unwrap().into_iter().map(|job| job.id)),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, StoreError::Full { .. }), "{full}");
        assert_eq!(full.code(), "store_full");
        refusals += 1;
    }
    assert_eq!(refusals, 3);
    assert!(acknowledged.len() > 50, "{} jobs fit", acknowledged.len());

    // Held work goes on, or is told why not; either way the lease is as it was or better.
    for job in &held {
        match store.heartbeat(vec![Beat::new(job.id, "w", job.token)]).await {
            Ok(answers) => assert!(answers[0].is_ok(), "{answers:?}"),
            Err(error) => assert!(matches!(error, StoreError::Full { .. }), "{error}"),
        }
    }
    let first = held.remove(0);
    let ended_then = match store.finish(complete(&first)).await {
        Ok(answers) => answers[0].unwrap().status == Status::Completed,
        Err(error) => matches!(error, StoreError::Full { .. }).then_some(false).unwrap_or_else(|| panic!("{error}")),
    };
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, acknowledged.len() as u64, "reading goes on");

    disk.resize(LARGE).unwrap();
    let more = store.enqueue(vec![NewJob::new("q", "k", payload(0))]).await.expect("at once").unwrap();
    acknowledged.insert(more[0].id);
    let ended = store.finish(complete(&first)).await.unwrap()[0].unwrap();
    assert_eq!((ended.status, ended.already), (Status::Completed, ended_then));
    for job in &held {
        assert_eq!(store.finish(complete(job)).await.unwrap()[0].unwrap().status, Status::Completed);
    }
    // No room is kept for heartbeats: a lease that ran out meanwhile is somebody else's now, and nothing is lost.
    let again = store.claim(Claim::new("brief", "v")).await.unwrap().jobs.remove(0);
    assert!(again.id == brief.id && again.token > brief.token);
    assert_eq!(store.finish(complete(&brief)).await.unwrap()[0], Err(LostReason::Superseded));
    let mut claimed = BTreeSet::new();
    loop {
        let jobs = store.claim(Claim::new("q", "w").max(100)).await.unwrap().jobs;
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            assert!(claimed.insert(job.id), "claimed once");
            assert_eq!(store.finish(complete(&job)).await.unwrap()[0].unwrap().status, Status::Completed);
        }
    }
    assert_eq!(claimed, acknowledged, "everything acknowledged, and nothing else");
}
