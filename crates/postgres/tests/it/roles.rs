//! The roles of `roles.sql` can do what they are for, and nothing else (docs/decisions/0009).

use crate::support::{connect, database};
use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Time;
use tenure_core::queue::{Claim, NewJob};
use tenure_postgres::{PostgresStore, roles};
use tenure_store::conformance::{Harness, QueueWalk, walks};
use tenure_store::{QueueStore, Store, StoreError, Upkeep};
use tenure_testing::TestDatabase;
use tokio_postgres::Client;

/// A store opened by the runtime role, with a hand on its clock that is the administrator's.
struct Runtime {
    store: Arc<PostgresStore>,
    hand: Client,
    database: TestDatabase,
}

/// The store's clock, replaced as L5 allows; every role may look at it.
const MANUAL_CLOCK: &str = "
    create sequence tenure.test_clock;
    grant select on tenure.test_clock to public;
    create or replace function tenure.clock() returns timestamptz language sql volatile as $$
        select timestamptz 'epoch' + (last_value / 1000000) * interval '1 second'
               + (last_value % 1000000) * interval '1 microsecond'
          from tenure.test_clock
    $$";

#[async_trait]
impl Harness for Runtime {
    async fn open(start: Time) -> Runtime {
        let database = with_roles().await;
        let hand = connect(database.url()).await;
        hand.batch_execute(MANUAL_CLOCK).await.unwrap();
        let store = Arc::new(PostgresStore::open(&acting_as(&database, "runtime")).await.unwrap());
        let runtime = Runtime { store, hand, database };
        runtime.set_clock(start).await;
        runtime
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn set_clock(&self, now: Time) {
        self.hand.query("select setval('tenure.test_clock', $1)", &[&now.0]).await.unwrap();
    }

    async fn another(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(&acting_as(&self.database, "runtime")).await.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_role_has_every_verb_and_agrees_with_core() {
    walks::<QueueWalk, Runtime>(0..2, 2_500).await;
    // What a walk does not ask for.
    let runtime = Runtime::open(Time(1)).await;
    assert_eq!(runtime.store.now().await.unwrap(), Time(1));
    assert_eq!(runtime.store.epoch().await.unwrap().count, 0);
    assert_eq!(runtime.store.new_epoch().await.unwrap().count, 1);
    assert!(runtime.store.describe().await.unwrap().contains("schema tenure"));
}

/// A database with the schema and the roles, which are its own.
pub(crate) async fn with_roles() -> TestDatabase {
    let database = database().await;
    connect(database.url()).await.batch_execute(&roles(database.url()).unwrap()).await.unwrap();
    database
}

/// What the script calls a role of the store in `database`.
pub(crate) fn role(database: &TestDatabase, what: &str) -> String {
    format!("{}_tenure_{what}", database.name())
}

/// The address of `database` for sessions that begin as its role `what`.
pub(crate) fn acting_as(database: &TestDatabase, what: &str) -> String {
    as_role(database, &role(database, what))
}

fn as_role(database: &TestDatabase, role: &str) -> String {
    let url = database.url();
    format!("{url}{}options=-c%20role%3D{role}", if url.contains('?') { "&" } else { "?" })
}

pub(crate) async fn session(database: &TestDatabase, what: &str) -> Client {
    session_as(database, &role(database, what)).await
}

async fn session_as(database: &TestDatabase, role: &str) -> Client {
    let session = connect(&as_role(database, role)).await;
    let user: String = session.query_one("select current_user::text", &[]).await.unwrap().get(0);
    assert_eq!(user, role);
    session
}

/// Each of the statements is refused for want of rights.
pub(crate) async fn denied(session: &Client, statements: &[&str]) {
    for statement in statements {
        let refused = session.batch_execute(statement).await.expect_err(statement);
        assert_eq!(refused.code().unwrap().code(), "42501", "{statement}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_role_cannot_change_the_schema() {
    let database = with_roles().await;
    let session = session(&database, "runtime").await;
    denied(
        &session,
        &[
            "create table tenure.mine (n integer)",
            "create function tenure.mine() returns integer language sql as 'select 1'",
            "create or replace function tenure.clock() returns timestamptz language sql as 'select now()'",
            "alter function tenure.clock() set search_path = public",
            "alter table tenure.job add column mine integer",
            "create index on tenure.job (kind)",
            "create trigger mine before insert on tenure.job for each row execute function suppress_redundant_updates_trigger()",
            "truncate tenure.job",
            "drop table tenure.finished",
            "drop view tenure.work_queue",
            "alter schema tenure rename to mine",
            "drop schema tenure cascade",
            "insert into tenure.migration values (2, 'mine')",
            "delete from tenure.migration",
            "select setval('tenure.job_id', 1)",
        ],
    )
    .await;
    // Which a store that finds nothing to upgrade never needs; one that does is told.
    connect(database.url()).await.batch_execute("delete from tenure.migration").await.unwrap();
    // As one who logs in with it: whoever only acts as it could act as the owner too.
    let login = format!("server_{}", database.name());
    let admin = connect(database.url()).await;
    admin
        .batch_execute(&format!("create role {login} login; grant {} to {login}", role(&database, "runtime")))
        .await
        .unwrap();
    let upgrade = PostgresStore::migrate(&crate::support::url_as(database.url(), &login)).await.unwrap_err();
    assert!(matches!(upgrade, StoreError::Denied { .. }), "{upgrade}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_enqueue_role_can_enqueue() {
    let database = with_roles().await;
    let mut session = session(&database, "enqueue").await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    session.batch_execute("select tenure.enqueue('q', 'k', '1')").await.unwrap();
    session.batch_execute("select tenure.enqueue('q', 'k', '{\"a\": 1}'::json, '{\"key\": \"once\"}')").await.unwrap();
    let every = "select tenure.enqueue('q', 'k', '{}'::jsonb, '{\"priority\": 1, \"run_at\": \"2020-01-01\", \"attempts_max\": 2,
                 \"timeout_ms\": 9, \"backoff\": {\"factor\": 3}, \"key\": \"k\", \"key_window_ms\": 9, \"ordering_key\": \"l\",
                 \"limit_key\": \"t\"}')";
    session.batch_execute(every).await.unwrap();
    let rolled_back = session.transaction().await.unwrap();
    rolled_back.batch_execute("select tenure.enqueue('q', 'k', '2')").await.unwrap();
    rolled_back.rollback().await.unwrap();
    assert_eq!(store.claim(Claim::new("q", "w").max(10)).await.unwrap().jobs.len(), 3);
    let refused = session.batch_execute("select tenure.enqueue('q', 'k', '{')").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "TE010", "what it sends is checked");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_enqueue_role_can_do_nothing_else() {
    let database = with_roles().await;
    let admin = connect(database.url()).await;
    let may = admin
        .query(
            "select p.oid::regprocedure::text from pg_proc p
              where p.pronamespace = 'tenure'::regnamespace and has_function_privilege($1::text, p.oid, 'execute')
              order by 1",
            &[&role(&database, "enqueue")],
        )
        .await
        .unwrap();
    let may: Vec<String> = may.iter().map(|row| row.get(0)).collect();
    let entries = ["json", "jsonb", "text"].map(|payload| format!("tenure.enqueue(text,text,{payload},jsonb)"));
    assert_eq!(may, entries);
    let may = admin
        .query(
            "select c.oid::regclass::text from pg_class c
              where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S')
                and case c.relkind when 'S' then has_sequence_privilege($1::text, c.oid, 'usage, select, update')
                    else has_any_column_privilege($1::text, c.oid, 'select, insert, update, references')
                      or has_table_privilege($1::text, c.oid, 'delete, truncate, trigger') end",
            &[&role(&database, "enqueue")],
        )
        .await
        .unwrap();
    assert!(may.is_empty(), "{may:?}");

    let store = PostgresStore::open(database.url()).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "\"secret\"")]).await.unwrap().unwrap();
    let job = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    let (id, token) = (job.id.0, job.token.0);
    let session = session(&database, "enqueue").await;
    denied(
        &session,
        &[
            "select payload from tenure.job",
            "select payload from tenure.finished",
            "select payload from tenure.work_queue",
            "select count(*) from tenure.queue",
            "select body from tenure.dedup",
            "insert into tenure.job (created_at, run_at) values (now(), now())",
            "update tenure.job set payload = '1'",
            "delete from tenure.job",
            "select nextval('tenure.job_id')",
            &format!("select tenure.held({id}, 'w', {token})"),
            &format!("select tenure.complete({id}, 'w', {token})"),
            &format!("select tenure.fail({id}, 'w', {token}, 'boom')"),
            "select tenure.recover(10, null)",
            "select tenure.prune(10)",
            "select tenure.new_epoch()",
            "create table tenure.mine (n integer)",
        ],
    )
    .await;
    let opened = PostgresStore::open(&acting_as(&database, "enqueue")).await.unwrap_err();
    assert!(matches!(opened, StoreError::Denied { .. }), "{opened}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_read_role_reads_everything_and_writes_nothing() {
    let database = with_roles().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "\"shown\""); 2]).await.unwrap().unwrap();
    let job = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    let session = session(&database, "read").await;
    let row =
        session.query_one("select payload, claimed_by from tenure.work_queue where status = 'running'", &[]).await;
    let row = row.unwrap();
    assert_eq!((row.get(0), row.get(1)), ("\"shown\"", "w"));
    for query in [
        "select * from tenure.show_job($1)",
        include_str!("../../queries/queue/jobs.sql"),
        "select * from tenure.list_queues($1, $2, $3, $4)",
        include_str!("../../queries/queue/events.sql"),
        include_str!("../../queries/queue/situation.sql"),
    ] {
        // Rights are looked at when a query starts: each runs, with nulls for parameters.
        let parameters = session.prepare(query).await.expect(query).params().len();
        let nulls = vec!["null"; parameters].join(", ");
        session.batch_execute(&format!("prepare q as {query}; execute q({nulls}); deallocate q")).await.expect(query);
    }
    let (id, token) = (job.id.0, job.token.0);
    denied(
        &session,
        &[
            "select tenure.enqueue('q', 'k', '1')",
            "select tenure.enqueue('q', 'k', '1'::jsonb)",
            &format!("select tenure.held({id}, 'w', {token})"),
            &format!("select tenure.complete({id}, 'w', {token})"),
            &format!("select tenure.fail({id}, 'w', {token}, 'boom')"),
            "select tenure.check_epoch()",
            "insert into tenure.queue (name, created_at) values ('mine', now())",
            "update tenure.job set payload = '1'",
            "delete from tenure.finished",
            "select * from tenure.job for update",
            "create table tenure.mine (n integer)",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verbs_run_as_an_owner_who_is_no_superuser_and_not_in_the_callers_search_path() {
    let database = with_roles().await;
    let admin = connect(database.url()).await;
    let owner = "select distinct r.rolname::text, r.rolsuper, r.rolcanlogin from pg_proc p join pg_roles r on r.oid = p.proowner
                  where p.pronamespace = 'tenure'::regnamespace";
    let rows = admin.query(owner, &[]).await.unwrap();
    let owners: Vec<(String, bool, bool)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert_eq!(owners, [(role(&database, "owner"), false, false)]);

    // Everything that the function calls without naming a schema, planted where the caller looks first.
    let plant = "create schema evil; grant usage, create on schema evil to public;
        create function evil.trap() returns text language plpgsql as $$ begin raise exception 'caught'; end $$;
        create function evil.jsonb_strip_nulls(jsonb) returns jsonb language sql as 'select evil.trap()::jsonb';
        create function evil.jsonb_typeof(jsonb) returns text language sql as 'select evil.trap()';
        create function evil.octet_length(text) returns integer language sql as 'select evil.trap()::integer';
        create function evil.pg_notify(text, text) returns text language sql as 'select evil.trap()';
        create function evil.isnt(text, text) returns boolean language sql as 'select evil.trap()::boolean';
        create operator evil.!~ (leftarg = text, rightarg = text, function = evil.isnt);
        create operator evil.<> (leftarg = text, rightarg = text, function = evil.isnt)";
    admin.batch_execute(plant).await.unwrap();
    let session = session(&database, "enqueue").await;
    session.batch_execute("set search_path = evil, pg_temp, pg_catalog").await.unwrap();
    assert!(session.batch_execute("select pg_notify('a', 'b')").await.is_err(), "the trap works");
    session.batch_execute("select tenure.enqueue('q', 'k', '1', '{\"key\": \"a\"}')").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_can_enqueue_who_was_not_granted_it_whether_the_script_was_run_or_not() {
    let database = database().await;
    let admin = connect(database.url()).await;
    let name = format!("outsider_{}", database.name());
    admin.batch_execute(&format!("create role {name}; grant usage on schema tenure to {name}")).await.unwrap();
    denied(&session_as(&database, &name).await, &["select tenure.enqueue('q', 'k', '1')"]).await;
    admin.batch_execute(&format!("revoke all on schema tenure from {name}; drop role {name}")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_may_be_run_again_and_covers_what_an_upgrade_brings() {
    let database = with_roles().await;
    let admin = connect(database.url()).await;
    // As the owner: covered at once. As someone else: when the script is run again.
    let upgrade = "create table tenure.later (n integer); create sequence tenure.later_id;
                   create function tenure.later_still() returns integer language sql as 'select 1'";
    let owner = session(&database, "owner").await;
    owner.batch_execute(upgrade).await.unwrap();
    let runtime = session(&database, "runtime").await;
    let uses = "insert into tenure.later values (nextval('tenure.later_id')::integer, tenure.later_still())";
    let uses = uses.replace(", tenure.later_still())", "); select tenure.later_still()");
    runtime.batch_execute(&uses).await.unwrap();
    denied(&session(&database, "enqueue").await, &["select tenure.later_still()", "select from tenure.later"]).await;

    for _ in 0..2 {
        admin.batch_execute(&roles(database.url()).unwrap()).await.unwrap();
    }
    denied(&runtime, &["insert into tenure.migration values (2, 'mine')"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superusers_upgrade_makes_what_it_makes_as_the_owner() {
    let database = with_roles().await;
    let admin = connect(database.url()).await;
    let earlier =
        "drop function tenure.draw_tokens(integer); update tenure.functions set release = '0.0.1', digest = 'earlier'";
    admin.batch_execute(earlier).await.unwrap();
    PostgresStore::migrate(database.url()).await.unwrap();
    let owners = "select distinct pg_get_userbyid(p.proowner)::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace";
    let owners: Vec<String> = admin.query(owners, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(owners, [role(&database, "owner")]);
    let store = PostgresStore::open(&acting_as(&database, "runtime")).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_granted_in_one_database_opens_no_store_of_another() {
    let (ours, theirs) = (with_roles().await, with_roles().await);
    let admin = connect(theirs.url()).await;
    let worker = format!("worker_of_{}", ours.name());
    let all = ["owner", "runtime", "work", "enqueue", "read"].map(|what| role(&ours, what)).join(", ");
    admin.batch_execute(&format!("create role {worker} login; grant {all} to {worker}")).await.unwrap();
    let there = crate::support::url_as(theirs.url(), &worker);
    let refused = PostgresStore::open(&there).await.unwrap_err();
    assert!(matches!(refused, StoreError::Denied { .. } | StoreError::Foreign { .. }), "{refused}");
    let session = crate::support::connect_as(theirs.url(), &worker).await;
    denied(
        &session,
        &[
            "select from tenure.job",
            "delete from tenure.job",
            "select tenure.enqueue('q', 'k', '1')",
            "select tenure.check_epoch()",
            "select * from tenure.installed()",
            "create table tenure.mine (n integer)",
        ],
    )
    .await;
    let may = "select p.oid::regprocedure::text from pg_proc p
                where p.pronamespace = 'tenure'::regnamespace and has_function_privilege($1::text, p.oid, 'execute')";
    assert!(admin.query(may, &[&worker]).await.unwrap().is_empty(), "no function");
    // At home it can do everything.
    PostgresStore::open(&crate::support::url_as(ours.url(), &worker)).await.unwrap();
    // And the script of one database does nothing in another.
    let wrong = admin.batch_execute(&roles(ours.url()).unwrap()).await.unwrap_err();
    assert!(wrong.as_db_error().unwrap().message().contains("this script is for the database"), "{wrong:?}");
    admin.batch_execute("rollback").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_names_every_table_of_ours_and_none_of_anybody_elses() {
    let database = database().await;
    let admin = connect(database.url()).await;
    admin
        .batch_execute("create table tenure.of_the_user (secret text); create sequence tenure.of_theirs")
        .await
        .unwrap();
    admin.batch_execute(&roles(database.url()).unwrap()).await.unwrap();
    let ours = "select c.relname::text, pg_get_userbyid(c.relowner)::text,
                       has_table_privilege($1::text, c.oid, 'select'), has_table_privilege($2::text, c.oid, 'select')
                  from pg_class c where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v') order by 1";
    for row in admin.query(ours, &[&role(&database, "runtime"), &role(&database, "read")]).await.unwrap() {
        let (name, owner): (String, String) = (row.get(0), row.get(1));
        let mine = name == "of_the_user";
        assert_eq!((row.get::<_, bool>(2), row.get::<_, bool>(3)), (!mine, !mine), "{name}");
        assert_eq!(owner == role(&database, "owner"), !mine, "{name} belongs to {owner}");
    }
    let left = "select c.relname::text from pg_class c
                 where c.relnamespace = 'tenure'::regnamespace and c.relkind = 'S' and c.relowner <> $1::text::regrole";
    let left: Vec<String> =
        admin.query(left, &[&role(&database, "owner")]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(left, ["of_theirs"]);
    let left = "select p.oid::regprocedure::text from pg_proc p
                 where p.pronamespace = 'tenure'::regnamespace and p.proowner <> $1::text::regrole";
    assert!(admin.query(left, &[&role(&database, "owner")]).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_grants_nothing_where_somebody_planted_something_or_has_the_name_of_a_role() {
    let database = database().await;
    let (admin, name) = (connect(database.url()).await, database.name());
    let stranger = format!("stranger_{name}");
    admin
        .batch_execute(&format!(
            "create role {stranger}; grant create, usage on schema tenure to {stranger}; set role {stranger};
             create function tenure.planted() returns integer language sql as 'select 1'; reset role"
        ))
        .await
        .unwrap();
    let script = roles(database.url()).unwrap();
    let refused = admin.batch_execute(&script).await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("tenure.planted()"), "{refused:?}");
    admin.batch_execute("rollback; drop function tenure.planted()").await.unwrap();
    let taken = role(&database, "work");
    admin.batch_execute(&format!("create role {taken} login; grant {taken} to {stranger}")).await.unwrap();
    let refused = admin.batch_execute(&script).await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains(&taken), "{refused:?}");
    admin.batch_execute(&format!("rollback; drop role {taken}")).await.unwrap();
    admin.batch_execute(&script).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_ours_may_be_called_by_everybody() {
    for database in [database().await, with_roles().await] {
        let admin = connect(database.url()).await;
        let open = "select p.oid::regprocedure::text from pg_proc p,
                           aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                     where p.pronamespace = 'tenure'::regnamespace and a.grantee = 0";
        let open: Vec<String> = admin.query(open, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        assert!(open.is_empty(), "{open:?}");
        let unpinned = "select p.oid::regprocedure::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace
                           and p.prosecdef and not 'search_path=pg_catalog, pg_temp' = any (coalesce(p.proconfig, '{}'))";
        assert!(admin.query(unpinned, &[]).await.unwrap().is_empty(), "a definer looks where its caller says");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_superuser_is_needed_to_set_the_roles_up() {
    let database = TestDatabase::create().await.unwrap();
    let (admin, name) = (connect(database.url()).await, database.name());
    let deployer = format!("deployer_{name}");
    admin
        .batch_execute(&format!("create role {deployer} createrole; grant create on database {name} to {deployer}"))
        .await
        .unwrap();
    let url = format!("{}&schema=s_{name}", as_role(&database, &deployer));
    PostgresStore::migrate(&url).await.unwrap();
    let script = roles(&url).unwrap();
    let session_of_deployer = session_as(&database, &deployer).await;
    for _ in 0..2 {
        session_of_deployer.batch_execute(&script).await.unwrap();
    }
    let enqueue = script.split_whitespace().find(|word| word.ends_with("_enqueue")).expect("the script names it");
    let enqueuer = session_as(&database, enqueue).await;
    enqueuer.batch_execute(&format!("select s_{name}.enqueue('q', 'k', '1')")).await.unwrap();
    denied(&enqueuer, &[&format!("select from s_{name}.job")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_schema_has_roles_of_its_own() {
    let database = TestDatabase::create().await.unwrap();
    let url = database.url();
    let url = format!("{url}{}schema=other_work", if url.contains('?') { "&" } else { "?" });
    PostgresStore::migrate(&url).await.unwrap();
    connect(database.url()).await.batch_execute(&roles(&url).unwrap()).await.unwrap();
    let prefix = format!("{}_other_work", database.name());
    let enqueuer = session_as(&database, &format!("{prefix}_enqueue")).await;
    enqueuer.batch_execute("select other_work.enqueue('q', 'k', '1')").await.unwrap();
    denied(&enqueuer, &["select from other_work.job"]).await;
    let store = PostgresStore::open(&format!("{url}&options=-c%20role%3D{prefix}_runtime")).await.unwrap();
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
    assert!(roles("postgres://u@h/db?schema=a;b").is_err());
    let long = roles(&format!("postgres://u@h/db?schema={}", "x".repeat(63))).unwrap();
    assert!(long.split(|c: char| !c.is_alphanumeric() && c != '_').all(|word| word.len() <= 63), "no name is cut off");
}

/// What a script says that refuses.
async fn refused(url: &str) -> (String, String) {
    let error = connect(url).await.batch_execute(&roles(url).unwrap()).await.unwrap_err();
    let error = error.as_db_error().expect("the script's own words");
    (error.message().to_owned(), error.hint().unwrap_or_default().to_owned())
}

/// The database beside `database` that has this name, made anew by these words.
async fn made(database: &TestDatabase, name: &str, how: &str) -> (Client, String) {
    let admin = connect(&database.url().replace(database.name(), "postgres")).await;
    admin.batch_execute(&format!("create database {name} {how}")).await.unwrap();
    (admin, database.url().replace(database.name(), name))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_database_with_roles_gets_its_own_by_the_way_that_the_refusal_names() {
    let database = with_roles().await;
    let copy = format!("{}_copy", database.name());
    let (admin, url) = made(&database, &copy, &format!("template {}", database.name())).await;
    let told = PostgresStore::open(&url).await.unwrap_err().to_string();
    let (_, hint) = refused(&url).await;
    let way = format!("reassign owned by {}_tenure_owner to postgres", database.name());
    assert!(told.contains(&way) && hint.contains(&way), "{told}\n{hint}");
    connect(&url).await.batch_execute(&way).await.unwrap();
    connect(&url).await.batch_execute(&roles(&url).unwrap()).await.unwrap();
    PostgresStore::open(&url).await.unwrap().enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap();
    PostgresStore::open(database.url()).await.unwrap();
    admin.batch_execute(&format!("drop database {copy} with (force)")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_let_into_a_database_is_not_let_into_the_next_of_its_name() {
    let database = database().await;
    let name = format!("{}_again", database.name());
    let (admin, url) = made(&database, &name, "").await;
    for round in 0..2 {
        PostgresStore::migrate(&url).await.unwrap();
        if round == 0 {
            connect(&url).await.batch_execute(&roles(&url).unwrap()).await.unwrap();
            let grant = format!("create role {name}_mallory; grant {name}_tenure_runtime to {name}_mallory");
            admin.batch_execute(&grant).await.unwrap();
            // Here they were let in, and the script may be run again.
            connect(&url).await.batch_execute(&roles(&url).unwrap()).await.unwrap();
            let anew = [format!("drop database {name} with (force)"), format!("create database {name}")];
            for statement in anew {
                admin.batch_execute(&statement).await.unwrap();
            }
        }
    }
    let (told, hint) = refused(&url).await;
    assert!(told.contains(&format!("{name}_mallory would be let into this one")), "{told}");
    let way = format!("revoke {name}_tenure_runtime from {name}_mallory");
    assert!(hint.contains(&way), "{hint}");
    admin.batch_execute(&way).await.unwrap();
    connect(&url).await.batch_execute(&roles(&url).unwrap()).await.unwrap();
    admin.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
}
