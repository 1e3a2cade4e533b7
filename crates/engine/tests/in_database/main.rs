//! What an application does that keeps its tables in the database of the store: transactions of its own (Q10), and
//! reading by SQL (Q11). The same claims for every driver, and what each has of its own.

mod both;
mod foreign;
mod postgres;
mod sqlite;
mod views;

use std::sync::Arc;
use tenure::tokio_postgres::Client;
use tenure::{CallerTransaction, Claim, ClaimedJob, NewJob, Tenure, Time};
use tenure_store::Clock;

/// 2023-11-14T22:13:20Z.
const START: Time = Time(1_700_000_000_000_000);

/// An application whose table `effect` is in the database of the store. The store's clock stands still until moved.
trait App: Sized {
    type Tx<'a>: CallerTransaction
    where
        Self: 'a;

    async fn open() -> Self;
    fn tenure(&self) -> &Tenure;
    fn clock(&self) -> Hand;
    async fn begin(&mut self) -> Self::Tx<'_>;
    /// Writes a row of the application's own.
    async fn write(tx: &mut Self::Tx<'_>);
    async fn commit(tx: Self::Tx<'_>);
    async fn rollback(tx: Self::Tx<'_>);
    /// How many rows were committed.
    async fn effects(&mut self) -> i64;
    /// The columns of the view `work_queue`, and its rows by id, instants in RFC 3339.
    async fn work_queue(&mut self) -> (Vec<String>, Vec<Row>);
}

/// Cells as text; `-` for null.
type Row = Vec<String>;

/// A hand on the store's clock, which can be moved while a transaction is open.
enum Hand {
    Sqlite(Clock),
    Postgres(Arc<Client>),
}

impl Hand {
    async fn set(&self, now: Time) {
        match self {
            Hand::Sqlite(clock) => clock.set(now),
            Hand::Postgres(client) => {
                client.query("select setval('tenure.test_clock', $1)", &[&now.0]).await.unwrap();
            }
        }
    }
}

fn job() -> NewJob {
    NewJob::new("q", "kind", "1")
}

/// A job held by `w` for a second.
async fn claimed(tenure: &Tenure) -> ClaimedJob {
    tenure.enqueue(job()).await.unwrap();
    tenure.verbs().claim(Claim::new("q", "w").lease_ms(1_000)).await.unwrap().jobs.remove(0)
}

async fn queued(tenure: &Tenure) -> u64 {
    tenure.verbs().queue("q").await.unwrap().map_or(0, |queue| queue.counts.queued)
}
