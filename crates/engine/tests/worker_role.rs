//! A program that works under PostgreSQL's role of workers, from its login on: every face through the library, and its own
//! transactions (docs/decisions/0009).

use serde::{Deserialize, Serialize};
use tenure::Status;
use tenure::domain::{Work, offsets};
use tenure::pipeline::{Definition, NewRun, RunStatus, Segment, Stage, StageContext};
use tenure::prelude::*;
use tenure::sync::{ClaimedChunk, NewChunk, Plan, State, Synced};
use tenure_testing::TestDatabase;
use tokio_postgres::{Client, NoTls};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "step", queue = "steps", attempts_max = 2)]
struct Step {
    n: u32,
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A store with its roles; its owner's hand on it; and the address for a login role that was granted the workers'.
async fn store() -> (TestDatabase, Tenure, String) {
    let database = TestDatabase::create().await.unwrap();
    Tenure::migrate(database.url()).await.unwrap();
    let admin = connect(database.url()).await;
    admin.batch_execute(&Tenure::roles(database.url()).unwrap().unwrap()).await.unwrap();
    let name = database.name();
    let login = format!(
        "create role w_{name} login; grant {name}_tenure_work to w_{name}; create table effect (n integer);
                         grant insert, select on effect to w_{name}"
    );
    admin.batch_execute(&login).await.unwrap();
    let url = database.url();
    let (scheme, rest) = url.split_once("://").unwrap();
    let url = format!("{scheme}://w_{name}@{}", rest.rsplit_once('@').map_or(rest, |(_, rest)| rest));
    let runtime = Tenure::open(database.url()).await.unwrap();
    (database, runtime, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_enqueued_worked_on_and_ended_under_the_role_of_workers() {
    let (_database, _, url) = store().await;
    let tenure = Tenure::open(&url).await.unwrap();
    let ids = tenure.enqueue_all((0..20).map(|n| Step { n })).await.unwrap();
    let worker = tenure.worker().concurrency(4).handle(async |cx: Context, step: Step| {
        cx.progress(&step.n).await?;
        if step.n == 7 && cx.attempt() == 1 { Outcome::<u32>::retry("once more") } else { Outcome::done(step.n) }
    });
    let report = worker.drain().await.unwrap();
    assert_eq!(report.completed, 19, "{report:?}");
    let job = tenure.verbs().job(ids[3].id).await.unwrap().unwrap();
    assert_eq!((job.status, job.result.as_deref()), (Status::Completed, Some("3")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workers_own_transaction_enqueues_and_completes_under_its_role() {
    let (_database, _, url) = store().await;
    let tenure = Tenure::open(&url).await.unwrap();
    let mut client = connect(&url).await;
    for commits in [false, true] {
        let mut tx = client.transaction().await.unwrap();
        tx.batch_execute("insert into effect values (1)").await.unwrap();
        tenure.enqueue(Step { n: 1 }).in_tx(&mut tx).await.unwrap();
        if commits { tx.commit().await.unwrap() } else { tx.rollback().await.unwrap() }
    }
    let claims = tenure.verbs().claim(tenure::Claim::new("steps", "w").max(9)).await.unwrap();
    let [job] = &claims.jobs[..] else { panic!("one was committed: {claims:?}") };
    let mut tx = client.transaction().await.unwrap();
    tenure.verbs().held_in(&mut tx, job.id, "w", job.token).await.unwrap();
    tx.batch_execute("insert into effect values (2)").await.unwrap();
    tenure.verbs().complete_in(&mut tx, job.id, "w", job.token, None).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(tenure.verbs().job(job.id).await.unwrap().unwrap().status, Status::Completed);
    let rows = client.query("select n from effect order by n", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>(), [1, 2]);
}

async fn cut(_: StageContext, n: u32) -> Outcome<Vec<Segment<u32>>> {
    Outcome::done((0..n).map(|i| Segment::new(format!("s{i}"), i)).collect::<Vec<_>>())
}

async fn double(cx: StageContext, i: u32) -> Outcome<u32> {
    cx.progress(&i).await?;
    Outcome::done(i * 2)
}

async fn join(cx: StageContext, _: serde_json::Value) -> Outcome<usize> {
    Outcome::done(cx.segments(None, 10).await?.items.len())
}

async fn end(_: StageContext, _: serde_json::Value) -> Outcome<String> {
    Outcome::done("done")
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_and_segments_are_worked_on_under_the_role_of_workers() {
    let (_database, operator, url) = store().await;
    let tenure = Tenure::open(&url).await.unwrap();
    let graph = Definition::new("p").stage(Stage::new("a").segmented()).stage(Stage::new("b").needs(["a"]));
    let refused = tenure.verbs().apply_pipeline(graph.clone()).await.unwrap_err();
    assert_eq!(refused.code(), "store_denied", "{refused}");
    operator.verbs().apply_pipeline(graph).await.unwrap();
    let run = tenure.verbs().start_run(NewRun::new("p", "3")).await.unwrap();
    let advance = tenure.orchestrator().advance(1).await.unwrap_err();
    assert_eq!(advance.code(), "store_denied", "{advance}");
    let stages = || tenure.stages("p").split("a", cut).segment("a", double).handle("a", join).handle("b", end);
    for _ in 0..6 {
        operator.orchestrator().advance(10).await.unwrap();
        stages().drain().await.unwrap();
    }
    let (run, stages) = tenure.verbs().run(run).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Done, "{stages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_are_planned_and_synced_under_the_role_of_workers() {
    let (_database, _, url) = store().await;
    let tenure = Tenure::open(&url).await.unwrap();
    let chunks = (0..10).map(|n| NewChunk::new(format!("c{n}")).payload(n.to_string()));
    let sync = tenure.verbs().plan_sync(Plan::new("m").chunks(chunks)).await.unwrap().id;
    let handler = async |chunk: ClaimedChunk| {
        Ok::<_, String>(Synced::rows(chunk.payload.parse().map_err(|_| "no number")?).cursor("1"))
    };
    let info = tenure.sync_worker(sync, "w").workers(2).run(handler).await.unwrap();
    assert_eq!((info.sync.state, info.progress.rows), (State::Completed, 45));
    let refused = tenure.verbs().cancel_sync(sync, None).await.unwrap_err();
    assert_eq!(refused.code(), "store_denied", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_worked_on_under_the_role_of_workers() {
    let (_database, _, url) = store().await;
    let tenure = Tenure::open(&url).await.unwrap();
    let items = (0..40u64).map(|n| (if n % 2 == 0 { "even" } else { "odd" }, n / 2));
    let handler = async |work: Work| if work.offset == 5 { Err("never") } else { Ok(()) };
    let report = tenure.domain_worker().concurrency(4).run(offsets(items), handler).await.unwrap();
    assert_eq!(report.refused, 0, "{report:?}");
    assert!(tenure.domain("odd").info().await.unwrap().lease.is_none());
    let refused = tenure.domain("odd").skip(99).await.unwrap_err();
    assert_eq!(refused.code(), "store_denied", "{refused}");
}
