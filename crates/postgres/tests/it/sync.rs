//! Syncs on PostgreSQL: the suite, the views, plain SQL in the caller's own transaction, and what locks may do.

use crate::support::{Postgres, connect, database};
use tenure_core::sync::{
    Act, Beat, ChunkClaim, ClaimedChunk, Denied, Ended, Ending, IdleReason, NewChunk, Plan, State, SyncClaim, SyncId,
    Unit,
};
use tenure_core::{LostReason, Token};
use tenure_postgres::PostgresStore;
use tenure_postgres::in_transaction::{chunk_held, complete_chunk};
use tenure_store::conformance::{SyncWalk, walks};
use tenure_store::{Place, SyncStore, TransactionError};

tenure_store::conformance!(sync, Postgres);

#[tokio::test(flavor = "multi_thread")]
async fn walks_agree_with_core() {
    walks::<SyncWalk, Postgres>(200..209, 1_200).await;
}

fn place() -> Place {
    Place::Schema("tenure".into())
}

async fn planned(store: &PostgresStore, hashes: &[&str]) -> SyncId {
    let chunks = hashes.iter().map(|hash| NewChunk::new(*hash));
    store.plan_sync(Plan::new("m").chunks(chunks)).await.unwrap().unwrap().id
}

async fn claimed(store: &PostgresStore, sync: SyncId) -> ClaimedChunk {
    store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap().unwrap()
}

fn completion(chunk: &ClaimedChunk) -> Ending {
    let unit = Unit::chunk(chunk.sync, &chunk.chunk_hash);
    Ending { unit, owner: "w".into(), token: chunk.token, act: Act::Complete { row_count: Some(7), cursor: None } }
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_views_speak_the_words_of_the_document() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let sync = planned(&store, &["a", "b", "c"]).await;
    store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    let a = claimed(&store, sync).await;
    store.finish_sync(completion(&a)).await.unwrap().unwrap();
    claimed(&store, sync).await;
    let hand = connect(database.url()).await;
    let view = "select state, locked_until, locked_by, completed_at, failed_at, error_message from tenure.sync_jobs";
    let row = hand.query_one(view, &[]).await.unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, Option<&str>>(2)), ("RUNNING", Some("w")));
    let view =
        "select state, row_count, locked_until, locked_by, completed_at, failed_at, error_message, last_synced_at
                  from tenure.sync_checkpoints where matrix_id = 'm' order by chunk_hash";
    let rows = hand.query(view, &[]).await.unwrap();
    let told: Vec<(&str, Option<i64>)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(told, [("COMPLETED", Some(7)), ("RUNNING", None), ("AVAILABLE", None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_rows_and_completion_are_one_transaction() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let sync = planned(&store, &["a"]).await;
    let chunk = claimed(&store, sync).await;
    let mut hand = connect(database.url()).await;
    hand.batch_execute("create table copied (n integer)").await.unwrap();
    let state = async || store.chunk(sync, "a").await.unwrap().unwrap().state;

    let tx = hand.transaction().await.unwrap();
    tx.execute("insert into copied values (1)", &[]).await.unwrap();
    chunk_held(&tx, &place(), &chunk, "w").await.unwrap();
    complete_chunk(&tx, &place(), &chunk, "w", Some(1), Some("{\"at\":1}")).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(state().await, State::Running);

    let tx = hand.transaction().await.unwrap();
    tx.execute("insert into copied values (1)", &[]).await.unwrap();
    complete_chunk(&tx, &place(), &chunk, "w", Some(1), Some("{\"at\":1}")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(state().await, State::Completed);
    assert_eq!(store.chunk(sync, "a").await.unwrap().unwrap().cursor.as_deref(), Some("{\"at\":1}"));

    for (owner, token, reason) in [("w", Token(1 << 50), LostReason::Unknown), ("v", chunk.token, LostReason::Unknown)]
    {
        let tx = hand.transaction().await.unwrap();
        tx.execute("insert into copied values (2)", &[]).await.unwrap();
        let stale = ClaimedChunk { token, ..chunk.clone() };
        let refused = complete_chunk(&tx, &place(), &stale, owner, Some(1), None).await.unwrap_err();
        assert!(matches!(refused, TransactionError::LeaseLost(lost) if lost == reason), "{refused}");
    }
    let copied: i64 = hand.query_one("select count(*) from copied", &[]).await.unwrap().get(0);
    assert_eq!(copied, 1, "what a stale worker wrote was rolled back with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_bad_input_from_plain_sql_is_told_and_changes_nothing() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let sync = planned(&store, &["a"]).await;
    let chunk = claimed(&store, sync).await;
    let hand = connect(database.url()).await;
    for (call, code) in [
        ("tenure.complete_chunk('m', 'a', 'w', $1, -1)", "TE010"),
        ("tenure.complete_chunk('m', 'a', 'w', $1, 1, '{')", "TE010"),
        ("tenure.complete_chunk('m', 'nope', 'w', $1)", "TE020"),
        ("tenure.complete_chunk('n', 'a', 'w', $1)", "TE020"),
        ("tenure.chunk_held('n', 'a', 'w', $1)", "TE020"),
    ] {
        let met = hand.query_one(&format!("select {call}"), &[&chunk.token.0]).await.unwrap_err();
        assert_eq!(met.code().map(tokio_postgres::error::SqlState::code), Some(code), "{call}: {met:?}");
    }
    assert_eq!(store.chunk(sync, "a").await.unwrap().unwrap().state, State::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_held_chunk_is_kept_from_others_and_its_heartbeat_goes_on() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let sync = planned(&store, &["a"]).await;
    let claim = ChunkClaim::new(sync, "w").lease_ms(100);
    let chunk = store.claim_chunk(claim.clone()).await.unwrap().unwrap();
    let mut hand = connect(database.url()).await;
    let tx = hand.transaction().await.unwrap();
    chunk_held(&tx, &place(), &chunk, "w").await.unwrap();
    let beat = || Beat::new(Unit::chunk(sync, "a"), "w", chunk.token);
    assert!(store.heartbeat_sync(beat()).await.unwrap().is_ok(), "the row is only key-shared");
    // Wait until the lease has run out, by the store's own word.
    while store.chunk(sync, "a").await.unwrap().unwrap().state != State::Expired {}
    let idle = store.claim_chunk(claim.clone()).await.unwrap().unwrap_err();
    assert_eq!(idle.reason, IdleReason::Held, "it is expired, and still kept");
    tx.commit().await.unwrap();
    assert!(store.claim_chunk(claim).await.unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_completion_in_a_transaction_does_not_block_the_syncs_heartbeat() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let sync = planned(&store, &["a", "b"]).await;
    let held = store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    let chunk = claimed(&store, sync).await;
    let mut hand = connect(database.url()).await;
    let tx = hand.transaction().await.unwrap();
    complete_chunk(&tx, &place(), &chunk, "w", None, None).await.unwrap();
    let beat = Beat::new(Unit::sync(sync), "w", held.token);
    assert!(store.heartbeat_sync(beat).await.unwrap().is_ok());
    assert_eq!(claimed(&store, sync).await.chunk_hash, "b", "nor claims of other chunks");
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_crowd_syncs_every_chunk_once() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let hashes: Vec<String> = (0..200).map(|n| format!("h{n:03}")).collect();
    let sync = planned(&store, &hashes.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let store = PostgresStore::open(database.url()).await.unwrap();
        tasks.push(tokio::spawn(async move {
            let mut done = 0;
            loop {
                match store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap() {
                    Ok(chunk) => {
                        let ended = store.finish_sync(completion(&chunk)).await.unwrap();
                        assert_eq!(ended, Ok(Ended { state: State::Completed, already: false }));
                        done += 1;
                    }
                    Err(idle) if idle.reason == IdleReason::Held => tokio::task::yield_now().await,
                    Err(idle) => {
                        assert_eq!(idle.reason, IdleReason::Done);
                        return done;
                    }
                }
            }
        }));
    }
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    assert_eq!(done, 200);
    let held = store.claim_sync(SyncClaim::new("w")).await.unwrap().unwrap();
    let unit = Unit::sync(sync);
    let ended =
        store.finish_sync(Ending { unit, owner: "w".into(), token: held.token, act: Act::done() }).await.unwrap();
    assert!(!matches!(ended, Err(Denied::Refused(_))), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_the_next_chunk_costs_no_walk_over_those_that_are_done() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let hashes: Vec<String> = (0..5_000).map(|n| format!("h{n:04}")).collect();
    let sync = planned(&store, &hashes.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let hand = connect(database.url()).await;
    // As good as all is done, and the planner knows of it; then nothing, as if it had last looked before the first claim.
    let done = "update tenure.sync_chunk set claimed_at = now(), completed_at = now() where ord < 4990";
    for statements in [[done, "vacuum analyze tenure.sync_chunk"], ["select 1", "delete from pg_statistic"]] {
        for statement in statements {
            hand.batch_execute(statement).await.unwrap();
        }
        // Another process: without a hint where the last claim ended.
        let store = PostgresStore::open(database.url()).await.unwrap();
        let fetched = async || {
            hand.batch_execute("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()").await.unwrap();
            let read = "select sum(idx_tup_read)::bigint from pg_stat_user_indexes where relname = 'sync_chunk'";
            hand.query_one(read, &[]).await.unwrap().get::<_, Option<i64>>(0).unwrap_or(0)
        };
        // The first call of a session plans; the sixth may settle on a plan for good. None of them may walk.
        store.prune_syncs(1).await.unwrap();
        let before = fetched().await;
        for _ in 0..4 {
            let claim = store.claim_chunk(ChunkClaim::new(sync, "w")).await.unwrap().unwrap();
            store.finish_sync(completion(&claim)).await.unwrap().unwrap();
        }
        drop(store);
        let read = fetched().await - before;
        assert!(read < 2_000, "four claims read {read} index entries");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_recovery_costs_no_walk_over_what_did_not_run_out() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let hashes: Vec<String> = (0..5_000).map(|n| format!("h{n:04}")).collect();
    planned(&store, &hashes.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let hand = connect(database.url()).await;
    // Half is done, half is held; the planner knows of it, or knows nothing.
    let load = "update tenure.sync_chunk set claimed_at = now(), completed_at = now() where ord <= 2500;
                update tenure.sync_chunk set claimed_at = now(), token = ord, locked_by = 'w', lease_ms = 1000,
                                             locked_until = now() + interval '1 hour' where ord > 2500;
                insert into tenure.sync_job (created_at, completed_at, priority, attempts_max, matrix_id)
                select now(), now(), 0, 5, 'old' || n from generate_series(1, 5000) n";
    hand.batch_execute(load).await.unwrap();
    for statement in ["vacuum analyze tenure.sync_chunk, tenure.sync_job", "delete from pg_statistic"] {
        hand.batch_execute(statement).await.unwrap();
        let out =
            "update tenure.sync_chunk set locked_until = now() - interval '1 second' where ord between 3000 and 3002;
                   update tenure.sync_chunk set told = false where told";
        hand.batch_execute(out).await.unwrap();
        let read = async || {
            hand.batch_execute("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()").await.unwrap();
            let read = "select (select sum(seq_tup_read)::bigint from pg_stat_user_tables where relname like 'sync%')
                             + (select sum(idx_tup_read)::bigint from pg_stat_user_indexes where relname like 'sync%')";
            hand.query_one(read, &[]).await.unwrap().get::<_, i64>(0)
        };
        let store = PostgresStore::open(database.url()).await.unwrap();
        let before = read().await;
        for expected in [2, 1, 0, 0, 0, 0, 0, 0] {
            assert_eq!(store.recover_syncs(2).await.unwrap().leases, expected);
        }
        drop(store);
        let read = read().await - before;
        assert!(read < 2_000, "eight sweeps read {read} rows and entries after {statement}");
    }
}
