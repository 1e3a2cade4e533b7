//! Transactions of tokio-postgres.

use crate::{App, Hand, Row, START, claimed, job, queued};
use std::sync::Arc;
use tenure::tokio_postgres::types::Type;
use tenure::tokio_postgres::{Client, IsolationLevel, NoTls, Transaction, connect};
use tenure::{Beat, Claim, Error, Status, Tenure};
use tenure_testing::TestDatabase;

pub(crate) struct Postgres {
    pub(crate) client: Client,
    tenure: Tenure,
    hand: Arc<Client>,
    database: TestDatabase,
}

/// The store's clock, replaced as L5 allows: a sequence, because its value is seen at once and outside transactions.
const MANUAL_CLOCK: &str = "
    create sequence tenure.test_clock;
    create or replace function tenure.clock() returns timestamptz language sql volatile as $$
        select timestamptz 'epoch' + (last_value / 1000000) * interval '1 second'
               + (last_value % 1000000) * interval '1 microsecond'
          from tenure.test_clock
    $$;
    create table effect (n integer)";

impl App for Postgres {
    type Tx<'a> = Transaction<'a>;

    async fn open() -> Postgres {
        let database = TestDatabase::create().await.unwrap();
        let tenure = Tenure::open(database.url()).await.unwrap();
        let hand = Arc::new(client(database.url()).await);
        hand.batch_execute(MANUAL_CLOCK).await.unwrap();
        let app = Postgres { client: client(database.url()).await, tenure, hand, database };
        app.clock().set(START).await;
        app
    }

    fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    fn clock(&self) -> Hand {
        Hand::Postgres(self.hand.clone())
    }

    async fn begin(&mut self) -> Transaction<'_> {
        self.client.transaction().await.unwrap()
    }

    async fn write(tx: &mut Self::Tx<'_>) {
        tx.batch_execute("insert into effect values (1)").await.unwrap();
    }

    async fn commit(tx: Self::Tx<'_>) {
        tx.commit().await.unwrap();
    }

    async fn rollback(tx: Self::Tx<'_>) {
        tx.rollback().await.unwrap();
    }

    async fn effects(&mut self) -> i64 {
        self.client.query_one("select count(*) from effect", &[]).await.unwrap().get(0)
    }

    async fn work_queue(&mut self) -> (Vec<String>, Vec<Row>) {
        let view = self.client.prepare("select * from tenure.work_queue order by id").await.unwrap();
        let columns = view.columns().iter().map(|column| column.name().to_owned()).collect();
        let cells = view.columns().iter().map(|column| match column.type_() {
            &Type::TIMESTAMPTZ => {
                format!("to_char({} at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')", column.name())
            }
            _ => format!("{}::text", column.name()),
        });
        let cells: Vec<String> = cells.map(|cell| format!("coalesce({cell}, '-')")).collect();
        let sql = format!("select array[{}] from tenure.work_queue order by id", cells.join(", "));
        let rows = self.client.query(&sql, &[]).await.unwrap();
        (columns, rows.iter().map(|row| row.get(0)).collect())
    }
}

async fn client(url: &str) -> Client {
    let (client, connection) = connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_nobody_takes_held_work_before_the_commit_even_past_the_lease() {
    let mut app = Postgres::open().await;
    let (tenure, clock) = (app.tenure.clone(), app.clock());
    let job = claimed(&tenure).await;
    let mut tx = app.begin().await;
    tenure.verbs().held_in(&mut tx, job.id, "w", job.token).await.unwrap();
    clock.set(START.plus_ms(5_000)).await;
    let thief = Claim::new("q", "thief");
    assert_eq!(tenure.verbs().claim(thief.clone()).await.unwrap().jobs, []);
    assert_eq!(tenure.verbs().job(job.id).await.unwrap().unwrap().token, Some(job.token));
    Postgres::write(&mut tx).await;
    tx.commit().await.unwrap();
    assert_eq!(app.effects().await, 1, "the transaction was fenced to its end");
    assert_eq!(tenure.verbs().claim(thief).await.unwrap().jobs[0].id, job.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_no_heartbeat_waits_for_held_complete_or_fail_in_a_transaction() {
    let mut app = Postgres::open().await;
    let tenure = app.tenure.clone();
    for fails in [false, true] {
        let job = claimed(&tenure).await;
        let beat = Beat::new(job.id, "w", job.token).checkpoint("3").progress("\"half\"");
        let mut tx = app.begin().await;
        tenure.verbs().held_in(&mut tx, job.id, "w", job.token).await.unwrap();
        tenure.verbs().heartbeat(beat.clone()).await.unwrap();
        if fails {
            tenure.verbs().fail_in(&mut tx, job.id, "w", job.token, "boom").await.unwrap();
        } else {
            tenure.verbs().complete_in(&mut tx, job.id, "w", job.token, None).await.unwrap();
        }
        tenure.verbs().heartbeat(beat).await.unwrap();
        tx.commit().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l3_a_transaction_that_lost_its_lease_cannot_commit() {
    let mut app = Postgres::open().await;
    let (tenure, clock) = (app.tenure.clone(), app.clock());
    let job = claimed(&tenure).await;
    clock.set(START.plus_ms(1_000)).await;
    let mut tx = app.begin().await;
    Postgres::write(&mut tx).await;
    tenure.verbs().held_in(&mut tx, job.id, "w", job.token).await.unwrap_err();
    // The caller goes on by mistake.
    assert!(tx.batch_execute("insert into effect values (2)").await.is_err());
    let further = tenure.enqueue(crate::job()).in_tx(&mut tx).await.unwrap_err();
    assert_eq!(further.code(), "transaction_unusable");
    assert!(further.to_string().contains("roll it back"), "{further}");
    tx.commit().await.unwrap();
    assert_eq!(app.effects().await, 0, "PostgreSQL made a rollback of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_the_schema_of_the_store_is_the_one_that_is_written() {
    let mut app = Postgres::open().await;
    let url = app.database.url();
    let url = format!("{url}{}schema=other_work", if url.contains('?') { "&" } else { "?" });
    let other = Tenure::open(&url).await.unwrap();
    let mut tx = app.begin().await;
    other.enqueue(job()).in_tx(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((queued(&other).await, queued(&app.tenure).await), (1, 0));

    let held = other.verbs().claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    let mut tx = app.begin().await;
    other.verbs().held_in(&mut tx, held.id, "w", held.token).await.unwrap();
    other.verbs().complete_in(&mut tx, held.id, "w", held.token, None).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(other.verbs().job(held.id).await.unwrap().unwrap().status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_transaction_that_cannot_be_used_is_told_so() {
    let mut app = Postgres::open().await;
    let tenure = app.tenure.clone();
    let check = |refused: Error, says: &str| {
        assert_eq!(refused.code(), "transaction_unusable");
        assert!(refused.to_string().contains(says), "{refused}");
    };
    let builder = app.client.build_transaction().isolation_level(IsolationLevel::Serializable);
    let mut tx = builder.start().await.unwrap();
    check(tenure.enqueue(job()).in_tx(&mut tx).await.unwrap_err(), "READ COMMITTED");
    tx.rollback().await.unwrap();
    let mut tx = app.client.build_transaction().read_only(true).start().await.unwrap();
    check(tenure.enqueue(job()).in_tx(&mut tx).await.unwrap_err(), "read-only");
    tx.rollback().await.unwrap();

    let empty = TestDatabase::create().await.unwrap();
    let mut elsewhere = client(empty.url()).await;
    let mut tx = elsewhere.transaction().await.unwrap();
    check(tenure.enqueue(job()).in_tx(&mut tx).await.unwrap_err(), "has not this store in it");
    drop(tx);
    assert_eq!(queued(&tenure).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_task_of_any_thread_may_hold_the_transaction() {
    let mut app = Postgres::open().await;
    let tenure = app.tenure.clone();
    let task = tokio::spawn(async move {
        let held = claimed(&tenure).await;
        let mut tx = app.client.transaction().await?;
        tenure.verbs().held_in(&mut tx, held.id, "w", held.token).await.unwrap();
        tenure.enqueue(job()).in_tx(&mut tx).await.unwrap();
        tenure.verbs().complete_in(&mut tx, held.id, "w", held.token, None).await.unwrap();
        tx.commit().await?;
        Ok::<_, tenure::tokio_postgres::Error>((app, tenure))
    });
    let (_app, tenure) = task.await.unwrap().unwrap();
    assert_eq!(queued(&tenure).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_what_is_enqueued_in_a_transaction_is_found_by_who_waits() {
    let mut app = Postgres::open().await;
    let tenure = app.tenure.clone();
    let waiting = tenure.clone();
    let found = tokio::spawn(async move {
        let wait = std::time::Duration::from_secs(60);
        waiting.verbs().claim_within(Claim::new("q", "w"), wait).await.unwrap().jobs
    });
    let mut tx = app.begin().await;
    let id = tenure.enqueue(job()).in_tx(&mut tx).await.unwrap().id;
    tx.commit().await.unwrap();
    assert_eq!(found.await.unwrap()[0].id, id);
}
