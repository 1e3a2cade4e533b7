//! The suite of syncs on a real file, and what only a file can show.

use async_trait::async_trait;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::Time;
use tenure_core::sync::{Act, ChunkClaim, Ending, NewChunk, Plan, State, SyncClaim, Unit};
use tenure_sqlite::{SqliteOptions, SqliteStore, Synchronous, in_transaction, rusqlite};
use tenure_store::conformance::Harness;
use tenure_store::{Clock, Store, SyncStore};

/// A file of its own for each test, without waiting for the disk: the suite asks what is answered.
struct File {
    store: Arc<SqliteStore>,
    clock: Clock,
    dir: TempDir,
}

async fn handle(dir: &TempDir, clock: &Clock) -> Arc<SqliteStore> {
    let url = format!("sqlite:{}", dir.path().join("tenure.db").display());
    let options = SqliteOptions::new().clock(clock.clone()).synchronous(Synchronous::Off);
    Arc::new(SqliteStore::open_with(&url, options).await.unwrap())
}

#[async_trait]
impl Harness for File {
    async fn open(start: Time) -> File {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::manual(start));
        File { store: handle(&dir, &clock).await, clock, dir }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.clock.set(now);
    }

    async fn another(&self) -> Arc<dyn Store> {
        handle(&self.dir, &self.clock).await
    }
}

tenure_store::sync_conformance!(File);

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    let report = tenure_store::conformance::sync::walks::<File>(100..120, 1_200).await;
    let repeats_one = std::env::var_os("TENURE_SEED").is_some() || std::env::var_os("TENURE_STEPS").is_some();
    assert!(report.steps >= 20_000 || repeats_one, "only {} operations", report.steps);
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_views_speak_the_words_of_the_document() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let store = SqliteStore::open(&format!("sqlite:{}", path.display())).await.unwrap();
    let chunks = ["a", "b", "c"].map(NewChunk::new);
    let sync = store.plan_sync(Plan::new("m").chunks(chunks)).await.unwrap().unwrap().id;
    store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    let a = store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap().unwrap();
    let act = Act::Complete { row_count: Some(7), cursor: None };
    let ending = Ending { unit: Unit::chunk(sync, "a"), owner: "w".into(), token: a.token, act };
    store.finish_sync(ending).await.unwrap().unwrap();
    store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap().unwrap();
    let hand = rusqlite::Connection::open(&path).unwrap();
    let jobs =
        "SELECT state, locked_by, locked_until IS NOT NULL, completed_at, failed_at, error_message FROM sync_jobs";
    let told = hand.query_row(jobs, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    assert_eq!(told.unwrap(), ("RUNNING".to_owned(), "w".to_owned()));
    let sql = "SELECT state, locked_by, last_synced_at, row_count, completed_at, failed_at, error_message, locked_until
                 FROM sync_checkpoints WHERE matrix_id = 'm' ORDER BY chunk_hash";
    let mut select = hand.prepare(sql).unwrap();
    let states = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<u64>>(3)?))).unwrap();
    let states: Vec<_> = states.map(Result::unwrap).collect();
    let told: Vec<_> = states.iter().map(|(state, rows)| (state.as_str(), *rows)).collect();
    assert_eq!(told, [("COMPLETED", Some(7)), ("RUNNING", None), ("AVAILABLE", None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_damaged_rows_never_stop_the_recovery_of_the_others() {
    let file = File::open(Time(1_700_000_000_000_000)).await;
    let store = &file.store;
    let mut syncs = Vec::new();
    // The damaged ones run out first, and stand at the head of every sweep.
    for (matrix, lease_ms) in [("bad", 1_000), ("good", 2_000)] {
        let plan = Plan::new(matrix).chunks(["a"].map(NewChunk::new));
        let sync = store.plan_sync(plan).await.unwrap().unwrap().id;
        store.claim_sync(SyncClaim::new("w").matrix_id(matrix).lease_ms(lease_ms)).await.unwrap().unwrap();
        store.claim_chunk(ChunkClaim::new(sync, "w").lease_ms(lease_ms)).await.unwrap().unwrap();
        syncs.push(sync);
    }
    let hand = rusqlite::Connection::open(file.dir.path().join("tenure.db")).unwrap();
    for table in ["sync_job", "sync_chunk"] {
        hand.execute(&format!("UPDATE {table} SET reason = 'no such word' WHERE matrix_id = 'bad'"), []).unwrap();
    }
    file.set_clock(Time(1_700_000_000_000_000).plus_ms(2_000)).await;
    for leases in [1, 1, 0] {
        assert_eq!(store.recover_syncs(1).await.unwrap().leases, leases);
    }
    assert_eq!(store.sync_events(syncs[1], 10).await.unwrap().len(), 2, "the sync's and the chunk's");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_rows_and_completion_are_one_transaction() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    let store = SqliteStore::open(&format!("sqlite:{}", path.display())).await.unwrap();
    let plan = Plan::new("m").chunks(["a"].map(NewChunk::new));
    let sync = store.plan_sync(plan).await.unwrap().unwrap().id;
    let claimed = store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap().unwrap();
    let mut conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("CREATE TABLE copied (n INTEGER)").unwrap();
    let unit = Unit::chunk(sync, "a");
    let begin = rusqlite::TransactionBehavior::Immediate;
    let state = async || store.chunk(sync, "a").await.unwrap().unwrap().state;

    let tx = conn.transaction_with_behavior(begin).unwrap();
    tx.execute("INSERT INTO copied VALUES (1)", []).unwrap();
    in_transaction::chunk_held(&tx, &unit, "w", claimed.token).unwrap();
    in_transaction::complete_chunk(&tx, &unit, "w", claimed.token, Some(1), None).unwrap();
    tx.rollback().unwrap();
    assert_eq!(state().await, State::Running);

    let tx = conn.transaction_with_behavior(begin).unwrap();
    tx.execute("INSERT INTO copied VALUES (1)", []).unwrap();
    in_transaction::complete_chunk(&tx, &unit, "w", claimed.token, Some(1), None).unwrap();
    tx.commit().unwrap();
    assert_eq!(state().await, State::Completed);

    let tx = conn.transaction_with_behavior(begin).unwrap();
    let refused = in_transaction::complete_chunk(&tx, &unit, "stale", claimed.token, Some(1), None).unwrap_err();
    assert!(refused.to_string().starts_with("lease lost (unknown)"), "{refused}");
    assert!(in_transaction::chunk_held(&tx, &unit, "w", claimed.token).is_err(), "it has ended");
    drop(tx);
    let copied: i64 = conn.query_row("SELECT count(*) FROM copied", [], |row| row.get(0)).unwrap();
    assert_eq!(copied, 1);
}
