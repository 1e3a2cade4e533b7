//! A transaction of another store than the one it is brought to: refused, and not touched.

use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{App, job};
use tenure::{CallerTransaction, Error, JobId, Tenure, Token};

async fn refused<T: CallerTransaction>(tenure: &Tenure, tx: &mut T, says: &str) {
    let (id, token) = (JobId(1), Token(1));
    let answers: [Result<(), Error>; 4] = [
        tenure.enqueue(job()).in_tx(tx).await.map(drop),
        tenure.verbs().complete_in(tx, id, "w", token, None).await.map(drop),
        tenure.verbs().fail_in(tx, id, "w", token, "boom").await.map(drop),
        tenure.verbs().held_in(tx, id, "w", token).await,
    ];
    for answer in answers {
        let error = answer.unwrap_err();
        assert_eq!(error.code(), "transaction_unusable");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_transaction_of_another_kind_of_store_is_refused() {
    let (mut postgres, mut sqlite) = (Postgres::open().await, Sqlite::open().await);
    let (on_postgres, on_sqlite) = (postgres.tenure().clone(), sqlite.tenure().clone());
    let memory = Tenure::open("memory:").await.unwrap();

    let mut tx = postgres.begin().await;
    Postgres::write(&mut tx).await;
    refused(&on_sqlite, &mut tx, "the store is the SQLite file").await;
    refused(&memory, &mut tx, "in the memory of a process").await;
    Postgres::commit(tx).await;
    assert_eq!(postgres.effects().await, 1, "it is as usable as before");

    let mut tx = sqlite.begin().await;
    Sqlite::write(&mut tx).await;
    refused(&on_postgres, &mut tx, "schema `tenure` of a PostgreSQL database").await;
    refused(&memory, &mut tx, "in the memory of a process").await;
    Sqlite::commit(tx).await;
    assert_eq!(sqlite.effects().await, 1, "it is as usable as before");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_transaction_on_another_file_is_refused() {
    let (one, mut other) = (Sqlite::open().await, Sqlite::open().await);
    let mut tx = other.begin().await;
    refused(one.tenure(), &mut tx, "and the store is the file").await;
    drop(tx);
    let in_memory = Tenure::open("sqlite::memory:").await.unwrap();
    let mut tx = other.begin().await;
    refused(&in_memory, &mut tx, "in the memory of a process").await;
}
