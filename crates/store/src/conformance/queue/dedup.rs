//! Idempotent enqueue: a key stands for one job, as long as it is remembered (Q7, I9).

use super::Harness;
use super::tools::{Grip, START, World, complete, fail, kept_for, plain};
use tenure_core::Time;
use tenure_core::bounds::KEY_WINDOW_MS_DEFAULT;
use tenure_core::queue::{Claim, Conflict, Enqueued, Filter, JobId, NewJob, Status};
use tenure_core::retry::Retry;

scenarios! {
    __queue_dedup = queue::dedup;
    q7_the_same_key_and_body_is_the_same_job,
    q7_a_failed_job_is_remembered_too,
    q7_only_kind_and_payload_make_the_body,
    q7_bodies_are_compared_as_values,
    q7_large_numbers_are_compared_exactly,
    q7_another_payload_is_a_conflict,
    q7_another_kind_is_a_conflict,
    q7_a_conflict_refuses_the_whole_call,
    q7_the_same_key_twice_in_one_call_is_one_job,
    q7_two_bodies_in_one_call_are_a_conflict,
    q7_a_key_belongs_to_its_queue,
    q7_keys_differ_by_every_byte,
    q7_after_its_window_the_key_of_an_ended_job_is_free,
    q7_the_window_is_a_day_by_default,
    q7_the_key_of_an_unended_job_outlives_its_window,
    q7_a_key_outlives_its_jobs_row,
    q7_a_retried_job_is_still_the_answer,
    i9_many_enqueues_of_one_key_make_one_job,
    i9_many_bodies_under_one_key_have_one_winner,
}

fn keyed(payload: &str) -> NewJob {
    NewJob::new("q", "k", payload).key("order-7")
}

fn known(id: JobId, status: Status) -> Result<Vec<Enqueued>, Conflict> {
    Ok(vec![Enqueued { id, status, deduplicated: true }])
}

fn conflict(index: usize, id: Option<JobId>) -> Result<Vec<Enqueued>, Conflict> {
    Err(Conflict { index, id })
}

async fn total<H: Harness>(w: &World<H>) -> usize {
    w.store.jobs(Filter::default(), None, 1_000).await.expect("jobs").items.len()
}

/// The same key and body is the same job, and the answer says where it stands now.
pub async fn q7_the_same_key_and_body_is_the_same_job<H: Harness>() {
    let w = World::<H>::open().await;
    let first = w.send(vec![keyed("{}")]).await.expect("new")[0];
    assert!(!first.deduplicated);
    assert_eq!(w.send(vec![keyed("{}")]).await, known(first.id, Status::Queued));
    let grip = w.take("a").await;
    assert_eq!(w.send(vec![keyed("{}")]).await, known(first.id, Status::Running));
    w.finish(&grip, complete()).await.expect("held");
    assert_eq!(w.send(vec![keyed("{}")]).await, known(first.id, Status::Completed));
    assert_eq!(total(&w).await, 1);
    assert_eq!(w.claimed_ids(Claim::new("q", "a")).await, []);
}

/// A failed job is remembered like a completed one.
pub async fn q7_a_failed_job_is_remembered_too<H: Harness>() {
    let w = World::<H>::open().await;
    w.enqueue(keyed("{}")).await;
    let grip = w.take("a").await;
    w.finish(&grip, fail(Retry::Never)).await.expect("held");
    assert_eq!(w.send(vec![keyed("{}")]).await, known(grip.id, Status::Failed));
}

/// The body is kind and payload; what else was sent does not matter, and the job stays as it was.
pub async fn q7_only_kind_and_payload_make_the_body<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(keyed("{}")).await;
    let before = w.job(id).await;
    let other = keyed("{}").priority(9).attempts_max(1).run_at(w.now.plus_ms(5)).ordering_key("l").limit_key("t");
    assert_eq!(w.send(vec![other.key_window_ms(1)]).await, known(id, Status::Queued));
    assert_eq!(w.job(id).await, before);
}

/// Bodies are compared as JSON values: key order, blanks, escapes and the spelling of numbers do not matter.
pub async fn q7_bodies_are_compared_as_values<H: Harness>() {
    let w = World::<H>::open().await;
    let first = r#"{"a":1,"b":[100,0.5,"ü"],"c":{"d":null,"e":true}}"#;
    let id = w.enqueue(keyed(first)).await;
    let same = [
        r#" { "b" : [ 1e2, 5E-1, "\u00fc" ], "a" : 1.0, "c" : { "e" : true , "d" : null } } "#,
        r#"{"c":{"e":true,"d":null},"b":[100.00,0.50,"ü"],"a":1e0}"#,
        r#"{"a":10e-1,"b":[1000e-1,0.05e1,"\u00FC"],"c":{"d":null,"e":true}}"#,
    ];
    for payload in same {
        assert_eq!(w.send(vec![keyed(payload)]).await, known(id, Status::Queued), "{payload}");
    }
    assert_eq!(w.job(id).await.payload, first, "the first spelling is kept");
    let others = [
        r#"{"a":2,"b":[100,0.5,"ü"],"c":{"d":null,"e":true}}"#,
        r#"{"a":"1","b":[100,0.5,"ü"],"c":{"d":null,"e":true}}"#,
        r#"{"a":1,"b":[0.5,100,"ü"],"c":{"d":null,"e":true}}"#,
        r#"{"a":1,"b":[100,0.5,"u"],"c":{"d":null,"e":true}}"#,
        r#"{"a":1,"b":[100,0.5,"ü"],"c":{"e":true}}"#,
        "null",
    ];
    for payload in others {
        assert_eq!(w.send(vec![keyed(payload)]).await, conflict(0, Some(id)), "{payload}");
    }
}

/// Numbers that a double cannot tell apart are still two numbers.
pub async fn q7_large_numbers_are_compared_exactly<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(keyed("9007199254740993")).await;
    assert_eq!(w.send(vec![keyed("9007199254740993.0")]).await, known(id, Status::Queued));
    assert_eq!(w.send(vec![keyed("9007199254740992")]).await, conflict(0, Some(id)));
}

/// Another payload under the key is refused, names the job, and changes nothing.
pub async fn q7_another_payload_is_a_conflict<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(keyed("1")).await;
    let before = w.job(id).await;
    assert_eq!(w.send(vec![keyed("2")]).await, conflict(0, Some(id)));
    assert_eq!((w.job(id).await, total(&w).await), (before, 1));
}

/// Another kind is another body.
pub async fn q7_another_kind_is_a_conflict<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(keyed("1")).await;
    let other = NewJob { kind: "other".into(), ..keyed("1") };
    assert_eq!(w.send(vec![other]).await, conflict(0, Some(id)));
}

/// A conflict refuses the whole call and names the first item that has one; not even a queue is created.
pub async fn q7_a_conflict_refuses_the_whole_call<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(keyed("1")).await;
    let new = NewJob::new("new", "k", "{}");
    let jobs = vec![new, keyed("1"), plain().key("fresh"), keyed("2"), keyed("3")];
    assert_eq!(w.send(jobs).await, conflict(3, Some(id)));
    assert_eq!(total(&w).await, 1);
    assert_eq!(w.store.queue("new").await.expect("queue"), None);
    let fresh = w.send(vec![plain().key("fresh")]).await.expect("no conflict")[0];
    assert!(!fresh.deduplicated, "a refused call leaves no key behind");
}

/// The same key twice in one call is one job.
pub async fn q7_the_same_key_twice_in_one_call_is_one_job<H: Harness>() {
    let w = World::<H>::open().await;
    let sent = w.send(vec![keyed("[1]"), plain(), keyed(" [1.0] ")]).await.expect("one body");
    assert_eq!(sent.iter().map(|job| job.deduplicated).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(sent[0].id, sent[2].id);
    assert_eq!(total(&w).await, 2);
}

/// … and with two bodies a conflict that names no job, since none was made.
pub async fn q7_two_bodies_in_one_call_are_a_conflict<H: Harness>() {
    let w = World::<H>::open().await;
    assert_eq!(w.send(vec![plain(), keyed("1"), keyed("2")]).await, conflict(2, None));
    assert_eq!(total(&w).await, 0);
    let enqueued = w.send(vec![keyed("2")]).await.expect("the key is free")[0];
    assert!(!enqueued.deduplicated);
}

/// Keys belong to their queue.
pub async fn q7_a_key_belongs_to_its_queue<H: Harness>() {
    let w = World::<H>::open().await;
    let first = w.enqueue(keyed("1")).await;
    let other = NewJob { queue: "r".into(), ..keyed("2") };
    let second = w.send(vec![other]).await.expect("another queue")[0];
    assert!(!second.deduplicated && second.id != first);
}

/// Keys differ by every byte.
pub async fn q7_keys_differ_by_every_byte<H: Harness>() {
    let w = World::<H>::open().await;
    let keys = ["a", "A", "a ", " a", "ä", "a\u{308}", "%", "a/b", "a'b"];
    let jobs = keys.iter().enumerate().map(|(i, key)| NewJob::new("q", "k", i.to_string()).key(*key));
    let ids = w.enqueue_all(jobs.collect()).await;
    for (i, (key, id)) in keys.iter().zip(ids).enumerate() {
        let again = NewJob::new("q", "k", i.to_string()).key(*key);
        assert_eq!(w.send(vec![again]).await, known(id, Status::Queued), "{key:?}");
    }
}

/// When the window is over and the job has ended, the key is free; to the microsecond.
pub async fn q7_after_its_window_the_key_of_an_ended_job_is_free<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(keyed("1").key_window_ms(1_000)).await;
    let grip = w.take("a").await;
    w.finish(&grip, complete()).await.expect("held");
    w.set(Time(START.plus_ms(1_000).0 - 1)).await;
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Completed));
    w.set(START.plus_ms(1_000)).await;
    let second = w.send(vec![keyed("2")]).await.expect("the window is over")[0];
    assert!(!second.deduplicated && second.id > id);
    assert_eq!(w.send(vec![keyed("2")]).await, known(second.id, Status::Queued), "the key stands for the new job");
}

/// A key is remembered for a day unless said otherwise, counted from the enqueue.
pub async fn q7_the_window_is_a_day_by_default<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(keyed("1")).await;
    let grip = w.take("a").await;
    w.finish(&grip, complete()).await.expect("held");
    w.set(Time(START.plus_ms(KEY_WINDOW_MS_DEFAULT).0 - 1)).await;
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Completed));
    w.set(START.plus_ms(KEY_WINDOW_MS_DEFAULT)).await;
    assert!(!w.send(vec![keyed("1")]).await.expect("the window is over")[0].deduplicated);
}

/// While its job has not ended, a key is remembered beyond its window: waiting, running or backing off.
pub async fn q7_the_key_of_an_unended_job_outlives_its_window<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(keyed("1").key_window_ms(1)).await;
    w.pass_ms(1_000).await;
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Queued));
    assert_eq!(w.send(vec![keyed("2")]).await, conflict(0, Some(id)));
    let grip = w.take("a").await;
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Running));
    w.prune(100).await;
    w.finish(&grip, fail(Retry::In { delay_ms: 60_000 })).await.expect("held");
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Queued));
    w.pass_ms(60_000).await;
    let grip = w.take("a").await;
    w.finish(&grip, complete()).await.expect("held");
    assert!(!w.send(vec![keyed("1")]).await.expect("over and ended")[0].deduplicated);
}

/// A key outlives its job's row: pruned or never kept, the job is still the answer, with how it ended (B15).
pub async fn q7_a_key_outlives_its_jobs_row<H: Harness>() {
    for (retention_ms, act, status) in [
        (0, complete(), Status::Completed),
        (10, fail(Retry::Never), Status::Failed),
        (10, complete(), Status::Completed),
    ] {
        let mut w = World::<H>::open().await;
        w.change(kept_for(retention_ms)).await;
        let id = w.enqueue(keyed("1").key_window_ms(60_000)).await;
        let grip = w.take("a").await;
        w.finish(&grip, act).await.expect("held");
        w.pass_ms(10).await;
        w.prune(100).await;
        assert!(w.gone(id).await);
        assert_eq!(w.send(vec![keyed("1")]).await, known(id, status));
        assert_eq!(w.send(vec![keyed("2")]).await, conflict(0, Some(id)));
        w.set(START.plus_ms(60_000)).await;
        w.prune(100).await;
        let second = w.send(vec![keyed("2")]).await.expect("the window is over")[0];
        assert!(second.id > id, "ids are never used again");
    }
}

/// An operator's retry of a remembered job does not free its key.
pub async fn q7_a_retried_job_is_still_the_answer<H: Harness>() {
    let mut w = World::<H>::open().await;
    let id = w.enqueue(keyed("1").key_window_ms(1_000)).await;
    w.cancel(id).await.expect("queued");
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Failed));
    w.retry(id).await.expect("cancelled");
    w.pass_ms(1_000).await;
    assert_eq!(w.send(vec![keyed("1")]).await, known(id, Status::Queued));
}

/// Sixteen at once send the same key on two handles: one job, and all are told of it (D4).
pub async fn i9_many_enqueues_of_one_key_make_one_job<H: Harness>() {
    let w = World::<H>::open().await;
    let handles = [w.store.clone(), w.harness.another().await];
    let senders: Vec<_> = (0..16)
        .map(|i| {
            let store = handles[i % 2].clone();
            tokio::spawn(async move { store.enqueue(vec![plain(), keyed("1")]).await.expect("enqueue") })
        })
        .collect();
    let mut answers = Vec::new();
    for sender in senders {
        answers.push(sender.await.expect("no panic").expect("one body")[1]);
    }
    assert!(answers.iter().all(|answer| answer.id == answers[0].id), "I9: {answers:?}");
    assert_eq!(answers.iter().filter(|answer| !answer.deduplicated).count(), 1);
    assert_eq!(total(&w).await, 17);
    let claimed = w.claim(Claim::new("q", "a").max(100)).await;
    assert_eq!(claimed.len(), 17);
    w.finish(&Grip::of(&claimed[0], "a"), complete()).await.expect("held");
}

/// Sixteen at once send one key with sixteen bodies: one is taken, the others are refused and name it.
pub async fn i9_many_bodies_under_one_key_have_one_winner<H: Harness>() {
    let w = World::<H>::open().await;
    let handles = [w.store.clone(), w.harness.another().await];
    let senders: Vec<_> = (0..16)
        .map(|i| {
            let store = handles[i % 2].clone();
            tokio::spawn(async move { store.enqueue(vec![keyed(&i.to_string())]).await.expect("enqueue") })
        })
        .collect();
    let mut won = Vec::new();
    let mut refused = Vec::new();
    for sender in senders {
        match sender.await.expect("no panic") {
            Ok(enqueued) => won.extend(enqueued),
            Err(conflict) => refused.push(conflict),
        }
    }
    assert_eq!((won.len(), refused.len()), (1, 15));
    assert!(refused.iter().all(|conflict| *conflict == Conflict { index: 0, id: Some(won[0].id) }), "{refused:?}");
    assert_eq!(total(&w).await, 1);
}
