//! What a test database promises: it is one's own, and it goes away.

use std::sync::atomic::{AtomicU32, Ordering};

use tenure_testing::{DatabaseError, TestDatabase};
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn databases_named(client: &Client, name: &str) -> i64 {
    client.query_one("SELECT count(*) FROM pg_database WHERE datname = $1", &[&name]).await.unwrap().get(0)
}

#[tokio::test]
async fn two_databases_share_nothing() {
    let (one, other) = (TestDatabase::create().await.unwrap(), TestDatabase::create().await.unwrap());
    connect(one.url()).await.batch_execute("CREATE TABLE mine ()").await.unwrap();
    let other = connect(other.url()).await;
    let seen: bool = other.query_one("SELECT to_regclass('mine') IS NOT NULL", &[]).await.unwrap().get(0);
    assert!(!seen);
}

#[tokio::test]
async fn a_dropped_database_is_gone_though_a_connection_was_open() {
    let (one, witness) = (TestDatabase::create().await.unwrap(), TestDatabase::create().await.unwrap());
    let name = one.name().to_owned();
    let _open = connect(one.url()).await;
    let witness = connect(witness.url()).await;
    assert_eq!(databases_named(&witness, &name).await, 1);
    drop(one);
    assert_eq!(databases_named(&witness, &name).await, 0);
}

#[tokio::test]
async fn a_template_is_prepared_once_and_copied_for_each() {
    static PREPARED: AtomicU32 = AtomicU32::new(0);
    let template = format!("copied_{}", std::process::id());
    let create = || {
        TestDatabase::create_from_template(&template, async |url| {
            PREPARED.fetch_add(1, Ordering::Relaxed);
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
            let connection = tokio::spawn(connection);
            client.batch_execute("CREATE TABLE made AS SELECT 7 AS number").await?;
            drop(client);
            Ok(connection.await??)
        })
    };
    let (one, other) = tokio::join!(create(), create());
    for database in [one.unwrap(), other.unwrap()] {
        let row = connect(database.url()).await.query_one("SELECT number FROM made", &[]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), 7);
    }
    assert_eq!(PREPARED.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_template_that_failed_is_prepared_anew() {
    let template = format!("failed_{}", std::process::id());
    let failed = TestDatabase::create_from_template(&template, async |_| Err("not today".into())).await;
    assert!(matches!(failed, Err(DatabaseError::Prepare(_))), "{failed:?}");
    TestDatabase::create_from_template(&template, async |_| Ok(())).await.unwrap();
}

#[tokio::test]
async fn a_template_name_that_would_need_quotes_is_refused() {
    let refused = TestDatabase::create_from_template("a\"; DROP", async |_| Ok(())).await;
    assert!(matches!(refused, Err(DatabaseError::TemplateName { .. })), "{refused:?}");
}
