//! The view `work_queue`: the columns of the queue's document, then ours, with the same values on every database,
//! through the life of a job (Q11).

use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{App, START};
use std::time::Duration;
use tenure::{Beat, Claim, NewJob, Tenure};

const COLUMNS: &str = "id status priority payload run_at claimed_by lease_expires_at created_at started_at updated_at \
                       queue kind attempt error";

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_life_of_a_job_on_postgres() {
    life_of_a_job::<Postgres>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_life_of_a_job_on_sqlite() {
    life_of_a_job::<Sqlite>().await;
}

/// Second `s` after the start, 22:13:20.
fn at(s: u64) -> String {
    format!("2023-11-14T22:{:02}:{:02}.000000Z", 13 + (20 + s) / 60, (20 + s) % 60)
}

/// Moves the clock to second `s` after the start.
async fn tick<A: App>(app: &A, s: u64) -> Tenure {
    app.clock().set(START.plus_ms(s * 1_000)).await;
    app.tenure().clone()
}

/// The one job's row from `status` on, its creation at second 0 left out, with its attempt and what went wrong last.
async fn shown<A: App>(app: &mut A) -> String {
    let (columns, rows) = app.work_queue().await;
    assert_eq!(columns.join(" "), COLUMNS);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let (document, ours) = row.split_at(10);
    let [id, status, priority, payload, run_at, claimed_by, expires, created_at, started_at, updated_at] = document
    else {
        panic!("{row:?}")
    };
    assert_eq!([id, priority, payload, created_at], ["1", "7", "{\"a\": 1}", &at(0)]);
    assert_eq!(&ours[..2], ["q", "kind"]);
    let told = [status, run_at, claimed_by, expires, started_at, updated_at].map(String::as_str).join(" ");
    format!("{told} | {}", ours[2..].join(" "))
}

async fn life_of_a_job<A: App>() {
    let mut app = A::open().await;
    let tenure = tick(&app, 0).await;
    let job = NewJob::new("q", "kind", "{\"a\": 1}").priority(7).run_at(START.plus_ms(5_000));
    let id = tenure.enqueue(job).await.unwrap().id;
    assert_eq!(shown(&mut app).await, format!("queued {} - - - {} | 0 -", at(5), at(0)), "scheduled");

    let tenure = tick(&app, 6).await;
    let first = tenure.verbs().claim(Claim::new("q", "alice").lease_ms(10_000)).await.unwrap().jobs.remove(0);
    assert_eq!(
        shown(&mut app).await,
        format!("running {} alice {} {} {} | 1 -", at(5), at(16), at(6), at(6)),
        "claimed"
    );

    let tenure = tick(&app, 10).await;
    tenure.verbs().heartbeat(Beat::new(id, "alice", first.token)).await.unwrap();
    let kept = format!("running {} alice {} {} {} | 1 -", at(5), at(20), at(6), at(6));
    assert_eq!(shown(&mut app).await, kept, "a heartbeat moves the expiry alone");

    let tenure = tick(&app, 20).await;
    assert_eq!(shown(&mut app).await, kept, "expired, and not yet returned");
    tenure.verbs().recover(10).await.unwrap();
    assert_eq!(shown(&mut app).await, format!("queued {} - - {} {} | 1 -", at(5), at(6), at(20)), "returned");

    let tenure = tick(&app, 25).await;
    let second = tenure.verbs().claim(Claim::new("q", "bob").lease_ms(10_000)).await.unwrap().jobs.remove(0);
    tenure.verbs().snooze(id, "bob", second.token, Duration::from_secs(15)).await.unwrap();
    assert_eq!(shown(&mut app).await, format!("queued {} - - {} {} | 1 -", at(40), at(25), at(25)), "snoozed");

    let tenure = tick(&app, 40).await;
    let third = tenure.verbs().claim(Claim::new("q", "bob").lease_ms(10_000)).await.unwrap().jobs.remove(0);
    let tenure = tick(&app, 45).await;
    tenure.verbs().complete(id, "bob", third.token, None).await.unwrap();
    assert_eq!(
        shown(&mut app).await,
        format!("completed {} - - {} {} | 2 -", at(40), at(40), at(45)),
        "the lease is cleared"
    );

    let tenure = tick(&app, 50).await;
    tenure.verbs().retry(id).await.unwrap();
    let tenure = tick(&app, 52).await;
    let fourth = tenure.verbs().claim(Claim::new("q", "bob").lease_ms(10_000)).await.unwrap().jobs.remove(0);
    tenure.verbs().fail(id, "bob", fourth.token, "boom").await.unwrap();
    let failed = shown(&mut app).await;
    assert!(failed.starts_with("queued ") && failed.ends_with(" | 1 boom"), "{failed}");
    let tenure = tick(&app, 55).await;
    tenure.verbs().cancel(id, Some("no longer wanted"), false).await.unwrap();
    let ended = shown(&mut app).await;
    assert!(
        ended.starts_with("failed ") && ended.ends_with(&format!(" - - {} {} | 1 boom", at(52), at(55))),
        "{ended}"
    );
}
