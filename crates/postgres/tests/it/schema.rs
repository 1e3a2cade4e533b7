//! The schema: created once, upgraded on request, refused when it is newer; and what it promises to plain SQL.

use crate::support::{connect, database};
use tenure_core::Token;
use tenure_core::queue::{Act, Claim, Ending, NewJob};
use tenure_postgres::PostgresStore;
use tenure_store::{Level, Outcome, QueueStore, StoreError, Upkeep};
use tenure_testing::{PostgresServer, ServerOptions, StopMode, TestDatabase};
use tokio_postgres::Client;

async fn token(store: &PostgresStore) -> Token {
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    store.claim(Claim::new("q", "w")).await.unwrap().jobs[0].token
}

#[tokio::test(flavor = "multi_thread")]
async fn c18_eight_openings_of_an_empty_database_make_one_schema() {
    let database = TestDatabase::create().await.unwrap();
    let openings: Vec<_> = (0..8)
        .map(|_| {
            let url = database.url().to_owned();
            tokio::spawn(async move { PostgresStore::open(&url).await.map(drop) })
        })
        .collect();
    for opening in openings {
        opening.await.unwrap().unwrap();
    }
    let hand = connect(database.url()).await;
    let each_once = "select count(*) = max(version) from tenure.migration";
    assert!(hand.query_one(each_once, &[]).await.unwrap().get::<_, bool>(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn c19_a_newer_schema_is_refused_by_name() {
    let database = database().await;
    let hand = connect(database.url()).await;
    hand.batch_execute("insert into tenure.migration (version, name) values (99, '0099_tomorrow')").await.unwrap();
    let refused = PostgresStore::open(database.url()).await.unwrap_err();
    assert!(matches!(refused, StoreError::SchemaNewer { found: 99, .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn x_an_older_schema_waits_for_migrate() {
    let database = TestDatabase::create().await.unwrap();
    let hand = connect(database.url()).await;
    hand.batch_execute(
        "create schema tenure;
         create table tenure.migration (version integer primary key, name text not null,
                                        applied_at timestamptz not null default now())",
    )
    .await
    .unwrap();
    let refused = PostgresStore::open(database.url()).await.unwrap_err();
    assert!(matches!(refused, StoreError::SchemaOlder { found: 0, .. }), "{refused}");
    PostgresStore::migrate(database.url()).await.unwrap();
    token(&PostgresStore::open(database.url()).await.unwrap()).await;
}

/// What every function of the schema says, by its signature.
async fn functions(hand: &Client) -> Vec<(String, String)> {
    let sql = "select p.oid::regprocedure::text, pg_get_functiondef(p.oid) from pg_proc p
                where p.pronamespace = 'tenure'::regnamespace order by 1";
    hand.query(sql, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// As an earlier release left them: another body, other arguments, one that is no longer there.
const EARLIER: &str = "
    create or replace function tenure.draw_tokens(n integer) returns bigint[] language sql as 'select array[7::bigint]';
    create function tenure.draw_tokens(n bigint) returns bigint[] language sql as 'select array[8::bigint]';
    create function tenure.forgotten(t tenure.job) returns bigint language sql as 'select 9::bigint';
    update tenure.functions set release = '0.0.1', digest = 'earlier', names = names || 'tenure.forgotten(tenure.job)'::text";

#[tokio::test(flavor = "multi_thread")]
async fn x_functions_of_an_earlier_release_wait_for_migrate() {
    let database = database().await;
    let hand = connect(database.url()).await;
    let before = functions(&hand).await;
    hand.batch_execute(EARLIER).await.unwrap();
    let refused = PostgresStore::open(database.url()).await.unwrap_err();
    assert!(matches!(refused, StoreError::FunctionsDiffer { .. }), "{refused}");
    assert!(refused.to_string().contains("0.0.1 (earlier)"), "{refused}");
    assert_eq!(refused.code(), "schema_older");
    PostgresStore::migrate(database.url()).await.unwrap();
    assert_eq!(functions(&hand).await, before);
    token(&PostgresStore::open(database.url()).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn x_a_function_that_answered_otherwise_is_replaced_with_the_rights_it_had() {
    let database = database().await;
    let hand = connect(database.url()).await;
    let before = functions(&hand).await;
    hand.batch_execute(EARLIER).await.unwrap();
    hand.batch_execute(
        "drop function tenure.draw_tokens(integer);
         create function tenure.draw_tokens(n integer) returns text language sql as 'select null::text';
         revoke execute on function tenure.draw_tokens(integer) from public;
         grant execute on function tenure.draw_tokens(integer) to pg_monitor;
         create function tenure.of_the_user() returns integer language sql as 'select 1'",
    )
    .await
    .unwrap();
    PostgresStore::migrate(database.url()).await.unwrap();
    let mine =
        "select tenure.of_the_user(), has_function_privilege('pg_monitor', 'tenure.draw_tokens(integer)', 'execute'),
                       has_function_privilege('pg_read_all_stats', 'tenure.draw_tokens(integer)', 'execute')";
    let row = hand.query_one(mine, &[]).await.unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, bool>(1), row.get::<_, bool>(2)), (1, true, false));
    hand.batch_execute("drop function tenure.of_the_user()").await.unwrap();
    assert_eq!(functions(&hand).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn x_functions_of_a_later_release_are_never_replaced_by_an_earlier_one() {
    let database = database().await;
    let hand = connect(database.url()).await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    hand.batch_execute("update tenure.functions set release = '99.0.0', digest = 'tomorrow'").await.unwrap();
    for refused in
        [PostgresStore::open(database.url()).await.map(drop), PostgresStore::migrate(database.url()).await.map(drop)]
    {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, StoreError::FunctionsNewer { .. }), "{refused}");
        assert_eq!(refused.code(), "schema_newer");
    }
    let digest = hand.query_one("select digest from tenure.functions", &[]).await.unwrap();
    assert_eq!(digest.get::<_, &str>(0), "tomorrow");
    // One that was opened before goes on, and its doctor says so.
    let findings = store.examine().await.unwrap();
    let functions = findings.iter().find(|finding| finding.topic == "functions").unwrap();
    assert_eq!(functions.level, Level::Wrong, "{functions:?}");
    assert!(functions.found.contains("99.0.0"), "{functions:?}");
}

/// By hand, or by a restore of some.
#[tokio::test(flavor = "multi_thread")]
async fn x_a_function_that_is_missing_is_told_and_put_back_by_migrate() {
    let database = database().await;
    let hand = connect(database.url()).await;
    for one in ["tenure.held(bigint, text, bigint)", "tenure.installed()"] {
        hand.batch_execute(&format!("drop function {one}")).await.unwrap();
        let refused = PostgresStore::open(database.url()).await.unwrap_err();
        assert!(matches!(refused, StoreError::FunctionsDiffer { .. }), "{one}: {refused}");
        PostgresStore::migrate(database.url()).await.unwrap();
        PostgresStore::open(database.url()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_schemas_of_one_database_are_two_stores() {
    let database = TestDatabase::create().await.unwrap();
    let other = format!("{}{}schema=other_work", database.url(), if database.url().contains('?') { "&" } else { "?" });
    let (first, second) =
        (PostgresStore::open(database.url()).await.unwrap(), PostgresStore::open(&other).await.unwrap());
    first.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    assert!(second.claim(Claim::new("q", "w")).await.unwrap().jobs.is_empty());
    assert_eq!(first.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_a_server_that_is_not_the_one_that_drew_the_tokens_raises_the_epoch() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let hand = connect(database.url()).await;
    let (mut last, mut epoch) = (token(&store).await, store.epoch().await.unwrap());
    for sign in [
        "timeline = '000000AA'",
        "system_identifier = 1, server_started_at = 'epoch'",
        // A dump put back into the same database.
        "relation = 1",
        // A copy of the whole database.
        "database = 1",
    ] {
        hand.batch_execute(&format!("update tenure.epoch set {sign}")).await.unwrap();
        let (next, raised) = (token(&store).await, store.epoch().await.unwrap());
        assert_eq!(raised.count, epoch.count + 1, "{sign}");
        assert!(last < raised.base && raised.base < next, "{sign}");
        (last, epoch) = (next, raised);
    }
    // A restart alone is no other server.
    hand.batch_execute("update tenure.epoch set server_started_at = 'epoch'").await.unwrap();
    assert_eq!(token(&store).await, Token(last.0 + 1));
    assert_eq!(store.epoch().await.unwrap(), epoch);
}

#[tokio::test(flavor = "multi_thread")]
async fn c8_nothing_acknowledged_is_lost_and_no_token_repeats_over_crashes_of_the_server() {
    let server = PostgresServer::start(ServerOptions::durable()).unwrap();
    let hand = connect(&server.url("postgres")).await;
    hand.batch_execute("create database work").await.unwrap();
    let store = PostgresStore::open(&server.url("work")).await.unwrap();
    let mut acknowledged = Vec::new();
    let mut last = Token(0);
    for _ in 0..5 {
        for _ in 0..20 {
            let enqueued = store.enqueue(vec![NewJob::new("kept", "k", "1")]).await.unwrap().unwrap();
            acknowledged.push(enqueued[0].id);
            let next = token(&store).await;
            assert!(next > last);
            last = next;
        }
        server.restart(StopMode::Immediate).unwrap();
        // The first calls may meet the connections that died with the server.
        while store.now().await.is_err() {}
    }
    for id in acknowledged {
        assert!(store.job(id).await.unwrap().is_some(), "job {id} was acknowledged");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_a_database_with_another_default_isolation_works() {
    let database = database().await;
    let hand = connect(database.url()).await;
    let name = database.name();
    hand.batch_execute(&format!("alter database {name} set default_transaction_isolation = 'serializable'"))
        .await
        .unwrap();
    let store = PostgresStore::open(database.url()).await.unwrap();
    token(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_view_speaks_the_words_of_the_document() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let jobs = store.enqueue((0..3).map(|n| NewJob::new("q", "k", n.to_string())).collect()).await.unwrap().unwrap();
    let claims = store.claim(Claim::new("q", "w").max(2)).await.unwrap();
    let done = &claims.jobs[0];
    let act = Act::Complete { result: None };
    store.finish(vec![Ending { job: done.id, owner: "w".into(), token: done.token, act }]).await.unwrap();
    let hand = connect(database.url()).await;
    let view = "select id, status, priority, payload, run_at, claimed_by, lease_expires_at, created_at, started_at,
                       updated_at, queue, kind, attempt, error from tenure.work_queue order by id";
    let rows = hand.query(view, &[]).await.unwrap();
    let told: Vec<(i64, &str, Option<&str>)> =
        rows.iter().map(|row| (row.get("id"), row.get("status"), row.get("claimed_by"))).collect();
    let ids: Vec<i64> = jobs.iter().map(|job| job.id.0).collect();
    assert_eq!(told, [(ids[0], "completed", None), (ids[1], "running", Some("w")), (ids[2], "queued", None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_server_that_takes_no_writes_is_unavailable_and_nothing_was_changed() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let hand = connect(database.url()).await;
    let name = database.name();
    let set = |value| format!("alter database {name} set default_transaction_read_only = {value}");
    hand.batch_execute(&set("on")).await.unwrap();
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid()";
    hand.query(cut, &[]).await.unwrap();
    // The first calls may meet the connections that were ended.
    while store.now().await.is_err() {}
    let refused = store.ready().await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused}");
    let refused = store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable { outcome: Outcome::NotDone, .. }), "{refused}");
    assert!(refused.to_string().contains("takes no writes"), "{refused}");
    assert!(store.queue("q").await.unwrap().is_none(), "reading goes on");
    hand.batch_execute("set default_transaction_read_only = off").await.unwrap();
    hand.batch_execute(&set("off")).await.unwrap();
    hand.query(cut, &[]).await.unwrap();
    while store.now().await.is_err() {}
    store.ready().await.unwrap();
    token(&store).await;
}
