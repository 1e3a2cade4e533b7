//! Schedules on a real file: an upgrade from before there were any, and what a crash leaves.

mod support;

use support::{File, START, enqueue};
use tenure_core::queue::NewJob;
use tenure_core::schedule::{CatchUp, Definition, Fire, Put, Schedule};
use tenure_sqlite::SqliteStore;
use tenure_store::{QueueStore, ScheduleStore};

async fn put(store: &SqliteStore) -> Schedule {
    let job = NewJob::new("q", "tick", "1");
    let (cron, zone) = ("* * * * *".to_owned(), "UTC".to_owned());
    let definition = Definition { cron, zone, catch_up: CatchUp::Latest, paused: false, job };
    let put = Put { name: "s".to_owned(), definition, revision: None, next_at: Some(START.plus_ms(1)) };
    store.put_schedule(put).await.unwrap().unwrap()
}

fn fire(schedule: &Schedule) -> Fire {
    let (name, slots, next_at) = (schedule.name.clone(), vec![START.plus_ms(1)], Some(START.plus_ms(2)));
    Fire { name, revision: schedule.revision, slots, missed: 0, missed_at: None, next_at }
}

#[tokio::test]
async fn x_a_file_from_before_schedules_is_upgraded_with_its_jobs() {
    let file = File::new();
    let raw = file.raw();
    let known = "CREATE TABLE tenure_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT";
    raw.execute_batch(known).unwrap();
    raw.execute_batch(include_str!("../migrations/0001_queue.sql")).unwrap();
    raw.execute("INSERT INTO tenure_schema VALUES (1, 'queue', 0)", []).unwrap();
    raw.execute("INSERT INTO tenure_queue (name, created_at) VALUES ('q', 0)", []).unwrap();
    let job = "INSERT INTO tenure_job (id, queue, kind, priority, place, created_at, run_at, attempts_max, payload)
               VALUES (7, 'q', 'old', 0, 0, 0, 0, 5, '1')";
    raw.execute(job, []).unwrap();
    raw.execute("UPDATE tenure_meta SET last_id = 7", []).unwrap();
    drop(raw);

    let store = file.open().await;
    assert_eq!(store.job(tenure_core::queue::JobId(7)).await.unwrap().unwrap().kind, "old");
    let schedule = put(&store).await;
    file.at(1);
    let fired = store.fire(fire(&schedule)).await.unwrap().unwrap();
    assert_eq!(fired.jobs[0].0, 8);
}

#[tokio::test]
async fn t1_a_slot_that_has_its_row_is_never_fired_again_whatever_the_cursor_says() {
    let file = File::new();
    let store = file.open().await;
    enqueue(&store, 1).await;
    let schedule = put(&store).await;
    file.at(1);
    store.fire(fire(&schedule)).await.unwrap().unwrap();
    // A hand that puts the cursor back meets the second guard: nothing is enqueued, and the file says so.
    let before = schedule.revision;
    file.raw().execute("UPDATE tenure_schedule SET next_at = ?1, revision = ?2", (START.plus_ms(1).0, before)).unwrap();
    store.fire(fire(&schedule)).await.unwrap_err();
    assert_eq!(store.queue("q").await.unwrap().unwrap().counts.queued, 2);
}
