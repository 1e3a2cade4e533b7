//! A PostgreSQL store on a clock that the test moves.

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_postgres::PostgresStore;
use tenure_store::Store;
use tenure_store::conformance::Harness;
use tenure_testing::{PostgresServer, ServerOptions, TestDatabase};
use tokio_postgres::{Client, NoTls};

/// A database of its own, with a hand on its clock.
pub(crate) struct Postgres {
    pub(crate) database: TestDatabase,
    store: Arc<PostgresStore>,
    hand: Client,
}

/// The store's clock, replaced as L5 allows: a sequence, because its value is seen at once and outside transactions.
const MANUAL_CLOCK: &str = "
    create sequence tenure.test_clock;
    create or replace function tenure.clock() returns timestamptz language sql volatile as $$
        select timestamptz 'epoch' + (last_value / 1000000) * interval '1 second'
               + (last_value % 1000000) * interval '1 microsecond'
          from tenure.test_clock
    $$";

#[async_trait]
impl Harness for Postgres {
    async fn open(start: Time) -> Postgres {
        let database = database().await;
        let url = database.url().to_owned();
        Postgres::open_at(database, &url, start).await
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.hand.query("select setval('tenure.test_clock', $1)", &[&now.0]).await.expect("the clock can be set");
    }

    async fn another(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(self.database.url()).await.expect("the same database opens twice"))
    }
}

impl Postgres {
    /// The store of `database`, reached at `url`, on a clock that stands still at `start`.
    pub(crate) async fn open_at(database: TestDatabase, url: &str, start: Time) -> Postgres {
        let store = PostgresStore::open(url).await.expect("a database with the schema opens");
        let hand = connect(database.url()).await;
        hand.batch_execute(MANUAL_CLOCK).await.expect("the clock can be replaced");
        let postgres = Postgres { database, store: Arc::new(store), hand };
        postgres.set_clock(start).await;
        postgres
    }
}

/// A durable server of one's own, on TCP too, with a store in its database `work`.
pub(crate) struct Durable {
    pub(crate) server: PostgresServer,
    /// Reached through the socket, which no fault on TCP concerns.
    pub(crate) store: PostgresStore,
}

impl Durable {
    pub(crate) async fn start() -> Durable {
        let start = || PostgresServer::start(ServerOptions::durable().tcp());
        let server = tokio::task::spawn_blocking(start).await.expect("no panic").expect("a server of one's own");
        let hand = connect(&server.url("postgres")).await;
        hand.batch_execute("create database work").await.expect("a database");
        let store = PostgresStore::open(&server.url("work")).await.expect("an empty database opens");
        Durable { server, store }
    }

    pub(crate) fn tcp_url(&self) -> String {
        self.server.tcp_url("work").expect("a server on TCP")
    }
}

/// A database that has the schema. Copied from a template, which is many times quicker than migrating each.
pub(crate) async fn database() -> TestDatabase {
    let schema = async |url: String| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        PostgresStore::migrate(&url).await?;
        forget_the_server(&url).await?;
        Ok(())
    };
    TestDatabase::create_from_template("queue", schema).await.expect("a database for the test")
}

/// For a template: its copies are stores that were just made, not copies of one store whose tokens must differ (L2).
pub(crate) async fn forget_the_server(url: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute("delete from tenure.epoch").await?;
    drop(client);
    connection.await.expect("no panic")
}

/// A plain connection beside the store's.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    client
}

/// The address `url` for the login role `user`.
pub(crate) fn url_as(url: &str, user: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("an address");
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let host = rest[..end].rsplit_once('@').map_or(&rest[..end], |(_, host)| host);
    format!("{scheme}://{user}@{host}{}", &rest[end..])
}

/// A plain connection of another login role, whom the test server trusts by its name.
pub(crate) async fn connect_as(url: &str, user: &str) -> Client {
    connect(&url_as(url, user)).await
}

/// Returns once a session of the store waits for a lock. Asked inside a transaction, the server would go on telling what it
/// told at first.
pub(crate) async fn blocked(rival: &Client) {
    let waiting = "select 1 from pg_stat_activity
                    where datname = current_database() and application_name = 'tenure' and wait_event_type = 'Lock'";
    let look = async {
        while rival.query(waiting, &[]).await.expect("the server is there").is_empty() {
            rival.query("select pg_stat_clear_snapshot()", &[]).await.expect("the server is there");
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), look).await.expect("somebody waits for a lock");
}
