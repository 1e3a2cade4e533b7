//! Limits, tenants, lanes and keys under concurrency and at size (Q7, Q8, Q9).

mod support;

use std::collections::BTreeMap;
use std::env;
use std::process::{Command, Stdio};
use std::sync::Arc;
use support::{File, claim, complete};
use tenure_core::queue::{Act, Change, Claim, Ending, Idle, JobId, NewJob};
use tenure_core::retry::Retry;
use tenure_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use tenure_store::conformance::Seed;
use tenure_store::{Clock, QueueStore};

const CHILD: &str = "TENURE_CHILD";

fn job() -> NewJob {
    NewJob::new("q", "kind", "{}")
}

async fn unsynced(url: &str, clock: Option<Clock>) -> Arc<SqliteStore> {
    let mut options = SqliteOptions::new().synchronous(Synchronous::Off);
    if let Some(clock) = clock {
        options = options.clock(clock);
    }
    Arc::new(SqliteStore::open_with(url, options).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn q7_many_enqueues_of_one_key_make_one_job() {
    let file = File::new();
    let stores = [Arc::new(file.open().await), Arc::new(file.open().await)];
    let callers: Vec<_> = (0..64)
        .map(|n| {
            let store = Arc::clone(&stores[n % 2]);
            tokio::spawn(async move { store.enqueue(vec![job().key("k")]).await.unwrap().unwrap()[0] })
        })
        .collect();
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.unwrap());
    }
    assert!(answers.iter().all(|answer| answer.id == answers[0].id));
    assert_eq!(answers.iter().filter(|answer| !answer.deduplicated).count(), 1);
    assert_eq!(stores[0].queue("q").await.unwrap().unwrap().counts.queued, 1);
}

/// Claims and finishes until nothing is left, on as many threads as there are owners.
async fn drain(store: &Arc<SqliteStore>, owners: impl Iterator<Item = String>) {
    let claimers: Vec<_> = owners
        .map(|owner| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                loop {
                    let claims = store.claim(Claim::new("q", &owner).max(3)).await.unwrap();
                    if claims.idle == Some(Idle::Empty) {
                        return;
                    }
                    for (n, job) in claims.jobs.into_iter().enumerate() {
                        let act = if n % 3 == 2 { Act::Release } else { Act::Complete { result: None } };
                        let ending = Ending { act, ..complete(job.id, &owner, job.token) };
                        store.finish(vec![ending]).await.unwrap()[0].unwrap();
                    }
                }
            })
        })
        .collect();
    for claimer in claimers {
        claimer.await.unwrap();
    }
}

/// Sixteen claimers in two processes. A trigger sees every state of the file that could ever be committed.
async fn never_exceeded(w: u32, test: &str) {
    if let Ok(url) = env::var(CHILD) {
        let store = unsynced(&url, None).await;
        return drain(&store, (0..8).map(|n| format!("child-{n}"))).await;
    }
    let file = File::new();
    let store = unsynced(&file.url(), None).await;
    let limits = Change { max_running: Some(Some(w)), max_running_per_key: Some(Some(1)), ..Change::default() };
    store.change("q", limits).await.unwrap();
    let jobs = (0..150).map(|n| if n % 2 == 0 { job() } else { job().limit_key(format!("t{}", n % 5)) });
    store.enqueue(jobs.collect()).await.unwrap().unwrap();
    // After a lease was granted all of its jobs are marked, so this is what runs.
    file.raw()
        .execute_batch(
            "CREATE TABLE most (running INTEGER, of_key INTEGER);
             INSERT INTO most VALUES (0, 0);
             CREATE TRIGGER watch AFTER INSERT ON tenure_lease BEGIN
                 UPDATE most SET
                     running = max(running, (SELECT count(*) FROM tenure_job WHERE place = 2)),
                     of_key = max(of_key, (SELECT coalesce(max(n), 0) FROM
                         (SELECT count(*) AS n FROM tenure_job WHERE place = 2 AND limit_key IS NOT NULL GROUP BY limit_key)));
             END",
        )
        .unwrap();
    let this = env::current_exe().unwrap();
    let mut child =
        Command::new(this).args([test, "--exact"]).env(CHILD, file.url()).stdout(Stdio::null()).spawn().unwrap();
    drain(&store, (0..8).map(|n| format!("parent-{n}"))).await;
    assert!(child.wait().unwrap().success());
    let most = file.raw().query_row("SELECT running, of_key FROM most", [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(most, Ok((w, 1)), "the limit is reached and never exceeded");
    let counts = store.queue("q").await.unwrap().unwrap().counts;
    assert_eq!((counts.queued, counts.running, counts.completed), (0, 0, 150));
    let left = file.raw().query_row("SELECT count(*) FROM tenure_tenant", [], |row| row.get::<_, i64>(0));
    assert_eq!(left, Ok(0), "a tenant of which nothing runs is not kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_w_of_1_is_never_exceeded() {
    never_exceeded(1, "q8_w_of_1_is_never_exceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_w_of_2_is_never_exceeded() {
    never_exceeded(2, "q8_w_of_2_is_never_exceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_w_of_7_is_never_exceeded() {
    never_exceeded(7, "q8_w_of_7_is_never_exceeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_tenant_at_its_limit_with_many_waiting_does_not_slow_the_others() {
    const MANY: usize = 200_000;
    let file = File::new();
    let store = unsynced(&file.url(), Some(file.clock.clone())).await;
    // How many entries a claim would have to walk past.
    let ready =
        || file.raw().query_row("SELECT count(*) FROM tenure_job WHERE place = 0", [], |row| row.get::<_, usize>(0));
    let limit_per_key = |max| Change { max_running_per_key: Some(Some(max)), ..Change::default() };
    store.change("q", limit_per_key(1)).await.unwrap();
    for _ in 0..MANY / 10_000 {
        // Older and more urgent than everything else.
        store.enqueue(vec![job().limit_key("big").priority(9); 10_000]).await.unwrap().unwrap();
    }
    assert_eq!(ready(), Ok(1), "of a tenant and kind the first stands for all");
    let held = claim(&store, "a", 10).await;
    assert_eq!((held.len(), ready()), (1, Ok(0)), "the tenant has one slot");
    assert_eq!(store.claim(Claim::new("q", "b")).await.unwrap().idle, Some(Idle::AtCapacity));
    let others = (0..200).map(|n| if n % 2 == 0 { job() } else { job().limit_key(format!("small-{n}")) });
    let others = store.enqueue(others.collect()).await.unwrap().unwrap();
    assert_eq!(ready(), Ok(others.len()));
    for (n, other) in others.iter().enumerate() {
        let claimed: Vec<JobId> = claim(&store, "b", 1).await.iter().map(|job| job.id).collect();
        assert_eq!((claimed, ready()), (vec![other.id], Ok(others.len() - 1 - n)));
    }
    // A freed slot shows the next, a raised limit as many as it has room for, and neither walks through the rest.
    store.finish(vec![complete(held[0].id, "a", held[0].token)]).await.unwrap()[0].unwrap();
    assert_eq!((claim(&store, "a", 10).await.len(), ready()), (1, Ok(0)));
    store.change("q", limit_per_key(5)).await.unwrap();
    assert_eq!(ready(), Ok(1));
    assert_eq!((claim(&store, "a", 10).await.len(), ready()), (4, Ok(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn q9_a_lane_with_many_waiting_does_not_slow_the_others() {
    let file = File::new();
    let store = unsynced(&file.url(), Some(file.clock.clone())).await;
    let ready =
        || file.raw().query_row("SELECT count(*) FROM tenure_job WHERE place = 0", [], |row| row.get::<_, usize>(0));
    for _ in 0..10 {
        store.enqueue(vec![job().ordering_key("long").priority(9); 10_000]).await.unwrap().unwrap();
    }
    let first = claim(&store, "a", 10).await;
    assert_eq!((first.len(), ready()), (1, Ok(0)));
    let other = store.enqueue(vec![job()]).await.unwrap().unwrap()[0].id;
    assert_eq!(claim(&store, "a", 10).await[0].id, other);
    store.finish(vec![complete(first[0].id, "a", first[0].token)]).await.unwrap()[0].unwrap();
    let second = claim(&store, "a", 10).await;
    assert_eq!((second.len(), second[0].id), (1, JobId(first[0].id.0 + 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_freed_slot_or_lane_wakes_who_waits() {
    let file = File::new();
    let store = file.open().await;
    for (limits, jobs) in [
        (Change { max_running: Some(Some(1)), ..Change::default() }, [job(), job()]),
        (
            Change { max_running_per_key: Some(Some(1)), ..Change::default() },
            [job().limit_key("t"), job().limit_key("t")],
        ),
        (Change::default(), [job().ordering_key("l"), job().ordering_key("l")]),
    ] {
        store.change("q", Change { max_running: Some(None), max_running_per_key: Some(None), ..limits }).await.unwrap();
        store.change("q", limits).await.unwrap();
        store.enqueue(jobs.to_vec()).await.unwrap().unwrap();
        let held = claim(&store, "a", 2).await;
        assert_eq!(held.len(), 1, "{limits:?}");
        let mut listener = store.signals().listen(vec!["q".into()]);
        store.finish(vec![complete(held[0].id, "a", held[0].token)]).await.unwrap()[0].unwrap();
        listener.woken().await;
        let next = claim(&store, "a", 2).await;
        store.finish(vec![complete(next[0].id, "a", next[0].token)]).await.unwrap()[0].unwrap();
    }
    let mut listener = store.signals().listen(vec!["q".into()]);
    store.set_limit(Some(1)).await.unwrap();
    listener.woken().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q9_each_lane_runs_in_the_order_it_was_enqueued() {
    const LANES: usize = 20;
    const JOBS: usize = 50;
    let file = File::new();
    let stores = [unsynced(&file.url(), None).await, unsynced(&file.url(), None).await];
    // The same id order within each lane, the lanes mixed.
    let jobs = (0..LANES * JOBS).map(|n| job().ordering_key(format!("lane-{}", n % LANES)).attempts_max(1_000));
    let enqueued = stores[0].enqueue(jobs.collect()).await.unwrap().unwrap();
    let lane_of: BTreeMap<JobId, usize> = enqueued.iter().enumerate().map(|(n, job)| (job.id, n % LANES)).collect();
    let lane_of = Arc::new(lane_of);
    let seed = Seed::or(7);
    let workers: Vec<_> = (0..8)
        .map(|n| {
            let (store, lane_of, mut chance) =
                (Arc::clone(&stores[n % 2]), Arc::clone(&lane_of), seed.chance(n as u64));
            tokio::spawn(async move {
                let owner = format!("w{n}");
                let mut done = Vec::new();
                loop {
                    let claims = store.claim(Claim::new("q", &owner).max(5)).await.unwrap();
                    if claims.jobs.is_empty() {
                        let counts = store.queue("q").await.unwrap().unwrap().counts;
                        if counts.queued + counts.running == 0 {
                            return done;
                        }
                        tokio::task::yield_now().await;
                    }
                    let mut lanes: Vec<usize> = claims.jobs.iter().map(|job| lane_of[&job.id]).collect();
                    lanes.sort_unstable();
                    lanes.dedup();
                    assert_eq!(lanes.len(), claims.jobs.len(), "two jobs of one lane at once");
                    for job in claims.jobs {
                        // A third of all attempts fails; the head then keeps its place.
                        let retry = Retry::In { delay_ms: 0 };
                        let act = match chance.one_in(3) {
                            true => Act::Fail { error: "again".into(), retry },
                            false => Act::Complete { result: None },
                        };
                        let ended = Ending { act: act.clone(), ..complete(job.id, &owner, job.token) };
                        store.finish(vec![ended]).await.unwrap()[0].unwrap();
                        if act != (Act::Fail { error: "again".into(), retry }) {
                            done.push((job.token, job.id));
                        }
                    }
                }
            })
        })
        .collect();
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await.unwrap());
    }
    // Tokens are drawn in the order of the claims.
    done.sort_unstable();
    let mut lanes: BTreeMap<usize, Vec<JobId>> = BTreeMap::new();
    done.iter().for_each(|(_, id)| lanes.entry(lane_of[id]).or_default().push(*id));
    assert_eq!(lanes.len(), LANES);
    for (lane, order) in lanes {
        assert_eq!(order.len(), JOBS);
        assert!(order.is_sorted(), "lane {lane}: {order:?}");
    }
}
