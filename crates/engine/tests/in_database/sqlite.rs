//! Transactions of rusqlite, on the file of the store.

use crate::{App, Hand, Row, START, claimed, job, queued};
use tempfile::TempDir;
use tenure::rusqlite::types::Value;
use tenure::rusqlite::{Connection, Transaction, TransactionBehavior};
use tenure::{Claim, Error, LostReason, Tenure};
use tenure_sqlite::{SqliteOptions, SqliteStore};
use tenure_store::Clock;

pub(crate) struct Sqlite {
    pub(crate) app: Connection,
    tenure: Tenure,
    clock: Clock,
    _folder: TempDir,
}

impl App for Sqlite {
    type Tx<'a> = Transaction<'a>;

    async fn open() -> Sqlite {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.db");
        let clock = Clock::manual(START);
        let options = SqliteOptions::new().clock(clock.clone());
        let store = SqliteStore::open_with(&format!("sqlite:{}", file.display()), options).await.unwrap();
        let app = Connection::open(&file).unwrap();
        app.execute_batch("CREATE TABLE effect (n INTEGER)").unwrap();
        Sqlite { app, tenure: Tenure::on(store), clock, _folder: folder }
    }

    fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    fn clock(&self) -> Hand {
        Hand::Sqlite(self.clock.clone())
    }

    async fn begin(&mut self) -> Transaction<'_> {
        self.app.transaction_with_behavior(TransactionBehavior::Immediate).unwrap()
    }

    async fn write(tx: &mut Self::Tx<'_>) {
        tx.execute("INSERT INTO effect VALUES (1)", []).unwrap();
    }

    async fn commit(tx: Self::Tx<'_>) {
        tx.commit().unwrap();
    }

    async fn rollback(tx: Self::Tx<'_>) {
        tx.rollback().unwrap();
    }

    async fn effects(&mut self) -> i64 {
        self.app.query_row("SELECT count(*) FROM effect", [], |row| row.get(0)).unwrap()
    }

    async fn work_queue(&mut self) -> (Vec<String>, Vec<Row>) {
        let mut view = self.app.prepare("SELECT * FROM tenure_work_queue ORDER BY id").unwrap();
        let columns: Vec<String> = view.column_names().map(str::to_owned).collect();
        let cell = |value: Value| match value {
            Value::Null => "-".to_owned(),
            Value::Integer(n) => n.to_string(),
            Value::Text(text) => text,
            other => panic!("{other:?}"),
        };
        let width = columns.len();
        let row = view.query_map([], |row| (0..width).map(|i| row.get(i).map(cell)).collect()).unwrap();
        (columns, row.map(Result::unwrap).collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_nobody_takes_held_work_before_the_commit_even_past_the_lease() {
    let mut app = Sqlite::open().await;
    let (tenure, clock) = (app.tenure.clone(), app.clock());
    let job = claimed(&tenure).await;
    let mut tx = app.begin().await;
    tenure.verbs().held_in(&mut tx, job.id, "w", job.token).await.unwrap();
    clock.set(START.plus_ms(5_000)).await;
    let thief = {
        let tenure = tenure.clone();
        // Waits for the one writer that SQLite has.
        tokio::spawn(async move { tenure.verbs().claim(Claim::new("q", "thief")).await.unwrap().jobs })
    };
    Sqlite::write(&mut tx).await;
    assert_eq!(
        tenure.verbs().job(job.id).await.unwrap().unwrap().token,
        Some(job.token),
        "whatever the thief has tried"
    );
    assert!(!thief.is_finished());
    tx.commit().unwrap();
    assert_eq!(thief.await.unwrap()[0].id, job.id);
    assert_eq!(app.effects().await, 1, "the transaction was fenced to its end");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_refusal_leaves_the_transaction_usable() {
    let mut app = Sqlite::open().await;
    let (tenure, clock) = (app.tenure.clone(), app.clock());
    let held = claimed(&tenure).await;
    clock.set(START.plus_ms(1_000)).await;
    let mut tx = app.begin().await;
    let lost = tenure.verbs().complete_in(&mut tx, held.id, "w", held.token, None).await.unwrap_err();
    assert!(matches!(lost, Error::LeaseLost(LostReason::Expired)), "{lost}");
    tenure.enqueue(job()).in_tx(&mut tx).await.unwrap();
    tx.commit().unwrap();
    assert_eq!(queued(&tenure).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_savepoint_that_is_rolled_back_takes_the_job_with_it() {
    let mut app = Sqlite::open().await;
    let tenure = app.tenure.clone();
    let mut tx = app.begin().await;
    tenure.enqueue(job()).in_tx(&mut tx).await.unwrap();
    let mut savepoint = tx.savepoint().unwrap();
    tenure.enqueue(job()).in_tx(&mut savepoint).await.unwrap();
    savepoint.rollback().unwrap();
    drop(savepoint);
    tx.commit().unwrap();
    assert_eq!(queued(&tenure).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_transaction_begun_by_hand_may_be_held_by_a_task_of_any_thread() {
    let Sqlite { mut app, tenure, _folder, .. } = Sqlite::open().await;
    let task = tokio::spawn(async move {
        app.execute_batch("BEGIN IMMEDIATE").unwrap();
        tenure.enqueue(job()).in_tx(&mut app).await.unwrap();
        app.execute_batch("COMMIT").unwrap();
        let refused = tenure.enqueue(job()).in_tx(&mut app).await.unwrap_err();
        (tenure, refused)
    });
    let (tenure, refused) = task.await.unwrap();
    assert_eq!(queued(&tenure).await, 1);
    assert_eq!(refused.code(), "transaction_unusable");
    assert!(refused.to_string().contains("none is open"), "{refused}");
}
