//! Copies a table from SQLite to PostgreSQL in chunks, so that a copy which is killed and started again ends up identical.
//!
//! The rows of a chunk and its completion are one PostgreSQL transaction: either both are there or neither is. A worker whose
//! lease was lost meanwhile is refused at the completion, and its rows are rolled back with it.
//!
//! ```text
//! cargo run -p tenure --example copy_table -- source.db postgres://app@localhost/target
//! ```
//!
//! The source needs a table `item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)`. Start it on as many machines as you like.

use std::error::Error;
use std::time::Duration;
use tenure::Tenure;
use tenure::sync::{ChunkContext, NewChunk, Refused, State, Synced};
use tenure::{rusqlite, tokio_postgres};

type Failed = Box<dyn Error + Send + Sync>;

/// Rows in a chunk.
const CHUNK: i64 = 25;
/// Short, so that the chunk of a killed copy is soon free again. A real one leaves the defaults: 5 and 2 minutes.
const LEASE: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(source), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("usage: copy_table SOURCE.db postgres://…".into());
    };
    let tenure = Tenure::open(&target).await?;
    let connection = connect(&target).await?;
    connection.batch_execute("create table if not exists item (id bigint primary key, name text not null)").await?;

    // One chunk for each range of ids. If a copy was begun and not finished, this one goes on with it.
    let chunks =
        (0..=last_id(&source)? / CHUNK).map(|n| NewChunk::new(format!("{}-{}", n * CHUNK, (n + 1) * CHUNK - 1)));
    let sync = match tenure.matrix("item").plan(chunks).attempts_max(100).await {
        Ok(planned) => planned.id,
        Err(tenure::Error::Refused(tenure::Refused::Sync(Refused::Unfinished { id }))) => id,
        Err(error) => return Err(error.into()),
    };
    let copy = move |cx| copy(cx, source.clone(), target.clone());
    let done = tenure
        .sync_worker(sync, format!("copy:{}", std::process::id()))
        .on_progress(|info| eprintln!("{} of {} chunks", info.progress.completed, info.progress.planned()))
        .workers(2)
        .lease(LEASE)
        .chunk_lease(LEASE)
        .run_with(copy, std::future::pending())
        .await?;
    match done.sync.state {
        State::Completed => Ok(()),
        state => Err(format!("{state}: {}", done.sync.standing.error_message.unwrap_or_default()).into()),
    }
}

/// Copies one chunk and completes it, in one transaction.
async fn copy(cx: ChunkContext, source: String, target: String) -> Result<Synced, Failed> {
    let (from, to) = cx.unit().chunk_hash.split_once('-').ok_or("a chunk is named by its range of ids")?;
    let (from, to): (i64, i64) = (from.parse()?, to.parse()?);
    let rows = tokio::task::spawn_blocking(move || read(&source, from, to)).await??;
    let mut connection = connect(&target).await?;
    let mut transaction = connection.transaction().await?;
    // A chunk that is synced again, in a later pass, replaces what it wrote before.
    transaction.execute("delete from item where id between $1 and $2", &[&from, &to]).await?;
    for (id, name) in &rows {
        transaction.execute("insert into item (id, name) values ($1, $2)", &[id, name]).await?;
    }
    cx.complete_in(&mut transaction, rows.len() as u64).await?;
    transaction.commit().await?;
    println!("copied {}", cx.unit().chunk_hash);
    Ok(Synced::completed())
}

fn last_id(source: &str) -> Result<i64, Failed> {
    let source = rusqlite::Connection::open(source)?;
    Ok(source.query_row("SELECT coalesce(max(id), 0) FROM item", [], |row| row.get(0))?)
}

fn read(source: &str, from: i64, to: i64) -> Result<Vec<(i64, String)>, rusqlite::Error> {
    let source = rusqlite::Connection::open(source)?;
    let mut select = source.prepare("SELECT id, name FROM item WHERE id BETWEEN ?1 AND ?2 ORDER BY id")?;
    let rows = select.query_map([from, to], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

async fn connect(target: &str) -> Result<tokio_postgres::Client, Failed> {
    let (client, connection) = tokio_postgres::connect(target, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
