//! An order and the job that ships it, in one transaction of the application's own: both are there, or neither.
//!
//! It runs on an SQLite file; on PostgreSQL the transaction is one of tokio-postgres, and nothing else changes.
//!
//! ```text
//! cargo run -p tenure --example order
//! ```

use tenure::rusqlite::{Connection, TransactionBehavior::Immediate};
use tenure::{Claim, Error, LostReason, NewJob, Status, Tenure};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.db");
    let tenure = Tenure::open(&format!("sqlite:{}", file.display())).await?;
    let mut shop = Connection::open(&file)?;
    shop.execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT NOT NULL)")?;

    // The payment is declined after both were written: neither is there.
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    tx.execute("INSERT INTO orders VALUES (1, 'new')", [])?;
    tenure.enqueue_in(&mut tx, NewJob::new("shipping", "ship", r#"{"order":1}"#)).await?;
    tx.rollback()?;
    assert_eq!(orders(&shop)?, []);
    assert_eq!(tenure.queue("shipping").await?, None);

    // The next one is paid: both are.
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    tx.execute("INSERT INTO orders VALUES (2, 'new')", [])?;
    tenure.enqueue_in(&mut tx, NewJob::new("shipping", "ship", r#"{"order":2}"#)).await?;
    tx.commit()?;
    assert_eq!(orders(&shop)?, [(2, "new".to_owned())]);

    // A worker ships it. That it was shipped and that the job is done is stored in one step, and only under the lease.
    let job = tenure.claim(Claim::new("shipping", "worker-1")).await?.jobs.remove(0);
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    tenure.held_in(&mut tx, job.id, "worker-1", job.token).await?;
    tx.execute("UPDATE orders SET state = 'shipped' WHERE id = 2", [])?;
    let ended = tenure.complete_in(&mut tx, job.id, "worker-1", job.token, None).await?;
    tx.commit()?;
    assert_eq!(ended.status, Status::Completed);
    assert_eq!(orders(&shop)?, [(2, "shipped".to_owned())]);

    // Whoever does not hold the lease gets no further than the guard.
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    let refused = tenure.held_in(&mut tx, job.id, "worker-1", job.token).await;
    assert!(matches!(refused, Err(Error::LeaseLost(LostReason::Finished))));
    tx.rollback()?;
    println!("orders: {:?}; job {} is {}", orders(&shop)?, job.id, ended.status);
    Ok(())
}

fn orders(shop: &Connection) -> Result<Vec<(i64, String)>, tenure::rusqlite::Error> {
    let mut select = shop.prepare("SELECT id, state FROM orders ORDER BY id")?;
    select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
