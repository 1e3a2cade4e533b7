//! Three schedulers in one process, each on a handle of its own; some are cut off in the middle of a look.

use crate::{END, Hand, START, assert_each_slot_once, journey, schedules};
use tenure::{Tenure, Time};
use tenure_memory::MemoryStore;
use tenure_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use tenure_store::Clock;
use tenure_store::conformance::Seed;
use tenure_testing::TestDatabase;

/// Written out and repeating times around every change of these zones.
const CRONS: [&str; 3] = ["15,45 0,1,2,23 * * *", "30 2 * * *", "30 0-2,23 * * *"];

/// Looks until nothing is due.
async fn look_on(tenure: Tenure) {
    while tenure.verbs().fire_due().await.unwrap().more {}
}

async fn crowd(handles: [Tenure; 3], crons: &[&str], seed: u64, set: impl AsyncFn(Time)) {
    let seed = Seed::or(seed);
    let mut chance = seed.chance(0);
    set(START).await;
    let schedules = schedules(crons);
    for schedule in &schedules {
        handles[0].verbs().put_schedule(schedule.clone()).await.unwrap();
    }
    for stop in journey(seed.chance(1), 120) {
        set(stop).await;
        let mut looks: Vec<_> = handles.iter().map(|handle| tokio::spawn(look_on(handle.clone()))).collect();
        // Every start of a program puts its schedules.
        let again = &schedules[chance.below(schedules.len())];
        handles[chance.below(3)].verbs().put_schedule(again.clone()).await.unwrap();
        if chance.one_in(2) {
            for _ in 0..chance.below(40) {
                tokio::task::yield_now().await;
            }
            looks.swap_remove(chance.below(3)).abort();
        }
        for look in looks {
            look.await.unwrap();
        }
    }
    set(END).await;
    look_on(handles[0].clone()).await;
    assert_each_slot_once(&handles[0], &schedules).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_d2_three_schedulers_in_memory_fire_each_slot_of_a_year_once() {
    let clock = Clock::manual(START);
    let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
    let handles = [tenure.clone(), tenure.clone(), tenure];
    crowd(handles, &CRONS, 1, async |now| clock.set(now)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_d2_three_schedulers_on_one_file_fire_each_slot_of_a_year_once() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::manual(START));
    let open = async || {
        let url = format!("sqlite:{}", dir.path().join("tenure.db").display());
        let options = SqliteOptions::new().clock(clock.clone()).synchronous(Synchronous::Off);
        Tenure::on(SqliteStore::open_with(&url, options).await.unwrap())
    };
    let handles = [open().await, open().await, open().await];
    crowd(handles, &CRONS, 2, async |now| clock.set(now)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_d2_three_schedulers_on_one_postgres_fire_each_slot_of_a_year_once() {
    let database = TestDatabase::create().await.unwrap();
    let open = async || Tenure::open(database.url()).await.unwrap();
    let handles = [open().await, open().await, open().await];
    let hand = Hand::on(database.url()).await;
    crowd(handles, &CRONS[1..], 3, async |now| hand.set(now).await).await;
}
