//! The suite of syncs on a real file, and what only a file can show.

#[path = "support/suite.rs"]
mod suite;

use std::sync::Arc;
use suite::File;
use tenure_core::Time;
use tenure_core::sync::{Act, Beat, ChunkClaim, Ending, NewChunk, Plan, Refused, State, SyncClaim, SyncFilter, Unit};
use tenure_sqlite::{SqliteStore, in_transaction, rusqlite};
use tenure_store::SyncStore;
use tenure_store::conformance::{Harness, SyncWalk, walks};

/// 2023-11-14T22:13:20Z.
const START: Time = Time(1_700_000_000_000_000);

tenure_store::conformance!(sync, File);

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    walks::<SyncWalk, File>(100..120, 1_200).await;
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
    let jobs = "SELECT state, locked_by, locked_until IS NOT NULL, completed_at, failed_at, error_message FROM tenure_sync_jobs";
    let told = hand.query_row(jobs, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    assert_eq!(told.unwrap(), ("RUNNING".to_owned(), "w".to_owned()));
    let sql = "SELECT state, locked_by, last_synced_at, row_count, completed_at, failed_at, error_message, locked_until
                 FROM tenure_sync_checkpoints WHERE matrix_id = 'm' ORDER BY chunk_hash";
    let mut select = hand.prepare(sql).unwrap();
    let states = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<u64>>(3)?))).unwrap();
    let states: Vec<_> = states.map(Result::unwrap).collect();
    let told: Vec<_> = states.iter().map(|(state, rows)| (state.as_str(), *rows)).collect();
    assert_eq!(told, [("COMPLETED", Some(7)), ("RUNNING", None), ("AVAILABLE", None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_damaged_rows_never_stop_the_recovery_of_the_others() {
    let file = File::open(START).await;
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
    let hand = file.raw();
    hand.execute_batch(
        "UPDATE tenure_sync_job SET reason = 'no such word' WHERE matrix_id = 'bad';
         UPDATE tenure_sync_chunk SET reason = 'no such word' WHERE matrix_id = 'bad';",
    )
    .unwrap();
    file.set_clock(START.plus_ms(2_000)).await;
    for leases in [1, 1, 0] {
        assert_eq!(store.recover_syncs(1).await.unwrap().leases, leases);
    }
    assert_eq!(store.sync_events(syncs[1], 10).await.unwrap().len(), 2, "the sync's and the chunk's");
    // Nor does it stop claims; who asks for it is told.
    assert_eq!(store.claim_sync(SyncClaim::new("v")).await.unwrap().map(|claimed| claimed.id), Some(syncs[1]));
    assert!(store.claim_sync(SyncClaim::new("v").matrix_id("bad")).await.is_err());
    hand.execute("UPDATE tenure_sync_job SET reason = NULL WHERE matrix_id = 'bad'", []).unwrap();
    store.add_chunks(syncs[0], vec![NewChunk::new("b")]).await.unwrap().unwrap();
    let claimed = store.claim_chunk(ChunkClaim::new(syncs[0], "v")).await.unwrap().unwrap();
    assert_eq!(claimed.chunk_hash, "b");
    assert!(store.claim_chunk(ChunkClaim::new(syncs[0], "v").chunk_hash("a")).await.is_err());
}

fn many(count: usize) -> Vec<NewChunk> {
    (0..count).map(|n| NewChunk::new(format!("h{n:06}"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_heartbeat_is_answered_while_a_large_plan_is_under_way() {
    let file = File::open(START).await;
    let store = &file.store;
    let small = store.plan_sync(Plan::new("small")).await.unwrap().unwrap().id;
    let held = store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    let hand = file.raw();
    hand.busy_timeout(std::time::Duration::ZERO).unwrap();
    let planner = Arc::clone(store);
    let planning =
        tokio::spawn(
            async move { planner.plan_sync(Plan::new("large").chunks(many(250_000))).await.unwrap().unwrap() },
        );
    // Somebody writes: that is the plan.
    while hand.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
        assert!(!planning.is_finished(), "the plan was never seen to be written");
    }
    store.heartbeat_sync(Beat::new(Unit::sync(small), "w", held.token)).await.unwrap().unwrap();
    let planned: i64 = hand
        .query_row("SELECT count(*) FROM tenure_sync_jobs WHERE matrix_id = 'large'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(planned, 0, "the heartbeat was answered after the whole plan");
    let planned = planning.await.unwrap();
    assert_eq!((planned.planned, planned.added), (250_000, 250_000));
    assert_eq!(store.sync(planned.id).await.unwrap().unwrap().progress.available, 250_000);
}

/// A pass over 5,000 chunks that has ended, one of them done and one failed.
async fn ended_pass(file: &File) {
    let store = &file.store;
    let sync = store.plan_sync(Plan::new("m").chunks(many(5_000))).await.unwrap().unwrap().id;
    let failed = Act::Fail { error: "it broke".into(), retry: false };
    for act in [Act::Complete { row_count: Some(7), cursor: Some("1".into()) }, failed] {
        let claimed = store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap().unwrap();
        let unit = Unit::chunk(sync, claimed.chunk_hash);
        store.finish_sync(Ending { unit, owner: "w".into(), token: claimed.token, act }).await.unwrap().unwrap();
    }
    store.cancel_sync(sync, None).await.unwrap().unwrap();
}

/// Every row that `select` finds, as text.
fn dump(hand: &rusqlite::Connection, select: &str) -> Vec<String> {
    let mut select = hand.prepare(select).unwrap();
    let columns = select.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        (0..columns).map(|at| row.get_ref(at).map(|value| format!("{value:?}"))).collect::<Result<Vec<_>, _>>()
    };
    select.query_map([], row).unwrap().map(|row| row.unwrap().join(" ")).collect()
}

const TABLES: [&str; 4] = [
    "SELECT * FROM tenure_sync_job ORDER BY 1, 2",
    "SELECT * FROM tenure_sync_chunk ORDER BY 1, 2",
    "SELECT * FROM tenure_sync_draft ORDER BY 1, 2",
    "SELECT * FROM tenure_sync_taken ORDER BY 1, 2",
];

/// No chunk after this one can be laid.
const DAMAGE: &str =
    "CREATE TRIGGER damage BEFORE UPDATE ON tenure_sync_chunk WHEN new.chunk_hash = 'h004500' AND new.sync <> 1
                      BEGIN SELECT raise(ABORT, 'damaged'); END";

#[tokio::test(flavor = "multi_thread")]
async fn s4_a_large_plan_that_meets_a_fault_leaves_everything_as_it_was() {
    let file = File::open(START).await;
    ended_pass(&file).await;
    let hand = file.raw();
    let before = TABLES.map(|table| dump(&hand, table));
    hand.execute_batch(DAMAGE).unwrap();
    let plan = || Plan::new("m").chunks(many(6_000));
    let met = file.store.plan_sync(plan()).await.unwrap_err();
    assert!(met.to_string().contains("damaged"), "{met}");
    hand.execute_batch("DROP TRIGGER damage").unwrap();
    let undone = async { while TABLES.map(|table| dump(&hand, table)) != before {} };
    tokio::time::timeout(std::time::Duration::from_secs(30), undone).await.expect("the plan is undone");

    let planned = file.store.plan_sync(plan()).await.unwrap().unwrap();
    assert_eq!((planned.planned, planned.added), (6_000, 6_000));
    let done = file.store.chunk(planned.id, "h000000").await.unwrap().unwrap();
    assert_eq!((done.state, done.row_count, done.last_synced_at), (State::Available, Some(7), Some(START)));
    // What was kept for the case of a fault is not kept for ever.
    for chunks in [3_000, 2_000, 0] {
        assert_eq!(file.store.prune_syncs(3_000).await.unwrap().chunks, chunks);
    }
    assert_eq!(dump(&hand, TABLES[1]).len(), 6_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_a_large_plan_whose_process_died_is_undone() {
    for pruned in [true, false] {
        let file = File::open(START).await;
        ended_pass(&file).await;
        let hand = file.raw();
        let before = TABLES.map(|table| dump(&hand, table));
        // Neither can the plan go on nor be undone: it stays as a process leaves it that dies.
        let dead = "CREATE TRIGGER dead BEFORE DELETE ON tenure_sync_taken BEGIN SELECT raise(ABORT, 'dead'); END";
        hand.execute_batch(&format!("{DAMAGE}; {dead}")).unwrap();
        let plan = || Plan::new("m").chunks(many(6_000));
        file.store.plan_sync(plan()).await.unwrap_err();
        // Answered behind the attempt to undo it.
        let refused = file.store.plan_sync(plan()).await.unwrap().unwrap_err();
        assert!(matches!(refused, Refused::Unfinished { .. }), "{refused:?}");
        hand.execute_batch("DROP TRIGGER damage; DROP TRIGGER dead").unwrap();
        assert_eq!(file.store.syncs(SyncFilter::default(), None, 10).await.unwrap().items.len(), 1, "nobody sees it");
        assert_eq!(file.store.prune_syncs(10_000).await.unwrap().chunks, 0, "its process may still live");

        file.set_clock(START.plus_ms(60_000)).await;
        if pruned {
            for chunks in [3_000, 1_000, 0] {
                assert_eq!(file.store.prune_syncs(3_000).await.unwrap().chunks, chunks);
            }
            assert!(TABLES.map(|table| dump(&hand, table)) == before, "it was not undone");
        }
        let planned = file.store.plan_sync(plan()).await.unwrap().unwrap();
        assert_eq!((planned.planned, planned.added), (6_000, 6_000));
        assert_eq!(file.store.sync(planned.id).await.unwrap().unwrap().progress.available, 6_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_two_large_plans_of_one_matrix_have_one_winner() {
    let file = File::open(START).await;
    let plan = || file.store.plan_sync(Plan::new("m").chunks(many(10_000)));
    let (first, second) = tokio::join!(plan(), plan());
    let planned = first.unwrap().unwrap();
    assert_eq!(second.unwrap(), Err(Refused::Unfinished { id: planned.id }));
    assert_eq!(file.store.sync(planned.id).await.unwrap().unwrap().progress.available, 10_000);
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
