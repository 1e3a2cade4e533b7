//! Schedules on PostgreSQL: an upgrade from before there were any, and what a rival transaction can do.

use crate::support::{Postgres, connect};
use tenure_core::Time;
use tenure_core::queue::{Filter, NewJob};
use tenure_core::schedule::{CatchUp, Definition, Fire, Put, Refused, Schedule};
use tenure_postgres::PostgresStore;
use tenure_store::conformance::Harness;
use tenure_store::{ScheduleStore, Store, StoreError};
use tenure_testing::TestDatabase;

const START: Time = Time(1_800_000_000_000_000);

async fn put(store: &dyn Store) -> Schedule {
    let job = NewJob::new("q", "tick", "1");
    let (cron, zone) = ("* * * * *".to_owned(), "UTC".to_owned());
    let definition = Definition { cron, zone, catch_up: CatchUp::Latest, paused: false, job };
    let put = Put { name: "s".to_owned(), definition, revision: None, next_at: Some(START) };
    store.put_schedule(put).await.unwrap().unwrap()
}

fn fire(schedule: &Schedule) -> Fire {
    let (name, slots, next_at) = (schedule.name.clone(), vec![START], Some(START.plus_ms(60_000)));
    Fire { name, revision: schedule.revision, slots, missed: 0, missed_at: None, next_at }
}

#[tokio::test(flavor = "multi_thread")]
async fn x_a_schema_from_before_schedules_waits_for_migrate() {
    let database = TestDatabase::create().await.unwrap();
    let hand = connect(database.url()).await;
    hand.batch_execute(
        "create schema tenure;
         create table tenure.migration (version integer primary key, name text not null,
                                        applied_at timestamptz not null default now());
         insert into tenure.migration (version, name) values (1, '0001_queue')",
    )
    .await
    .unwrap();
    hand.batch_execute(include_str!("../../migrations/0001_queue.sql")).await.unwrap();
    let refused = PostgresStore::open(database.url()).await.unwrap_err();
    assert!(matches!(refused, StoreError::SchemaOlder { found: 1, .. }), "{refused}");
    PostgresStore::migrate(database.url()).await.unwrap();
    let store = PostgresStore::open(database.url()).await.unwrap();
    assert!(store.schedules(None, 10).await.unwrap().items.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn t1_a_firing_that_waited_for_a_rival_is_judged_by_what_it_left() {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    let schedule = put(&*store).await;
    let rival = connect(postgres.database.url()).await;
    let theirs = "begin; select * from tenure.fire_schedule('s', (select revision from tenure.schedule),
                      array[timestamptz '2027-01-15 08:00:00+00'], 0, null, '2027-01-15 08:01:00+00', 100)";
    rival.batch_execute(theirs).await.unwrap();
    let other = store.clone();
    let sent = fire(&schedule);
    let ours = tokio::spawn(async move { other.fire(sent).await.unwrap() });
    let waiting = "select 1 from pg_stat_activity
                    where datname = current_database() and application_name = 'tenure' and wait_event_type = 'Lock'";
    while rival.query(waiting, &[]).await.unwrap().is_empty() {}
    rival.batch_execute("commit").await.unwrap();
    assert_eq!(ours.await.unwrap(), Err(Refused::Changed));
    assert_eq!(store.jobs(Filter::default(), None, 10).await.unwrap().items.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn t1_a_firing_that_is_rolled_back_leaves_its_slot_due() {
    let postgres = Postgres::open(START).await;
    let store = postgres.store();
    let schedule = put(&*store).await;
    let hand = connect(postgres.database.url()).await;
    hand.batch_execute("alter table tenure.firing add constraint no_room check (false)").await.unwrap();
    store.fire(fire(&schedule)).await.unwrap_err();
    assert_eq!(store.schedule("s").await.unwrap(), Some(schedule.clone()), "nothing of it happened");
    assert!(store.jobs(Filter::default(), None, 10).await.unwrap().items.is_empty());
    hand.batch_execute("alter table tenure.firing drop constraint no_room").await.unwrap();
    store.fire(fire(&schedule)).await.unwrap().unwrap();
}
