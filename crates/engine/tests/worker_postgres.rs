//! The worker's heartbeats on PostgreSQL: on a thread and on connections of their own.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tenure::prelude::*;
use tenure::{JobId, JobInfo, Status};
use tenure_testing::{PostgresServer, ServerOptions, StopMode, TestDatabase};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio_postgres::{Client, NoTls};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "step", queue = "steps", attempts_max = 1)]
struct Step {
    n: u32,
}

const LEASE: Duration = Duration::from_millis(1_500);
/// No wait here takes as long; one that does is in vain.
const STUCK: Duration = Duration::from_secs(60);

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns when the running lease has been renewed `beats` times.
async fn beaten(hand: &Client, beats: i32) {
    loop {
        let row = hand.query_one("select coalesce(max(beats), 0) from tenure.lease", &[]).await.unwrap();
        if row.get::<_, i32>(0) >= beats {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a9_a_handler_that_never_yields_keeps_its_lease() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let database = TestDatabase::create().await.unwrap();
        let tenure = Tenure::open(database.url()).await.unwrap();
        let id = tenure.enqueue(Step { n: 0 }).await.unwrap().id;
        let worker = tenure.worker().lease(LEASE).handle(async |cx: Context, _: Step| {
            // The only thread of the runtime, for five leases.
            std::thread::sleep(5 * LEASE);
            match cx.is_cancelled() {
                None => Outcome::<()>::done(()),
                Some(why) => Outcome::fail(why),
            }
        });
        let report = worker.drain().await.unwrap();
        assert_eq!((report.completed, report.refused), (1, 0));
        let job = tenure.verbs().job(id).await.unwrap().unwrap();
        assert!(job.attempts[0].pulse.beats >= 5, "{} beats", job.attempts[0].pulse.beats);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a10_handlers_that_take_every_connection_keep_their_leases() {
    let database = TestDatabase::create().await.unwrap();
    let mark = if database.url().contains('?') { '&' } else { '?' };
    let tenure = Tenure::open(&format!("{}{mark}connections_max=3", database.url())).await.unwrap();
    tenure.enqueue_all((0..6).map(|n| Step { n })).await.unwrap();
    let (mut locker, hand) = (connect(database.url()).await, connect(database.url()).await);
    let lock = locker.transaction().await.unwrap();
    lock.batch_execute("select from tenure.engine for update").await.unwrap();
    let worker = tenure.worker().lease(LEASE).handle(async |cx: Context, job: Step| {
        // Waits for the lock on the server, and keeps its connection meanwhile.
        cx.tenure().verbs().set_limit(Some(100 + job.n)).await?;
        Outcome::<()>::done(())
    });
    let working = tokio::spawn(worker.drain());
    // Three leases and more.
    beaten(&hand, 10).await;
    lock.rollback().await.unwrap();
    let report = working.await.unwrap().unwrap();
    assert_eq!((report.completed, report.failed, report.refused), (6, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn c8_a_worker_goes_on_after_its_server_ended_every_connection() {
    let database = TestDatabase::create().await.unwrap();
    let tenure = Tenure::open(database.url()).await.unwrap();
    tenure.enqueue_all((0..200).map(|n| Step { n })).await.unwrap();
    let hand = connect(database.url()).await;
    let worker = tenure.worker().concurrency(4).handle(async |_: Context, job: Step| {
        tokio::task::yield_now().await;
        Outcome::<u32>::done(job.n)
    });
    let working = tokio::spawn(worker.drain());
    // Once it is at work: a worker that cannot open its store does not begin.
    while hand.query("select from tenure.finished limit 1", &[]).await.unwrap().is_empty() {}
    for _ in 0..5 {
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid()";
        hand.batch_execute(end).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A claim whose answer was cut off is found again when its lease has run out; what matters is that none is lost.
    working.await.unwrap().unwrap();
    let counts = tenure.verbs().queue("steps").await.unwrap().unwrap().counts;
    assert_eq!((counts.completed + counts.running + counts.queued, counts.failed), (200, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn c8_a_worker_that_starts_while_its_server_is_away_works_once_it_is_back() {
    let start = || PostgresServer::start(ServerOptions::fast());
    let server = tokio::task::spawn_blocking(start).await.unwrap().unwrap();
    let tenure = Tenure::open(&server.url("postgres")).await.unwrap();
    let id = tenure.enqueue(Step { n: 0 }).await.unwrap().id;
    server.stop(StopMode::Fast).unwrap();
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let worker = tenure.worker().handle(move |_: Context, job: Step| {
        let done = done.clone();
        async move {
            let _ = done.send(job.n);
            Outcome::<()>::done(())
        }
    });
    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(worker.run_until(async { drop(left.await) }));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!working.is_finished(), "{:?}", working.await);
    server.start_again().unwrap();
    tokio::time::timeout(Duration::from_secs(60), is_done.recv()).await.expect("it is done").expect("one job");
    drop(leave);
    assert_eq!(working.await.unwrap().unwrap().completed, 1);
    assert_eq!(tenure.verbs().job(id).await.unwrap().unwrap().status, tenure::Status::Completed);
}

async fn server() -> PostgresServer {
    tokio::task::spawn_blocking(|| PostgresServer::start(ServerOptions::fast().tcp())).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_worker_goes_over_from_a_primary_that_is_frozen() {
    let (frozen, good) = tokio::join!(server(), server());
    let (first, second) = (frozen.tcp_url("postgres").unwrap(), good.tcp_url("postgres").unwrap());
    let (user, first_place) = first.rsplit_once('@').unwrap();
    let second_place = second.rsplit_once('@').unwrap().1;
    // One password for both, as the servers of one cluster have.
    let password = user.rsplit_once(':').unwrap().1;
    let hand = connect(&good.url("postgres")).await;
    hand.batch_execute(&format!("alter role postgres password '{password}'")).await.unwrap();
    let both = format!("{user}@{},{second_place}?timeout_ms=2000", first_place.split_once('/').unwrap().0);
    let there = Tenure::open(&good.url("postgres")).await.unwrap();

    let tenure = Tenure::open(&both).await.unwrap();
    let (done, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let worker = tenure.worker().handle(move |_: Context, job: Step| {
        let done = done.clone();
        async move {
            let _ = done.send(job.n);
            Outcome::<()>::done(())
        }
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(worker.run_until(async { drop(stopped.await) }));
    tenure.enqueue(Step { n: 1 }).await.unwrap();
    assert_eq!(seen.recv().await, Some(1));
    frozen.freeze();
    there.enqueue(Step { n: 2 }).await.unwrap();
    let over = tokio::time::timeout(Duration::from_secs(90), seen.recv()).await.expect("the worker goes over");
    assert_eq!(over, Some(2));
    stop.send(()).unwrap();
    working.await.unwrap().unwrap();
}

/// Five jobs of one worker. The first is held by a transaction of a user's that stays open when its handler ends; the others
/// end when they are told.
struct Held {
    _database: TestDatabase,
    tenure: Tenure,
    jobs: Vec<JobId>,
    worker: Option<tenure::Worker>,
    /// The user: rolled back when it is dropped.
    user: UnboundedReceiver<Client>,
    go: watch::Sender<bool>,
    hand: Client,
}

impl Held {
    async fn new() -> Held {
        let database = TestDatabase::create().await.unwrap();
        let tenure = Tenure::open(database.url()).await.unwrap();
        let enqueued = tenure.enqueue_all((0..5).map(|n| Step { n })).await.unwrap();
        let (handed, user) = unbounded_channel();
        let (go, told) = watch::channel(false);
        let url: Arc<str> = database.url().into();
        let work = move |cx: Context, job: Step| {
            let (url, handed, mut told) = (url.clone(), handed.clone(), told.clone());
            async move {
                if job.n > 0 {
                    told.wait_for(|go| *go).await?;
                    return Outcome::<()>::done(());
                }
                let user = connect(&url).await;
                user.batch_execute("begin").await?;
                let held = "select tenure.held($1, $2, $3)";
                user.query(held, &[&cx.id().0, &cx.owner(), &cx.token().0]).await?;
                handed.send(user)?;
                Outcome::<()>::done(())
            }
        };
        let worker = Some(tenure.worker().lease(LEASE).concurrency(5).handle(work));
        let jobs = enqueued.into_iter().map(|one| one.id).collect();
        let hand = connect(database.url()).await;
        Held { _database: database, tenure, jobs, worker, user, go, hand }
    }

    async fn job(&self, n: usize) -> JobInfo {
        self.tenure.verbs().job(self.jobs[n]).await.unwrap().unwrap()
    }

    /// Returns when the store waits for the user.
    async fn blocked(&self) {
        let waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while self.hand.query(waiting, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn completed(&self, n: usize) {
        while self.job(n).await.status != Status::Completed {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_endings_of_a_worker_do_not_wait_for_one_that_a_user_holds() {
    // The others end together with the held one, or while it is waited for.
    for together in [true, false] {
        let mut held = Held::new().await;
        held.go.send_replace(together);
        let working = tokio::spawn(held.worker.take().unwrap().drain());
        let user = held.user.recv().await.unwrap();
        held.blocked().await;
        held.go.send_replace(true);
        let others = async {
            for n in 1..5 {
                held.completed(n).await;
            }
        };
        tokio::time::timeout(STUCK, others).await.unwrap_or_else(|_| panic!("the others wait, together: {together}"));
        assert_eq!(held.job(0).await.status, Status::Running);
        drop(user);
        let report = tokio::time::timeout(STUCK, working).await.expect("it ends").unwrap().unwrap();
        assert_eq!((report.completed, report.refused), (5, 0), "together: {together}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_a_worker_that_is_told_to_leave_does_not_wait_for_a_users_transaction() {
    // Told while it works, or while it waits for its last ending.
    for drains in [false, true] {
        let mut held = Held::new().await;
        held.go.send_replace(true);
        let worker = held.worker.take().unwrap().grace(Duration::from_millis(100));
        let worker = if drains { worker.until_idle() } else { worker };
        let (leave, told) = tokio::sync::oneshot::channel::<()>();
        let working = tokio::spawn(worker.run_until(async { told.await.unwrap() }));
        let user = held.user.recv().await.unwrap();
        for n in 1..5 {
            held.completed(n).await;
        }
        held.blocked().await;
        leave.send(()).unwrap();
        let report = tokio::time::timeout(STUCK, working).await.unwrap_or_else(|_| panic!("stayed: {drains}"));
        assert_eq!(report.unwrap().unwrap().completed, 4);
        assert_eq!(held.job(0).await.status, Status::Running, "the user holds it still");
        // Nobody renews its lease any more: recovery returns it once the user has let go.
        drop(user);
        let returned = async {
            while held.job(0).await.status == Status::Running {
                held.tenure.verbs().recover(100).await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(STUCK, returned).await.expect("it is returned");
    }
}
