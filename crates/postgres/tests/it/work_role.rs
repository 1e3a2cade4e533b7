//! The role of workers has verbs and no table: a whole life of everything through them, and nothing beside them
//! (docs/decisions/0009).

use crate::roles::{acting_as, denied, role, with_roles};
use crate::support::{connect, connect_as};
use tenure_core::queue::{Claim, NewJob};
use tenure_postgres::PostgresStore;
use tenure_store::{QueueStore, ScheduleStore, StoreError, SyncStore, Upkeep};
use tenure_testing::TestDatabase;
use tokio_postgres::Client;

/// A login role that may do what workers may.
async fn worker(database: &TestDatabase) -> Client {
    let name = format!("worker_{}", database.name());
    let admin = connect(database.url()).await;
    admin
        .batch_execute(&format!("create role {name} login; grant {} to {name}", role(database, "work")))
        .await
        .unwrap();
    let worker = connect_as(database.url(), &name).await;
    // As a store does that is opened.
    worker.batch_execute("select tenure.check_epoch()").await.unwrap();
    worker
}

/// The first column of the only row, as text.
async fn told(session: &Client, statement: &str) -> String {
    let rows = session.simple_query(statement).await.expect(statement);
    let value = rows.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("").to_owned()),
        _ => None,
    });
    value.expect(statement)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_lives_its_whole_life_in_plain_sql_and_in_the_workers_own_transactions() {
    let database = with_roles().await;
    let worker = worker(&database).await;
    let claim = "select id || ' ' || token from tenure.claim(array['q'], null, 'w', 1, 30000, false, 1,
                 array[null]::integer[], array[null]::timestamptz[], array[null]::bigint[])";
    worker.batch_execute("create temporary table mine (n integer)").await.unwrap();
    for _ in 0..2 {
        worker.batch_execute("begin; insert into mine values (1)").await.unwrap();
        let enqueued =
            told(&worker, "select tenure.enqueue('q', 'k', '{\"a\": 1}'::jsonb, '{\"ordering_key\": \"l\"}')").await;
        worker.batch_execute("commit").await.unwrap();
        let claimed = told(&worker, claim).await;
        let (id, token) = claimed.split_once(' ').unwrap();
        assert_eq!(id, enqueued);
        let beat = format!(
            "select lease_expires_at is not null from tenure.heartbeat(array[{id}], array['w'], array[{token}], array['1'], array['2'])"
        );
        assert_eq!(told(&worker, &beat).await, "t");
        worker
            .batch_execute(&format!("begin; select tenure.held({id}, 'w', {token}); update mine set n = 2"))
            .await
            .unwrap();
        assert_eq!(
            told(&worker, &format!("select tenure.complete({id}, 'w', {token}, '\"done\"')")).await,
            "completed"
        );
        worker.batch_execute("commit").await.unwrap();
        assert_eq!(
            told(&worker, &format!("select status || result from tenure.show_job({id})")).await,
            "completed\"done\""
        );
        let late = worker.batch_execute(&format!("select tenure.fail({id}, 'w', {token}, 'late')")).await.unwrap_err();
        assert_eq!(late.code().unwrap().code(), "TE020");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_refuses_the_worker_role_directly() {
    let database = with_roles().await;
    let worker = worker(&database).await;
    let admin = connect(database.url()).await;
    let tables = "select c.oid::regclass::text, c.relkind::text, a.attname::text from pg_class c
                    left join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
                   where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v', 'S') order by 1";
    let tables = admin.query(tables, &[]).await.unwrap();
    assert!(tables.len() > 40, "{}", tables.len());
    for row in tables {
        let (name, kind, column): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        if kind == "S" {
            denied(&worker, &[&format!("select nextval('{name}')"), &format!("select last_value from {name}")]).await;
            continue;
        }
        let mut refused = vec![format!("select from {name}"), format!("select {column} from {name}")];
        if kind == "r" {
            refused.push(format!("select {column} from {name} for update"));
            refused.push(format!("insert into {name} default values"));
            refused.push(format!("update {name} set {column} = default"));
            refused.push(format!("delete from {name}"));
            refused.push(format!("truncate {name}"));
            refused.push(format!("do 'begin lock table {name} in access exclusive mode; end'"));
            refused.push(format!(
                "create trigger t before insert on {name} for each row execute function suppress_redundant_updates_trigger()"
            ));
        }
        let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
        denied(&worker, &refused).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_role_may_call_the_verbs_of_workers_and_no_others() {
    let database = with_roles().await;
    let admin = connect(database.url()).await;
    let may = "select distinct p.proname::text from pg_proc p
                where p.pronamespace = 'tenure'::regnamespace and has_function_privilege($1::text, p.oid, 'execute') order by 1";
    let may: Vec<String> =
        admin.query(may, &[&role(&database, "work")]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let verbs = "add_chunks beat_units check_epoch chunk_held claim claim_chunk claim_sync claim_units clock complete \
                 complete_chunk domain_acquire domain_heartbeat domain_in_turn domain_succeed engine_limit enqueue enqueue_all \
                 enqueue_checked fail finish finish_one finish_patiently finish_sync finish_unit heartbeat heartbeat_sync held \
                 installed list_domains list_queues plan_sync refuse_heartbeat show_job show_pipeline show_run show_segments \
                 show_stages show_sync start start_run";
    assert_eq!(may, verbs.split_whitespace().collect::<Vec<_>>());
    denied(
        &worker(&database).await,
        &[
            "select tenure.operate_all(array[1], array['cancel'], array[null])",
            "select tenure.change_queue('q', '{paused}', true, null, null, null, null, null, null, null, null)",
            "select tenure.set_limit(1)",
            "select tenure.prune(1)",
            "select tenure.recover(1, null)",
            "select tenure.new_epoch()",
            "select tenure.cancel_sync(1, null)",
            "select tenure.domain_each('skip', array[row('d', 1, null, null, null)::tenure.domain_ask])",
            "select tenure.remove_schedule('s')",
            "select tenure.prune_runs(1, 0)",
            "select tenure.enqueue_given('{q}', '{k}', '{1}', '{0}', '{now}', '{1}', null, null, null, null, null, null, null)",
            "select tenure.forget(array[1], now())",
            "select tenure.draw_tokens(1)",
            "set role none; create table tenure.mine (n integer)",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_sends_past_the_library_is_checked() {
    let database = with_roles().await;
    let worker = worker(&database).await;
    let enqueue = |queue: &str, payload: &str, attempts: i32, keys: &str| {
        format!(
            "select tenure.enqueue_all(array['{queue}'], array['k'], array['{payload}'], array[0], array[null]::timestamptz[],
                                       array[{attempts}], null, null, {keys}, null, null, null, null)"
        )
    };
    worker.batch_execute(&enqueue("q", "1", 1, "null")).await.unwrap();
    let claim = "select token from tenure.claim(array['q'], null, 'w', 1, 30000, false, 1,
                 array[null]::integer[], array[null]::timestamptz[], array[null]::bigint[])";
    let token = told(&worker, claim).await;
    let claim = |owner: &str, lease_ms: u64| {
        format!(
            "select tenure.claim(array['q'], null, {owner}, 1, {lease_ms}, false, 1,
                                 array[null]::integer[], array[null]::timestamptz[], array[null]::bigint[])"
        )
    };
    for bad in [
        claim("''", 30_000),
        claim("repeat('w', 3000000)", 30_000),
        claim("'w'", 1_000_000_000_000),
        enqueue("q", "1", 1, "null").replace("array['q']", "'[5:5]={q}'::text[]"),
        enqueue("q q", "1", 1, "null"),
        enqueue("q", "{", 1, "null"),
        enqueue("q", "1", 0, "null"),
        enqueue("q", "1", 1, "array[e'a\\nb']"),
        format!(
            "select tenure.finish(array[1], array['w'], array[{token}], array['complete'], array['{{'], array[null],
                                      array[null]::bigint[], array[null]::float8[])"
        ),
        format!(
            "select tenure.finish(array[1], array['w'], array[{token}], array['give_up'], array[null], array[null],
                                      array[null]::bigint[], array[null]::float8[])"
        ),
        "select tenure.finish_sync(1, 'h', 'w', 1, 'give_up', null, null, null, false)".to_owned(),
        format!("select tenure.heartbeat(array[1], array['w'], array[{token}], array['nope'], array[null])"),
        "select tenure.domain_in_turn('skip', array[row('d', 1, null, null, null)::tenure.domain_ask])".to_owned(),
        r#"select tenure.start_run('p', 1, '1', '[{"name": "a"}]', null)"#.to_owned(),
        "select tenure.plan_sync('m', 0, null, 1, null, array['h'], array['{'])".to_owned(),
    ] {
        let refused = worker.batch_execute(&bad).await.expect_err(&bad);
        assert_eq!(refused.code().unwrap().code(), "TE010", "{bad}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_who_plants_names_in_its_own_session_reaches_nothing() {
    let database = with_roles().await;
    let admin = connect(database.url()).await;
    let worker = worker(&database).await;
    let name = format!("worker_{}", database.name());
    admin.batch_execute(&format!("create schema evil authorization {name}")).await.unwrap();
    // A trap tells on itself by the rights it runs with.
    let traps = "
        create table evil.caught (by_whom text);
        grant insert on evil.caught to public; grant usage on schema evil to public;
        create function evil.trap() returns void language sql as 'insert into evil.caught values (current_user::text)';
        create function evil.cardinality(anyarray) returns integer language plpgsql as
            $$ begin perform evil.trap(); return 1; end $$;
        create function evil.cardinality(bigint[]) returns integer language plpgsql as
            $$ begin perform evil.trap(); return 1; end $$;
        create function evil.clock_timestamp() returns timestamptz language plpgsql as
            $$ begin perform evil.trap(); return now() + interval '1 year'; end $$;
        create function evil.octet_length(text) returns integer language plpgsql as
            $$ begin perform evil.trap(); return 1; end $$;
        create function evil.array_remove(text[], text) returns text[] language plpgsql as
            $$ begin perform evil.trap(); return '{}'; end $$;
        create function evil.trap2(numeric, integer) returns numeric language plpgsql as
            $$ begin perform evil.trap(); return 1; end $$;
        create operator evil.* (leftarg = numeric, rightarg = integer, function = evil.trap2);
        create temporary table job as select 1 as id;
        create temporary table lease as select 1 as token;
        create temporary table pg_class (oid oid);
        create temporary table pg_database (oid oid, datname name);
        create function pg_temp.clock() returns timestamptz language sql as 'select now()';
        set search_path = evil, pg_temp, pg_catalog";
    worker.batch_execute(traps).await.unwrap();
    assert_eq!(told(&worker, "select cardinality(array[1::bigint, 2])").await, "1", "the trap works");
    worker.batch_execute("delete from evil.caught").await.unwrap();
    worker.batch_execute("select tenure.check_epoch()").await.unwrap();
    worker.batch_execute("select tenure.enqueue('q', 'k', '1', '{\"key\": \"a\"}')").await.unwrap();
    let claim = "select id || ' ' || token from tenure.claim(array['q'], null, 'w', 5, 30000, false, 5,
                 array[null]::integer[], array[null]::timestamptz[], array[null]::bigint[])";
    let claimed = told(&worker, claim).await;
    let (id, token) = claimed.split_once(' ').unwrap();
    let beat = format!("select tenure.heartbeat(array[{id}], array['w'], array[{token}], array['1'], array[null])");
    worker.batch_execute(&beat).await.unwrap();
    worker.batch_execute(&format!("select tenure.held({id}, 'w', {token})")).await.unwrap();
    assert_eq!(told(&worker, &format!("select tenure.fail({id}, 'w', {token}, 'boom')")).await, "queued");
    let caught = told(&admin, "select count(*) from evil.caught where by_whom not like 'worker%'").await;
    assert_eq!(caught, "0", "somebody else ran what the worker planted");
    // A schema of the worker's before ours holds nothing that we call by its name.
    let row = admin.query_one("select count(*) from tenure.job where queue = 'q'", &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_under_the_worker_role_works_and_does_not_operate() {
    let database = with_roles().await;
    let store = PostgresStore::open(&acting_as(&database, "work")).await.unwrap();
    let jobs = store.enqueue(vec![NewJob::new("q", "k", "1"); 2]).await.unwrap().unwrap();
    let claimed = store.claim(Claim::new("q", "w").max(2)).await.unwrap().jobs;
    assert_eq!(claimed.len(), 2);
    assert_eq!(store.job(jobs[0].id).await.unwrap().unwrap().lease.unwrap().owner, "w");
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.running, 2);
    assert_eq!(store.limit().await.unwrap(), None);
    let operation = tenure_core::queue::Operation {
        job: jobs[0].id,
        action: tenure_core::queue::Action::Cancel { force: true, reason: None },
    };
    let paused = tenure_core::queue::Change { paused: Some(true), ..Default::default() };
    for refused in [
        store.operate(vec![operation]).await.map(drop),
        store.change("q", paused).await.map(drop),
        store.set_limit(Some(1)).await,
        store.prune(1).await.map(drop),
        store.new_epoch().await.map(drop),
        store.remove_schedule("s").await.map(drop),
        store.cancel_sync(tenure_core::sync::SyncId(1), None).await.map(drop),
        store.jobs(Default::default(), None, 10).await.map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, StoreError::Denied { message } if message.contains("tenure doctor")), "{refused}");
    }
    let findings = store.examine().await.unwrap();
    let finding = findings.iter().find(|finding| finding.topic == "role").unwrap();
    assert!(finding.found.starts_with(&role(&database, "work")), "{finding:?}");
    assert!(finding.found.contains("no table"), "{finding:?}");
}
