//! docs/guide/syncs.md

use std::time::Duration;
use tenure::Tenure;
use tenure::rusqlite::{Connection, TransactionBehavior::Immediate};
use tenure::sync::{ClaimedChunk, NewChunk, State};

/// How many rows.
async fn copy_chunk(chunk: ClaimedChunk) -> Result<u64, serde_json::Error> {
    let (first, last): (u64, u64) = serde_json::from_str(&chunk.payload)?;
    Ok(last - first + 1)
}

#[tokio::test]
async fn a_whole_sync_is_planned_and_worked_off() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;

    let range = |n| NewChunk::new(format!("orders-{n}")).payload(format!("[{},{}]", n * 5_000, n * 5_000 + 4_999));
    let sync = tenure.matrix("orders").plan((0..100).map(range)).await?.id;

    let worker = tenure.sync_worker(sync, "worker-1").workers(8); // on as many machines as you like
    let done = worker.run(copy_chunk).await?; // async fn(ClaimedChunk) -> Result<u64, _>: how many rows

    assert_eq!((done.sync.state, done.progress.rows), (State::Completed, 500_000));

    let plan = tenure.matrix("orders").plan((0..100).map(range));
    let next = plan.skip_if_synced_within(Duration::from_secs(86_400)).priority(5).await?;

    assert_eq!((next.planned, next.skipped), (100, 100));
    Ok(())
}

#[tokio::test]
async fn chunks_and_the_sync_are_claimed_by_hand() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let id = tenure.matrix("orders").plan(["2026-01", "2026-02"].map(NewChunk::new)).await?.id;

    let sync = tenure.sync(id);
    while let Some(chunk) = sync.claim().worker("worker-1").one().await? {
        chunk.heartbeat().await?;
        chunk.complete(5_000).await?; // so many rows; or fail(error), release()
    }
    if let Some(held) = tenure.matrix("orders").claim().worker("worker-1").one().await? {
        held.complete().await?; // refused while a chunk is not done
    }

    assert_eq!(sync.info().await?.sync.state, State::Completed);
    Ok(())
}

#[tokio::test]
async fn rows_and_completion_are_one_commit() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("app.db");
    let tenure = Tenure::open(&format!("sqlite:{}", file.display())).await?;
    let mut app = Connection::open(&file)?;
    app.execute_batch("CREATE TABLE item (id INTEGER PRIMARY KEY)")?;
    let id = tenure.matrix("item").plan([NewChunk::new("0-99")]).await?.id;

    let chunk = tenure.sync(id).claim().worker("worker-1").one().await?.expect("one waits");
    let mut tx = app.transaction_with_behavior(Immediate)?;
    let rows = tx.execute("INSERT INTO item VALUES (7), (8)", [])?;
    chunk.complete_in(&mut tx, rows as u64).await?; // last, just before the commit
    tx.commit()?;

    assert_eq!(tenure.sync(id).info().await?.progress.rows, 2);
    Ok(())
}
