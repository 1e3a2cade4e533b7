//! An order and the job that ships it, in one transaction of the application's own: both are there, or neither.
//!
//! It runs on an SQLite file; on PostgreSQL the transaction is one of tokio-postgres, and nothing else changes.
//!
//! ```text
//! cargo run -p tenure --example order
//! ```

use tenure::rusqlite::{Connection, TransactionBehavior::Immediate};
use tenure::{Error, LostReason, NewJob, Status, Tenure};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.db");
    let tenure = Tenure::open(&format!("sqlite:{}", file.display())).await?;
    let mut shop = Connection::open(&file)?;
    shop.execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT NOT NULL)")?;
    let ship = |order: u32| NewJob::new("shipping", "ship", format!(r#"{{"order":{order}}}"#));

    // The payment is declined after both were written: neither is there.
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    tx.execute("INSERT INTO orders VALUES (1, 'new')", [])?;
    tenure.enqueue(ship(1)).in_tx(&mut tx).await?;
    tx.rollback()?;
    assert_eq!(orders(&shop)?, []);
    assert_eq!(tenure.queue("shipping").info().await.unwrap_err().code(), "not_found");

    // The next one is paid: both are.
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    tx.execute("INSERT INTO orders VALUES (2, 'new')", [])?;
    tenure.enqueue(ship(2)).in_tx(&mut tx).await?;
    tx.commit()?;
    assert_eq!(orders(&shop)?, [(2, "new".to_owned())]);

    // A worker ships it. That it was shipped and that the job is done is stored in one step, and only under the lease.
    let job = tenure.queue("shipping").claim().worker("worker-1").one().await?.expect("one waits");
    let stale = job.clone();
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    job.held_in(&mut tx).await?;
    tx.execute("UPDATE orders SET state = 'shipped' WHERE id = 2", [])?;
    let ended = job.complete_in(&mut tx, &()).await?;
    tx.commit()?;
    assert_eq!(ended.status, Status::Completed);
    assert_eq!(orders(&shop)?, [(2, "shipped".to_owned())]);

    // Whoever does not hold the lease gets no further than the guard.
    let mut tx = shop.transaction_with_behavior(Immediate)?;
    let refused = stale.held_in(&mut tx).await;
    assert!(matches!(refused, Err(Error::LeaseLost(LostReason::Finished))));
    tx.rollback()?;
    println!("orders: {:?}; job {} is {}", orders(&shop)?, stale.id, ended.status);
    Ok(())
}

fn orders(shop: &Connection) -> Result<Vec<(i64, String)>, tenure::rusqlite::Error> {
    let mut select = shop.prepare("SELECT id, state FROM orders ORDER BY id")?;
    select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
