//! The queue in plain SQL: the caller's own transaction decides (Q10).

use crate::support::{connect, database};
use tenure_core::domain::Acquire;
use tenure_core::json;
use tenure_core::pipeline::{Definition, NewRun, Stage};
use tenure_core::queue::{Beat, Claim, ClaimedJob, JobId, NewJob, Status};
use tenure_core::sync::{NewChunk, Plan};
use tenure_postgres::{PostgresStore, in_transaction};
use tenure_store::{DomainStore, PipelineStore, QueueStore, SyncStore, Upkeep};
use tenure_testing::TestDatabase;
use tokio_postgres::{AsyncMessage, Client};

async fn open() -> (TestDatabase, PostgresStore, Client) {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let sql = connect(database.url()).await;
    (database, store, sql)
}

async fn claimed(store: &PostgresStore, lease_ms: u64) -> ClaimedJob {
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    store.claim(Claim::new("q", "w").lease_ms(lease_ms)).await.unwrap().jobs.remove(0)
}

fn code(error: &tokio_postgres::Error) -> &str {
    error.code().expect("an error of the database").code()
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_enqueue_lives_and_dies_with_the_callers_transaction() {
    let (_database, store, mut sql) = open().await;
    let transaction = sql.transaction().await.unwrap();
    transaction.query("select tenure.enqueue('q', 'k', '{\"a\": 1}')", &[]).await.unwrap();
    assert!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.is_empty(), "not before the commit");
    transaction.rollback().await.unwrap();
    assert!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.is_empty(), "nor after a rollback");

    let options = "'{\"priority\": 7, \"attempts_max\": 2, \"ordering_key\": \"a\", \"limit_key\": \"t\"}'";
    let call = format!("select tenure.enqueue('q', 'k', '{{ \"a\":1.0 }}', {options})");
    let id: i64 = sql.query_one(&call, &[]).await.unwrap().get(0);
    let job = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    assert_eq!((job.id, job.priority, job.attempts_max), (JobId(id), 7, 2));
    assert_eq!(job.payload, "{ \"a\":1.0 }", "byte for byte");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_a_completion_lives_and_dies_with_the_callers_transaction() {
    let (_database, store, mut sql) = open().await;
    let job = claimed(&store, 60_000).await;
    let complete = "select tenure.complete($1, 'w', $2, '{\"ok\": true}')";
    let transaction = sql.transaction().await.unwrap();
    transaction.query(complete, &[&job.id.0, &job.token.0]).await.unwrap();
    transaction.rollback().await.unwrap();
    assert_eq!(store.job(job.id).await.unwrap().unwrap().status, Status::Running);

    let status: String = sql.query_one(complete, &[&job.id.0, &job.token.0]).await.unwrap().get(0);
    assert_eq!(status, "completed");
    let kept = store.job(job.id).await.unwrap().unwrap();
    assert_eq!((kept.status, kept.result.as_deref()), (Status::Completed, Some("{\"ok\": true}")));
    let again: String = sql.query_one(complete, &[&job.id.0, &job.token.0]).await.unwrap().get(0);
    assert_eq!(again, "completed", "the same ending is answered the same again");
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_neither_held_nor_complete_in_a_transaction_blocks_a_heartbeat() {
    let (_database, store, mut sql) = open().await;
    let job = claimed(&store, 60_000).await;
    let transaction = sql.transaction().await.unwrap();
    transaction.query("select tenure.held($1, 'w', $2)", &[&job.id.0, &job.token.0]).await.unwrap();
    let beat = Beat::new(job.id, "w", job.token).checkpoint("3").progress("\"half\"");
    assert!(store.heartbeat(vec![beat.clone()]).await.unwrap()[0].is_ok());
    transaction.query("select tenure.complete($1, 'w', $2)", &[&job.id.0, &job.token.0]).await.unwrap();
    assert!(store.heartbeat(vec![beat]).await.unwrap()[0].is_ok(), "not committed yet, so still held");
    transaction.commit().await.unwrap();
    assert_eq!(store.job(job.id).await.unwrap().unwrap().status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_held_keeps_others_from_the_work_until_commit_even_past_the_lease() {
    let (_database, store, mut sql) = open().await;
    let job = claimed(&store, 100).await;
    let transaction = sql.transaction().await.unwrap();
    transaction.query("select tenure.held($1, 'w', $2)", &[&job.id.0, &job.token.0]).await.unwrap();
    let until = store.job(job.id).await.unwrap().unwrap().lease.unwrap().expires_at;
    while store.now().await.unwrap() <= until {}
    assert_eq!(store.recover(10).await.unwrap().leases, 0);
    assert!(store.claim(Claim::new("q", "thief")).await.unwrap().jobs.is_empty());
    // A finish in the same transaction is still judged by the lease (L4).
    let late = transaction.query("select tenure.complete($1, 'w', $2)", &[&job.id.0, &job.token.0]).await.unwrap_err();
    assert_eq!(code(&late), "TE020");
    transaction.rollback().await.unwrap();
    assert_eq!(store.claim(Claim::new("q", "thief")).await.unwrap().jobs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn l3_held_raises_under_an_old_token_and_leaves_the_callers_write_undone() {
    let (_database, store, mut sql) = open().await;
    sql.batch_execute("create table effect (n integer)").await.unwrap();
    let job = claimed(&store, 60_000).await;
    let transaction = sql.transaction().await.unwrap();
    transaction.batch_execute("insert into effect values (1)").await.unwrap();
    let stale = transaction.query("select tenure.held($1, 'w', $2)", &[&job.id.0, &(job.token.0 - 1)]).await;
    assert_eq!(code(&stale.unwrap_err()), "TE020");
    drop(transaction);
    assert_eq!(sql.query("select from effect", &[]).await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn q8_a_slot_freed_in_the_callers_transaction_is_free_after_its_commit() {
    let (_database, store, sql) = open().await;
    store.set_limit(Some(1)).await.unwrap();
    let job = claimed(&store, 60_000).await;
    store.enqueue(vec![NewJob::new("q", "k", "2")]).await.unwrap().unwrap();
    assert!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.is_empty());
    sql.query("select tenure.fail($1, 'w', $2, 'no', false)", &[&job.id.0, &job.token.0]).await.unwrap();
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn q7_a_key_means_the_same_body_from_sql_and_from_the_library() {
    let (_database, store, sql) = open().await;
    for (i, payload) in [
        "{\"b\": 1, \"a\": [true, null]}",
        "\"é \\\"quoted\\\" \\\\ \\u0007 \\ud83d\\ude00\"",
        "[0.10, -0, 1e2, 12345678901234567890.5e-3, {\"x\\ty\": {}}]",
        "1e99999999999999999999",
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("key-{i}");
        let enqueued = store.enqueue(vec![NewJob::new("q", "k", payload).key(&key)]).await.unwrap().unwrap();
        // The same value, written another way.
        let other = json::canonical("payload", payload).unwrap();
        let call = "select tenure.enqueue('q', 'k', $1::text, jsonb_build_object('key', $2::text))";
        let id: i64 = sql.query_one(call, &[&other, &key]).await.unwrap().get(0);
        assert_eq!(JobId(id), enqueued[0].id, "{payload}");
        let conflict = sql.query_one(call, &[&"\"else\"", &key]).await.unwrap_err();
        assert_eq!(code(&conflict), "TE003");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn x_plain_sql_refuses_what_every_other_surface_refuses() {
    let (_database, store, sql) = open().await;
    for (hint, arguments) in [
        ("invalid_name", "'-q', 'k', '1'"),
        ("invalid_name", "'q', '', '1'"),
        ("invalid_name", "'q', 'k', '1', '{\"key\": \"\"}'"),
        ("json_syntax", "'q', 'k', '{'"),
        ("json_duplicate_key", "'q', 'k', '{\"a\":1,\"a\":2}'"),
        ("unsupported_character", "'q', 'k', '\"\\u0000\"'"),
        ("unsupported_character", "'q', 'k', '[\"\\ud800\"]'"),
        ("json_too_deep", "'q', 'k', repeat('[', 65) || repeat(']', 65)"),
        ("json_too_deep", "'q', 'k', repeat('[', 100000) || repeat(']', 100000)"),
        ("too_large", "'q', 'k', '\"' || repeat('x', 1048576) || '\"'"),
        ("missing_field", "'q', 'k', null::text"),
        ("unknown_field", "'q', 'k', '1', '{\"prioritee\": 1}'"),
        ("out_of_bounds", "'q', 'k', '1', '{\"attempts_max\": 0}'"),
        ("out_of_bounds", "'q', 'k', '1', '{\"timeout_ms\": 0}'"),
        ("wrong_type", "'q', 'k', '1', '{\"priority\": \"soon\"}'"),
        ("wrong_type", "'q', 'k', '1', '{\"run_at\": \"2026-02-30\"}'"),
        ("wrong_type", "'q', 'k', '1', '{\"priority\": \"5\"}'"),
        ("wrong_type", "'q', 'k', '1', '{\"priority\": 1.5}'"),
        ("out_of_bounds", "'q', 'k', '1', '{\"priority\": 2147483648}'"),
        ("wrong_type", "'q', 'k', '1', '{\"key\": 7}'"),
        ("unsupported_character", "'q', 'k', '1', '{\"key\": \"a\\u202eb\"}'"),
        ("out_of_bounds", "'q', 'k', '1', '{\"key_window_ms\": 1000}'"),
        ("wrong_type", "'q', 'k', '1', '{\"notify\": \"maybe\"}'"),
        ("wrong_type", "'q', 'k', '1', '{\"backoff\": 3}'"),
        ("unknown_field", "'q', 'k', '1', '{\"backoff\": {\"initial\": 3}}'"),
        ("out_of_bounds", "'q', 'k', '1', '{\"backoff\": {\"factor\": 0.5}}'"),
        ("wrong_type", "'q', 'k', '1', '{\"backoff\": {\"jitter\": \"much\"}}'"),
        ("wrong_type", "'q', 'k', '1', '{\"run_at\": \"soon\"}'"),
        ("wrong_type", "'q', 'k', '1', '{\"run_at\": 5}'"),
        ("out_of_bounds", "'q', 'k', '1', '{\"run_at\": \"infinity\"}'"),
        ("unknown_field", "'q', 'k', '1', '{\"run_at_micros\": 5}'"),
        ("wrong_type", "'q', 'k', '1', '[]'"),
    ] {
        let refused = sql.query(&format!("select tenure.enqueue({arguments})"), &[]).await;
        let refused = refused.expect_err(arguments);
        assert_eq!(code(&refused), "TE010", "{arguments}");
        assert_eq!(refused.as_db_error().unwrap().hint(), Some(hint), "{arguments}");
    }
    assert_eq!(store.queue("q").await.unwrap(), None, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn x_what_completes_and_fails_in_sql_is_bounded_as_everywhere() {
    let (_database, store, sql) = open().await;
    let job = claimed(&store, 60_000).await;
    for (hint, says, call) in [
        ("json_syntax", "`result`", "tenure.complete($1, 'w', $2, 'nope')"),
        ("json_duplicate_key", "`result`", "tenure.complete($1, 'w', $2, '{\"a\":1,\"a\":2}')"),
        ("too_large", "`result`", "tenure.complete($1, 'w', $2, '\"' || repeat('x', 1048576) || '\"')"),
        ("out_of_bounds", "`retry_in_ms`", "tenure.fail($1, 'w', $2, 'boom', true, -1)"),
        ("out_of_bounds", "`retry_in_ms`", "tenure.fail($1, 'w', $2, 'boom', true, 316224000001)"),
    ] {
        let refused = sql.query(&format!("select {call}"), &[&job.id.0, &job.token.0]).await.expect_err(call);
        let db = refused.as_db_error().unwrap();
        assert_eq!((db.code().code(), db.hint()), ("TE010", Some(hint)), "{call}");
        assert!(db.message().contains(says), "{}", db.message());
    }
    // Null is not sent: the default, which is to try again. An error is cut, never refused.
    let fail = "select tenure.fail($1, 'w', $2, repeat('é', 10000), null, null)";
    let status: String = sql.query_one(fail, &[&job.id.0, &job.token.0]).await.unwrap().get(0);
    assert_eq!(status, "queued");
    let kept = store.job(job.id).await.unwrap().unwrap().error.unwrap();
    assert_eq!(kept, tenure_core::bounds::clipped(&"é".repeat(10_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn q10_who_waits_is_told_at_the_commit_and_never_of_a_rollback() {
    let (database, store, mut sql) = open().await;
    let (listener, mut connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    let (heard, mut notes) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let Ok(AsyncMessage::Notification(note)) = message {
                let _ = heard.send(note.payload().to_owned());
            }
        }
    });
    listener.batch_execute("listen tenure_wake").await.unwrap();
    let jobs = [NewJob::new("a", "k", "1"), NewJob::new("b", "k", "1"), NewJob::new("a", "k", "2")];
    for commits in [false, true] {
        let tx = sql.transaction().await.unwrap();
        in_transaction::enqueue(&tx, &store.place(), &jobs).await.unwrap();
        if commits {
            tx.commit().await.unwrap()
        } else {
            tx.rollback().await.unwrap()
        }
        sql.batch_execute("notify tenure_wake, 'mark'").await.unwrap();
    }
    let quiet = "select tenure.enqueue('quiet', 'k', '1', '{\"notify\": false}')";
    sql.batch_execute(quiet).await.unwrap();
    sql.batch_execute("select tenure.enqueue('told', 'k', '1')").await.unwrap();
    let mut told = Vec::new();
    while told.last().map(String::as_str) != Some("told") {
        told.push(notes.recv().await.unwrap());
    }
    told[1..3].sort();
    assert_eq!(told, ["mark", "a", "b", "mark", "told"]);
}

/// A queue is paused, a job cancelled and so on by whoever opened the session, whatever role it has taken since.
#[tokio::test(flavor = "multi_thread")]
async fn l8_acts_in_plain_sql_name_the_role_that_opened_the_session() {
    let (_database, store, sql) = open().await;
    let session: String = sql.query_one("select session_user::text", &[]).await.unwrap().get(0);
    let job = store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap()[0].id;
    store.domain_acquire(vec![Acquire::new("d", 1)]).await.unwrap();
    let sync = store.plan_sync(Plan::new("m").chunks([NewChunk::new("a")])).await.unwrap().unwrap().id;
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    let run = store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    let acts = format!(
        "grant usage on schema tenure to pg_monitor;
         grant all on all tables in schema tenure to pg_monitor;
         grant all on all sequences in schema tenure to pg_monitor;
         grant execute on all functions in schema tenure to pg_monitor;
         set role pg_monitor;
         select tenure.change_queue('q', '{{paused}}', true, null, null, null, null, null, null, null, null);
         reset role;
         select tenure.set_limit(7);
         select tenure.new_epoch();
         select tenure.operate_all(array[{job}], array['cancel'], array[null]);
         select tenure.operate_patiently({job}, 'retry', null);
         select tenure.domain_each('skip', array[row('d', 1, null, null, null)::tenure.domain_ask]);
         select tenure.domain_change('d', '{{max_retries}}', 0, null);
         select tenure.cancel_sync({sync}, null);
         select tenure.operate_run({run}, 'cancel', null, null, null, null, null);"
    );
    sql.batch_execute(&acts).await.unwrap();
    let told = "select 'changes', by from tenure.changes where name <> 'p' and by <> 'store'
                union all select 'job', by from tenure.event union all select 'sync', by from tenure.sync_event
                union all select 'run', by from tenure.unit_event union all select 'domain', by from tenure.domain_event";
    let told = sql.query(told, &[]).await.unwrap();
    assert_eq!(told.len(), 9, "{told:?}");
    for row in told {
        let (of, by): (&str, &str) = (row.get(0), row.get(1));
        assert_eq!(by, format!("sql:{session}"), "{of}");
    }
}

/// A name that is handed over is kept within bounds, and cannot mislead whoever reads it.
#[tokio::test(flavor = "multi_thread")]
async fn x_an_actor_in_plain_sql_is_bounded_and_printable() {
    let (_database, _store, sql) = open().await;
    let change = "select tenure.change_queue('q', '{paused}', $1, null, null, null, null, null, null, null, null, $2)";
    sql.query(change, &[&true, &"a\u{1b}[31m\nb\u{202e}c"]).await.unwrap();
    sql.query(change, &[&false, &"x".repeat(10_000)]).await.unwrap();
    let kept = sql.query("select by from tenure.changes order by at, was", &[]).await.unwrap();
    assert_eq!((kept[0].get::<_, &str>(0), kept[1].get::<_, &str>(0).len()), ("a?[31m?b?c", 256));
}

/// A row of a key that can be neither written nor seen, as a trigger or a policy of somebody else's makes it.
#[tokio::test(flavor = "multi_thread")]
async fn q7_a_key_that_can_neither_be_taken_nor_found_is_refused_and_not_sought_for_ever() {
    let (_database, _store, sql) = open().await;
    let suppress = "create function public.nothing() returns trigger language plpgsql as 'begin return null; end';
                    create trigger nothing before insert on tenure.dedup for each row execute function public.nothing();
                    set statement_timeout = '20s'";
    sql.batch_execute(suppress).await.unwrap();
    let enqueue = "select tenure.enqueue('q', 'k', '1', '{\"key\": \"a\"}')";
    let refused = sql.query(enqueue, &[]).await.unwrap_err();
    assert_eq!(code(&refused), "40001", "{refused}");
    sql.batch_execute("drop trigger nothing on tenure.dedup").await.unwrap();
    sql.query(enqueue, &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn x_settings_of_the_callers_session_change_nothing_that_is_stored() {
    let (_database, store, sql) = open().await;
    let settings = "set extra_float_digits = -15; set standard_conforming_strings = off; set backslash_quote = on;
                    set escape_string_warning = off";
    sql.batch_execute(settings).await.unwrap();
    let options = r#"{"backoff":{"initial_ms":1500,"factor":1.7,"max_ms":99999,"jitter":0.35},"key":"a"}"#;
    let enqueue = "select tenure.enqueue('q', 'k', $1::text, $2::text::jsonb)";
    let id: i64 = sql.query_one(enqueue, &[&r#""a\nb""#, &options]).await.unwrap().get(0);
    let job = store.job(JobId(id)).await.unwrap().unwrap();
    let backoff = job.backoff.unwrap();
    assert_eq!((backoff.initial_ms, backoff.factor, backoff.max_ms, backoff.jitter), (1_500, 1.7, 99_999, 0.35));
    let claimed = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    let complete = "select tenure.complete($1, 'w', $2, $3)";
    sql.query_one(complete, &[&id, &claimed.token.0, &r#""x\ty""#]).await.unwrap();
    assert_eq!(store.job(JobId(id)).await.unwrap().unwrap().status, Status::Completed);
}
