//! Whoever was here first gains nothing from those who come later: a store is made, upgraded and opened only in a schema
//! whose owner could do no more by planting something in it than they could without (SECURITY.md).

use crate::support::{connect, connect_as, database};
use tenure_core::queue::{Claim, NewJob};
use tenure_postgres::{PostgresOptions, PostgresStore, roles};
use tenure_store::{QueueStore, StoreError, Upkeep};
use tenure_testing::TestDatabase;
use tokio_postgres::Client;

/// A login role without rights of its own, and what it wants: superuser, from a superuser who runs what it planted.
struct Attacker {
    name: String,
    session: Client,
    admin: Client,
}

impl Attacker {
    /// May create schemas in the database, and everything in `public`, as everybody may up to PostgreSQL 14.
    async fn in_database(database: &TestDatabase) -> Attacker {
        let admin = connect(database.url()).await;
        let name = format!("attacker_{}", database.name());
        let make = format!(
            "create role {name} login;
             grant create on database {} to {name};
             grant create, usage on schema public to {name}",
            database.name()
        );
        admin.batch_execute(&make).await.unwrap();
        let session = connect_as(database.url(), &name).await;
        let strike = "
            create function public.strike() returns void language plpgsql as $$
            begin
                if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
                    execute 'alter role ATTACKER superuser';
                end if;
            end $$;
            create function public.strikes() returns trigger language plpgsql as $$
            begin perform public.strike(); return new; end $$";
        session.batch_execute(&strike.replace("ATTACKER", &name)).await.unwrap();
        Attacker { name, session, admin }
    }

    async fn plants(&self, statements: &str) {
        self.session.batch_execute(&statements.replace("ATTACKER", &self.name)).await.expect(statements);
    }

    async fn is_superuser(&self) -> bool {
        let asked = self.admin.query_one("select rolsuper from pg_roles where rolname = $1", &[&self.name]).await;
        asked.unwrap().get(0)
    }
}

/// Refused by name, with advice.
fn is_foreign(refused: &StoreError, thing: &str) {
    assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
    let message = refused.to_string();
    assert!(message.contains(thing), "{message} names {thing}");
    assert_eq!(refused.code(), "store_foreign");
}

/// The tables that a migration looks at first, as it makes them itself.
const OWN_TABLES: &str = "
    create schema tenure;
    create table tenure.migration (version integer primary key, name text not null,
                                   applied_at timestamptz not null default now());
    create table tenure.functions (only_row boolean primary key default true check (only_row), release text not null,
                                   digest text not null, names text[] not null default '{}',
                                   installed_at timestamptz not null default now());";

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_somebody_else_made_is_not_migrated_by_a_superuser() {
    for (plant, thing) in [
        ("", "schema tenure"),
        (
            "create trigger t before insert on tenure.migration for each row execute function public.strikes()",
            "schema tenure",
        ),
        ("create rule r as on insert to tenure.migration do also select public.strike()", "schema tenure"),
        (
            "create function public.now_or_later() returns timestamptz language plpgsql as
                 $$ begin perform public.strike(); return now(); end $$;
             alter table tenure.migration alter applied_at set default public.now_or_later()",
            "schema tenure",
        ),
    ] {
        let database = TestDatabase::create().await.unwrap();
        let attacker = Attacker::in_database(&database).await;
        attacker.plants(&format!("{OWN_TABLES} {plant}")).await;
        let refused = PostgresStore::migrate(database.url()).await;
        assert!(!attacker.is_superuser().await, "{plant}");
        is_foreign(&refused.unwrap_err(), thing);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superuser_who_only_opens_runs_nothing_of_a_schema_that_somebody_else_made() {
    let database = TestDatabase::create().await.unwrap();
    let attacker = Attacker::in_database(&database).await;
    attacker
        .plants(
            "create schema tenure;
             create function public.version() returns integer language plpgsql as
                 $$ begin perform public.strike(); return 5; end $$;
             create view tenure.migration as select public.version() as version, 'x' as name;
             create view tenure.functions as select '9'::text as release, '9'::text as digest",
        )
        .await;
    let refused = PostgresStore::open(database.url()).await;
    assert!(!attacker.is_superuser().await);
    is_foreign(&refused.unwrap_err(), "schema tenure");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_who_opens_runs_nothing_of_a_schema_that_a_stranger_made() {
    let database = TestDatabase::create().await.unwrap();
    let attacker = Attacker::in_database(&database).await;
    attacker
        .plants(&format!(
            "{OWN_TABLES} grant usage on schema tenure to public; grant select on tenure.migration to public"
        ))
        .await;
    let app = format!("app_{}", database.name());
    attacker.admin.batch_execute(&format!("create role {app} login")).await.unwrap();
    is_foreign(&PostgresStore::open(&as_user(&database, &app)).await.unwrap_err(), "schema tenure");
}

/// The address of `database` for the login role `user`.
fn as_user(database: &TestDatabase, user: &str) -> String {
    crate::support::url_as(database.url(), user)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_made_in_our_schema_stops_a_migration_by_name() {
    for (plant, thing) in [
        // Before the store is made, and where it would stand.
        ("create table tenure.migration (version integer primary key, name text, applied_at timestamptz)", "tenure.migration"),
        ("create table tenure.functions (only_row boolean primary key default true, release text, digest text, names text[],
                                         installed_at timestamptz)", "tenure.functions"),
        ("create function tenure.micros(at timestamptz) returns bigint language sql as 'select 1::bigint'", "tenure.micros"),
        // An overload that fits a call better than ours does.
        ("create function tenure.later(at timestamptz, ms integer) returns timestamptz language sql as 'select now()'", "tenure.later"),
        ("create type tenure.candidate as (queue text)", "tenure.candidate"),
        ("create domain tenure.whole as integer", "tenure.whole"),
        ("create sequence tenure.job_id", "tenure.job_id"),
        ("create view tenure.work_queue as select 1 as id", "tenure.work_queue"),
    ] {
        let database = TestDatabase::create().await.unwrap();
        let attacker = Attacker::in_database(&database).await;
        let open = format!("create schema tenure; grant create, usage on schema tenure to {}", attacker.name);
        attacker.admin.batch_execute(&open).await.unwrap();
        attacker.plants(plant).await;
        is_foreign(&PostgresStore::migrate(database.url()).await.unwrap_err(), thing);
        is_foreign(&PostgresStore::open(database.url()).await.unwrap_err(), thing);
        assert!(!attacker.is_superuser().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_a_rule_or_a_policy_that_is_not_ours_stops_an_upgrade_before_anything_runs() {
    for (right, plant, thing) in [
        (
            "trigger",
            "create trigger t before insert or update on tenure.functions for each row execute function public.strikes()",
            "trigger t on tenure.functions",
        ),
        (
            "trigger",
            "create trigger t before insert on tenure.migration for each row execute function public.strikes()",
            "trigger t on tenure.migration",
        ),
    ] {
        let database = database().await;
        let attacker = Attacker::in_database(&database).await;
        let grant = format!(
            "grant usage on schema tenure to {0}; grant {right} on all tables in schema tenure to {0};
             update tenure.functions set digest = 'earlier', release = '0.0.1'",
            attacker.name
        );
        attacker.admin.batch_execute(&grant).await.unwrap();
        attacker.plants(plant).await;
        let refused = PostgresStore::migrate(database.url()).await;
        assert!(!attacker.is_superuser().await, "{plant}");
        is_foreign(&refused.unwrap_err(), thing);
        is_foreign(&PostgresStore::open(database.url()).await.unwrap_err(), thing);
    }
    for (planted, thing) in [
        ("create rule r as on update to tenure.functions do also select 1", "rule r on tenure.functions"),
        ("create policy p on tenure.migration using (true)", "policy p on tenure.migration"),
        ("alter table tenure.migration enable row level security", "row security on tenure.migration"),
    ] {
        let database = database().await;
        let hand = connect(database.url()).await;
        hand.batch_execute("update tenure.functions set digest = 'earlier', release = '0.0.1'").await.unwrap();
        hand.batch_execute(planted).await.unwrap();
        is_foreign(&PostgresStore::migrate(database.url()).await.unwrap_err(), thing);
    }
}

/// Names that a session finds in `public` before it finds what we mean, because they fit better (a product of numeric and
/// integer is PostgreSQL's only after a cast).
const TRAPS: &str = "
    create function public.trap(numeric, integer) returns numeric language plpgsql as
        $$ begin perform public.strike(); return 1; end $$;
    create operator public.* (leftarg = numeric, rightarg = integer, function = public.trap);
    create operator public./ (leftarg = numeric, rightarg = integer, function = public.trap);
    create operator public.+ (leftarg = numeric, rightarg = integer, function = public.trap);
    create function public.cardinality(bigint[]) returns integer language plpgsql as
        $$ begin perform public.strike(); return pg_catalog.cardinality($1); end $$;
    create function public.cardinality(text[]) returns integer language plpgsql as
        $$ begin perform public.strike(); return pg_catalog.cardinality($1); end $$;
    create function public.left(character varying, integer) returns text language plpgsql as
        $$ begin perform public.strike(); return $1; end $$;
    create function public.concat_of(text, integer) returns text language plpgsql as
        $$ begin perform public.strike(); return $1; end $$;
    create operator public.|| (leftarg = text, rightarg = integer, function = public.concat_of);
    create function public.floor(numeric) returns numeric language plpgsql as
        $$ begin perform public.strike(); return 1; end $$";

#[tokio::test(flavor = "multi_thread")]
async fn what_others_put_into_the_search_path_runs_in_no_migration_and_in_no_verb() {
    let database = TestDatabase::create().await.unwrap();
    let attacker = Attacker::in_database(&database).await;
    attacker.plants(TRAPS).await;
    PostgresStore::migrate(database.url()).await.unwrap();
    assert!(!attacker.is_superuser().await, "a migration ran what was planted");
    let store = PostgresStore::open(database.url()).await.unwrap();
    store.enqueue(vec![NewJob::new("q", "k", "1"); 3]).await.unwrap().unwrap();
    let jobs = store.claim(Claim::new("q", "w").max(3)).await.unwrap().jobs;
    let (one, other) = (&jobs[0], &jobs[1]);
    let beat = tenure_core::queue::Beat {
        job: Some(one.id),
        owner: "w".into(),
        token: one.token,
        progress: Some("1".into()),
        checkpoint: None,
    };
    store.heartbeat(vec![beat]).await.unwrap()[0].as_ref().unwrap();
    let end = |job: &tenure_core::queue::ClaimedJob, act| tenure_core::queue::Ending {
        job: job.id,
        owner: "w".into(),
        token: job.token,
        act,
    };
    use tenure_core::queue::Act;
    use tenure_core::retry::Retry;
    let fail = Act::Fail { error: "e".into(), retry: Retry::Policy { chance: 0.5 } };
    store.finish(vec![end(one, Act::Complete { result: None }), end(other, fail)]).await.unwrap();
    store.recover(10).await.unwrap();
    store.prune(10).await.unwrap();
    store.new_epoch().await.unwrap();
    store.job(one.id).await.unwrap().unwrap();
    store.queue("q").await.unwrap().unwrap();
    store.situation(other.id).await.unwrap().unwrap();
    store.examine().await.unwrap();
    assert!(!attacker.is_superuser().await, "a verb ran what was planted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_postgresqls_or_everybodys_is_no_place_for_a_store() {
    for name in ["public", "pg_catalog", "information_schema", "pg_toast", "pg_temp", "pg_mine"] {
        let url = format!("postgres://u@h/db?schema={name}");
        let refused = PostgresOptions::parse(&url).unwrap_err();
        assert!(matches!(&refused, StoreError::Address { message } if message.contains(name)), "{refused}");
        assert!(matches!(roles(&url), Err(StoreError::Address { .. })), "{name}");
        let by_hand = PostgresOptions::parse("postgres://u@h/db").unwrap().schema(name).unwrap_err();
        assert!(matches!(by_hand, StoreError::Address { .. }), "{by_hand}");
    }
}

/// The owner of a database sets the search path of everybody who comes, and may put their own schema before PostgreSQL's.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_path_that_a_databases_owner_set_makes_nobody_run_what_is_in_it() {
    let database = TestDatabase::create().await.unwrap();
    let attacker = Attacker::in_database(&database).await;
    PostgresStore::migrate(database.url()).await.unwrap();
    let traps = "
        create schema trap;
        create function trap.to_regclass(text) returns regclass language plpgsql as $$
        begin perform public.strike(); return pg_catalog.to_regclass($1); end $$;
        create function trap.to_regprocedure(text) returns regprocedure language plpgsql as $$
        begin perform public.strike(); return pg_catalog.to_regprocedure($1); end $$;
        create function trap.current_setting(text) returns text language plpgsql as $$
        begin perform public.strike(); return pg_catalog.current_setting($1); end $$;
        create function trap.current_database() returns name language plpgsql as $$
        begin perform public.strike(); return pg_catalog.current_database(); end $$;
        create function trap.joined(text, text) returns text language plpgsql as $$
        begin perform public.strike(); return pg_catalog.textcat($1, $2); end $$;
        create operator trap.|| (leftarg = text, rightarg = text, function = trap.joined);
        grant usage on schema trap to public";
    attacker.plants(traps).await;
    let set = format!("alter database {} set search_path = trap, pg_catalog", database.name());
    attacker.admin.batch_execute(&set).await.unwrap();
    // It is a trap: whoever comes with that path and asks without care runs it.
    let careless = connect(database.url()).await;
    careless.query("select current_setting('server_version')", &[]).await.unwrap();
    assert!(attacker.is_superuser().await, "the trap strikes");
    let name = &attacker.name;
    attacker.admin.batch_execute(&format!("alter role {name} nosuperuser")).await.unwrap();

    PostgresStore::migrate(database.url()).await.unwrap();
    let store = PostgresStore::open(database.url()).await.unwrap();
    let id = store.enqueue(vec![NewJob::new("q", "k", "1")]).await.unwrap().unwrap()[0].id;
    store.job(id).await.unwrap().unwrap();
    store.jobs(tenure_core::queue::Filter::default(), None, 10).await.unwrap();
    store.queue("q").await.unwrap().unwrap();
    store.situation(id).await.unwrap().unwrap();
    store.describe().await.unwrap();
    store.examine().await.unwrap();
    assert_eq!(store.claim(Claim::new("q", "w")).await.unwrap().jobs.len(), 1);
    store.recover(10).await.unwrap();
    store.new_epoch().await.unwrap();
    assert!(!attacker.is_superuser().await, "a call ran what was planted");
}

/// Two stores' owners can have one name; who has it in one database is not trusted in the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_has_the_name_of_a_stores_owner_by_chance_is_not_trusted() {
    let database = TestDatabase::create().await.unwrap();
    let attacker = Attacker::in_database(&database).await;
    let (name, owner) = (&attacker.name, format!("{}_tenure_owner", database.name()));
    let namesake = format!(
        "create role {owner} nologin; comment on role {owner} is 'Tenure: schema b of database another';
         grant create on database {} to {owner}; grant {owner} to {name}",
        database.name()
    );
    attacker.admin.batch_execute(&namesake).await.unwrap();
    attacker.plants(&format!("set role {owner}; create schema tenure")).await;
    is_foreign(&PostgresStore::migrate(database.url()).await.unwrap_err(), "schema tenure");
    is_foreign(&PostgresStore::open(database.url()).await.unwrap_err(), "schema tenure");
    let mine = format!("comment on role {owner} is 'Tenure: schema tenure of database {}'", database.name());
    attacker.admin.batch_execute(&mine).await.unwrap();
    PostgresStore::migrate(database.url()).await.unwrap();
}
