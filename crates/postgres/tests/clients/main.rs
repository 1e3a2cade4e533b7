//! Programs that know nothing of this library take part in the queue by SQL, in their own transactions (Q10): psql,
//! Python with psycopg, Rust with sqlx. They are in `testing/clients`; all do the same, and leave the same behind.
//!
//! None of them is ever skipped: what a client needs is built or installed here, or the test fails and says what is
//! missing.

mod guide;
mod psql;
mod python;
mod sqlx;

use std::path::PathBuf;
use std::process::{Command, Output};
use tenure_core::queue::{Claim, ClaimedJob, NewJob, Status};
use tenure_postgres::PostgresStore;
use tenure_store::QueueStore;
use tenure_testing::TestDatabase;
use tokio_postgres::{Client, NoTls};

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A store, a table `orders` beside it, and three jobs that were given to worker-1.
struct Scene {
    database: TestDatabase,
    store: PostgresStore,
    sql: Client,
    /// Held.
    job: ClaimedJob,
    /// Held, and about to fail.
    poor: ClaimedJob,
    /// Lost to worker-2.
    stale: ClaimedJob,
}

impl Scene {
    async fn set() -> Scene {
        let database = TestDatabase::create().await.unwrap();
        let store = PostgresStore::open(database.url()).await.unwrap();
        let (sql, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        sql.batch_execute("create table orders (id integer primary key, state text not null)").await.unwrap();
        let stale = claimed(&store).await;
        // Runs out before its time, and is taken over.
        let expire = "update tenure.lease set expires_at = tenure.clock() where token = $1";
        sql.execute(expire, &[&stale.token.0]).await.unwrap();
        let taken = store.claim(Claim::new("work", "worker-2").lease_ms(600_000)).await.unwrap().jobs;
        assert_eq!(taken[0].id, stale.id);
        let (job, poor) = (claimed(&store).await, claimed(&store).await);
        Scene { database, store, sql, job, poor, stale }
    }

    /// What a client is told: names and values.
    fn told(&self) -> Vec<(&'static str, String)> {
        vec![
            ("JOB", self.job.id.0.to_string()),
            ("TOKEN", self.job.token.0.to_string()),
            ("POOR_JOB", self.poor.id.0.to_string()),
            ("POOR_TOKEN", self.poor.token.0.to_string()),
            ("STALE_JOB", self.stale.id.0.to_string()),
            ("STALE_TOKEN", self.stale.token.0.to_string()),
        ]
    }

    /// Runs a client that takes what it is told from its environment.
    fn run(&self, command: &mut Command) -> Output {
        let url = self.database.url();
        let output = command.env("DATABASE_URL", url).envs(self.told()).output();
        output.unwrap_or_else(|error| panic!("{command:?} does not run: {error}"))
    }

    /// Looks at what the client left behind.
    async fn left_in_order(&self) {
        let orders = self.sql.query("select id, state from orders order by id", &[]).await.unwrap();
        let orders: Vec<(i32, &str)> = orders.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(orders, [(2, "shipped")], "rolled back, committed, and nothing of the stale worker's");
        let jobs = self.store.claim(Claim::new("shipping", "w").max(10)).await.unwrap().jobs;
        let payloads: Vec<String> = jobs.iter().map(|job| job.payload.replace(' ', "")).collect();
        assert_eq!(payloads, [r#"{"order":2}"#]);
        let job = self.store.job(self.job.id).await.unwrap().unwrap();
        assert_eq!((job.status, job.result.as_deref()), (Status::Completed, Some("\"by train\"")));
        let poor = self.store.job(self.poor.id).await.unwrap().unwrap();
        assert_eq!((poor.status, poor.error.as_deref()), (Status::Queued, Some("out of paper")));
        let stale = self.store.job(self.stale.id).await.unwrap().unwrap();
        assert_eq!(stale.lease.unwrap().owner, "worker-2");
    }
}

/// A job for worker-1, for longer than any client takes.
async fn claimed(store: &PostgresStore) -> ClaimedJob {
    store.enqueue(vec![NewJob::new("work", "kind", "1")]).await.unwrap().unwrap();
    store.claim(Claim::new("work", "worker-1").lease_ms(600_000)).await.unwrap().jobs.remove(0)
}

/// The lines a client printed; it must have ended well.
fn lines(output: &Output) -> Vec<String> {
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "it ended with {}, having said\n{said}\n{complained}", output.status);
    said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
