//! A server that gives up (C10): `statement_timeout` and `lock_timeout` end a call as `unavailable`, with nothing half
//! done, and the call can be repeated as it was.

use crate::support::{connect, database};
use std::collections::BTreeSet;
use tenure_core::queue::{Act, Action, Beat, Change, Claim, Ending, Filter, JobId, NewJob, Operation, Status};
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, StoreError, Upkeep};
use tenure_testing::TestDatabase;

/// A store whose every session has this setting, as a cautious administrator would have it.
async fn hurried(setting: &str) -> (TestDatabase, PostgresStore) {
    let database = database().await;
    let hand = connect(database.url()).await;
    hand.batch_execute(&format!("alter database {} set {setting}", database.name())).await.unwrap();
    let url = format!("{}?listen_url=none", database.url());
    // Opening asks too, and may be timed out as well: then it is repeated, as any call.
    loop {
        match PostgresStore::open(&url).await {
            Ok(store) => return (database, store),
            Err(error) => assert_eq!(error.code(), "unavailable", "{error}"),
        }
    }
}

/// Everything that can be read, for comparison.
async fn seen(store: &PostgresStore) -> String {
    let jobs = store.jobs(Filter::default(), None, 100).await.unwrap().items;
    let mut text = format!("{jobs:?} {:?}", store.queues(None, 10).await.unwrap().items);
    for job in jobs {
        text.push_str(&format!("{:?}", store.events(job.id).await.unwrap()));
    }
    text
}

async fn every_verb_gives_up_and_can_be_repeated(setting: &str) {
    let (database, store) = hurried(setting).await;
    let jobs = (0..4).map(|n| NewJob::new("q", "k", n.to_string())).collect();
    store.enqueue(jobs).await.unwrap().unwrap();
    // Verbs wait some seconds for a lock, whatever the administrator allows: the lease is long enough for all of them.
    let job = store.claim(Claim::new("q", "w").lease_ms(600_000)).await.unwrap().jobs.remove(0);
    let waiting = JobId(job.id.0 + 3);
    let before = seen(&store).await;

    let rival = connect(database.url()).await;
    rival
        .batch_execute(
            "set statement_timeout = 0; set lock_timeout = 0; begin;
             lock table tenure.job, tenure.lease, tenure.finished, tenure.queue, tenure.dedup in access exclusive mode",
        )
        .await
        .unwrap();
    let ending = || Ending { job: job.id, owner: "w".into(), token: job.token, act: Act::Complete { result: None } };
    let enqueue = || vec![NewJob::new("q", "k", "9").key("once")];
    let cancel = || Operation { job: waiting, action: Action::Cancel { reason: None, force: false } };
    let change = || Change { max_running: Some(Some(7)), ..Change::default() };
    let errors = [
        ("enqueue", store.enqueue(enqueue()).await.map(drop).err()),
        ("claim", store.claim(Claim::new("q", "w")).await.map(drop).err()),
        ("heartbeat", store.heartbeat(vec![Beat::new(job.id, "w", job.token)]).await.map(drop).err()),
        ("finish", store.finish(vec![ending()]).await.map(drop).err()),
        ("operate", store.operate(vec![cancel()]).await.map(drop).err()),
        ("change", store.change("q", change()).await.map(drop).err()),
        ("recover", store.recover(10).await.map(drop).err()),
        ("prune", store.prune(10).await.map(drop).err()),
        ("job", store.job(job.id).await.map(drop).err()),
    ];
    for (verb, error) in errors {
        let error = error.unwrap_or_else(|| panic!("{verb} did not notice the lock"));
        // Not done, and known not to be.
        assert_eq!(error.code(), "unavailable", "{verb}: {error}");
        assert!(error.to_string().contains("timeout"), "{verb}: {error}");
    }
    rival.batch_execute("rollback").await.unwrap();
    assert_eq!(seen(&store).await, before, "nothing was half done");

    assert!(!store.enqueue(enqueue()).await.unwrap().unwrap()[0].deduplicated);
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
    assert!(store.heartbeat(vec![Beat::new(job.id, "w", job.token)]).await.unwrap()[0].is_ok());
    let ended = store.finish(vec![ending()]).await.unwrap()[0].unwrap();
    assert_eq!((ended.status, ended.already), (Status::Completed, false));
    assert_eq!(store.operate(vec![cancel()]).await.unwrap()[0], Ok(Status::Failed));
    assert_eq!(store.change("q", change()).await.unwrap().settings.max_running, Some(7));
    store.recover(10).await.unwrap();
    store.prune(10).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn c10_a_statement_timeout_ends_every_verb_as_unavailable_and_nothing_was_done() {
    every_verb_gives_up_and_can_be_repeated("statement_timeout = '400ms'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c10_a_lock_timeout_ends_every_verb_as_unavailable_and_nothing_was_done() {
    every_verb_gives_up_and_can_be_repeated("lock_timeout = '100ms'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c10_under_a_timeout_of_milliseconds_what_is_there_is_exactly_what_was_acknowledged() {
    let (database, store) = hurried("statement_timeout = '3ms'").await;
    let (mut acknowledged, mut refused) = (BTreeSet::new(), 0);
    for n in 0..60 {
        // From one job to as many as no server takes in three milliseconds, so that the clock strikes at every point.
        let count = if n % 6 == 5 { 3_000 } else { 1 << (n % 6) };
        let jobs = (0..count).map(|i| NewJob::new("q", "k", i.to_string()).key(format!("{n}-{i}"))).collect();
        match store.enqueue(jobs).await {
            Ok(answer) => acknowledged.extend(answer.unwrap().into_iter().map(|job| job.id.0)),
            Err(StoreError::Unavailable { outcome: tenure_store::Outcome::NotDone, .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused >= 10, "the large ones are never done in three milliseconds");
    let hand = connect(database.url()).await;
    hand.batch_execute("set statement_timeout = 0").await.unwrap();
    let rows = hand.query("select id from tenure.job", &[]).await.unwrap();
    let there: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(there, acknowledged);
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_a_lease_that_recovery_could_not_return_in_time_is_returned_by_the_next() {
    let (database, store) = hurried("lock_timeout = '100ms'").await;
    store.enqueue(vec![NewJob::new("q", "k", "1").limit_key("t").ordering_key("l")]).await.unwrap().unwrap();
    let job = store.claim(Claim::new("q", "w").lease_ms(100)).await.unwrap().jobs.remove(0);
    while store.now().await.unwrap() < job.lease_expires_at {}
    let rival = connect(database.url()).await;
    rival.batch_execute("begin; select from tenure.job for key share").await.unwrap();
    assert_eq!(store.recover(10).await.unwrap().leases, 0, "nobody waits for it, and it is not given up either");
    rival.batch_execute("rollback").await.unwrap();
    let recovered = store.recover(10).await.unwrap();
    assert_eq!((recovered.leases, recovered.requeued), (1, 1));
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs[0].id, job.id);
}
